#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "stretto/collective/collective_call.h"
#include "stretto/collective/collective_options.h"
#include "stretto/collective/group.h"
#include "stretto/collective/operation.h"
#include "stretto/collective/plan.h"
#include "stretto/collective/wire.h"
#include "stretto/core/node.h"
#include "stretto/fabric/fabric.h"

namespace stretto {

/// The executor of a node: runs schedules over the fabric (DESIGN section 7, CONTRACTS 11 to 14).
///
/// One per node, created with it. `start` may be called by any thread; the rest happens under the node's baton. No
/// thread waits for anything: what a message makes possible is done by whoever brought it.
class CollectiveService final : private fabric::MessageHandler, private fabric::EndpointObserver {
 public:
  explicit CollectiveService(Node& node);
  ~CollectiveService() override;

  static CollectiveService& of(Node& node);

  /// Begins this node's part of a collective; collective.h says what is promised and what throws.
  Event start(const Group& group, CollectiveCall call, const CollectiveOptions& options);

  // For operations, under the baton.

  Node& node() noexcept { return node_; }
  fabric::Endpoint& endpoint() noexcept { return endpoint_; }
  void begin(CollectiveOperation& operation);
  void finished(const CollectiveOperation& operation);
  /// Tells other members that this node's part cannot complete.
  void tell_failure(const CollectiveOperation& operation, const Cause& cause, CollectiveOperation::Tell tell);
  /// For a message of an operation that is over here, in case its sender is in another one.
  void answer_late(NodeId from, const Identity& theirs);
  /// A name for a large receive, by which its sender notifies pieces.
  std::uint64_t register_landing(CollectiveOperation& operation, std::uint32_t step);
  void forget_landing(std::uint64_t landing) { landings_.erase(landing); }

 private:
  struct Landing {
    CollectiveOperation* operation;
    std::uint32_t step;
  };

  struct PlanKey {
    Hash128 group;
    std::string algorithm;
    schedule::Operation operation;
    Rank root;
    bool commutative;
    friend auto operator<=>(const PlanKey&, const PlanKey&) = default;
  };

  // Which calls of a stream have begun here: all before `low`, and those in `beyond`. And what the last ones were that
  // are over, so that a peer who waits in another one hears of it.
  struct Progress {
    std::uint32_t low = 0;
    std::set<std::uint32_t> beyond;
    std::array<Identity, 64> over{};  // by sequence, modulo its size
  };

  void on_message(const fabric::Message& message) override;
  void on_notification(NodeId from, fabric::Notification notification) override;
  void on_peer_lost(NodeId peer, const Error& cause) override;
  std::shared_ptr<const Plan> plan(const Group& group, const CollectiveCall& call, Rank me, std::string_view algorithm);
  CollectiveOperation* find(const Identity& identity);
  bool has_begun(const Identity& identity) const;

  Node& node_;
  fabric::Endpoint& endpoint_;

  std::mutex call_mutex_;  // callers of start take their numbers and plans
  std::map<std::uint64_t, std::uint32_t> sequences_;
  std::map<PlanKey, std::shared_ptr<const Plan>> plans_;

  // Under the baton.
  std::map<Identity, CollectiveOperation*> operations_;  // begun and not over
  std::map<Identity, CollectiveOperation::Early> early_;
  std::map<std::uint64_t, Progress> progress_;  // by stream
  std::map<std::uint64_t, Landing> landings_;
  std::uint64_t next_landing_ = 1;
};

}  // namespace stretto
