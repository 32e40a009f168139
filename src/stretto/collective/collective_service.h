#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/base/arena.h"
#include "stretto/base/shared_copy.h"
#include "stretto/collective/collective_call.h"
#include "stretto/collective/collective_options.h"
#include "stretto/collective/deferred_losses.h"
#include "stretto/collective/eager_window.h"
#include "stretto/collective/group.h"
#include "stretto/collective/landings.h"
#include "stretto/collective/late_mismatches.h"
#include "stretto/collective/meeting.h"
#include "stretto/collective/operation.h"
#include "stretto/collective/plan_cache.h"
#include "stretto/collective/private_reads.h"
#include "stretto/collective/receipts.h"
#include "stretto/collective/recent_calls.h"
#include "stretto/collective/selector.h"
#include "stretto/collective/streams.h"
#include "stretto/collective/under_way.h"
#include "stretto/collective/wire.h"
#include "stretto/core/node.h"
#include "stretto/core/operations.h"
#include "stretto/fabric/endpoint.h"
#include "stretto/schedule/joint.h"

namespace stretto {

class InlineRun;

/// The executor of a node: runs schedules over the fabric (ARCHITECTURE.md: the life of one all-reduce).
///
/// One per node, created with it. `start` may be called by any thread; the rest happens under the node's baton. No
/// thread waits for anything: what a message makes possible is done by whoever brought it.
class CollectiveService final : private fabric::MessageHandler, private fabric::EndpointObserver, private Operations {
 public:
  /// `selector` is that of the process, and so are the meetings; null where its nodes have none.
  CollectiveService(Node& node, std::shared_ptr<Selector> selector, std::shared_ptr<Meetings> meetings);
  ~CollectiveService() override;

  /// What it is called among a node's parts.
  static constexpr std::string_view part_name = "collective";
  static CollectiveService& of(Node& node) { return *static_cast<CollectiveService*>(node.part(part_name)); }

  /// Throws what `start` throws for misuse, and starts nothing. Whether this node is a member is not looked at. Notes
  /// in the call whether it is to be reproducible. Returns the algorithm that the options name, if they do.
  Named check(const Group& group, CollectiveCall& call, const CollectiveOptions& options) const;
  /// Begins this node's part of a collective; collective.h says what is promised and what throws.
  Event start(const Group& group, CollectiveCall&& call, const CollectiveOptions& options);

  /// The same for a call that is checked, of a group that this node is in. `named`: how the caller wants it done. May
  /// keep work in the node's context (see Context::Rest). Throws Error(out_of_resources) where there is no memory to
  /// begin with; what is missing later poisons the event.
  Event start_checked(const Group& group, CollectiveCall&& call, const CollectiveOptions& options, const Named& named);
  /// The same for one of `calls` that are begun together, in two steps. Takes the memory to begin with, or returns
  /// null, where there is an operation that has served such a call. Throws Error(out_of_resources).
  arena::Owned<CollectiveOperation> reserve(const Group& group, const CollectiveCall& call,
                                            const CollectiveOptions& options, const Named& named, std::uint32_t calls);
  /// `reserved`: for this call. What is missing now poisons the event; where that cannot be said, since others have
  /// taken the operation that was there, and there is no memory for one more, the process ends.
  Event start_reserved(arena::Owned<CollectiveOperation> reserved, const Group& group, CollectiveCall&& call,
                       const CollectiveOptions& options, const Named& named) noexcept;

  // For operations and streams, under the baton.

  Node& node() noexcept { return node_; }
  fabric::Endpoint& endpoint() noexcept { return endpoint_; }
  Selector& selector() noexcept { return *selector_; }
  /// How often it has been asked what waits.
  std::uint32_t looks() const noexcept { return looks_; }
  /// Sends the data of a step, which are counted in the window: unless it throws.
  void send_unasked(const PlacedStep& what, const CallHeader& header, ConstByteSpan data) {
    try {
      what.way->send(fabric::MessageType::collective_data, bytes_of(header), data);
    } catch (...) {
      what.account->give_back(EagerWindow::cost_of(data.size()));
      throw;
    }
  }
  /// Sends what a row has in common at once (see PlacedStep::multicast). False: one can't take it now, none has got it.
  bool send_to_all(std::span<const PlacedStep> row, const CallHeader& header, ConstByteSpan data);
  /// How this node writes what `peer` reads next, where they share memory.
  SharedCopy& copy_for(NodeId peer) { return copies_[peer]; }
  PrivateReads& private_reads() noexcept { return private_reads_; }
  /// Whether its peers reach all memory of this node, and it theirs.
  bool reaches_all() const noexcept { return reaches_all_; }
  /// For the inline run, of which there is one at a time.
  Receipts& receipts() noexcept { return receipts_; }
  /// How much of the segment a message of data that peers can't reach may take.
  std::size_t most_staged() const noexcept { return std::max(2 * eager_bytes, node_.surroundings().staging_bytes); }
  /// An operation waits for a member that has not heard of it. It is told when this node comes to rest: until then the
  /// operation may tell by what it sends (decision 6).
  void greet_later() noexcept {
    if (!std::exchange(greetings_.put_off, true)) endpoint_.context().put_off(&greetings_);
  }
  /// Why nothing is to begin any more; null while all goes on.
  const Cause& cancelled() const noexcept { return cancelled_; }
  /// A plan for such calls of these members.
  std::unique_ptr<const PlacedPlan> place(const Plan& plan, const CollectiveCall& call, const Group& members);
  /// What lies between the members.
  schedule::Link link_of(const Group& group) const;
  /// How they are placed, where they meet for whatever small calls they may meet for (see may_meet).
  schedule::Placement placement_of(const Group& group) const;
  /// Where they are.
  schedule::Hosts hosts_of(const Group& group) const { return stretto::hosts_of(node_.surroundings(), group); }
  /// The stream of that id (Stream::id_of).
  Stream& stream(std::uint64_t id) { return streams_.of(id); }
  /// How calls of these members are done, by rank of the schedule.
  PlanCache::OfGroup& plans_of(const Group& members) { return plans_.of(members); }
  /// That one goes.
  void forget(const Preparation& preparation) noexcept { recent_calls_.forget(preparation); }
  /// Whether each of the others can be waited for alone (see Endpoint::receive_from).
  bool can_receive_from(const Group& group) const;
  /// The data of a receive, which nobody had asked for, were used: they make room for others of their sender.
  [[gnu::hot]] void note_data_used(const PlacedStep& what) {
    const std::uint64_t cost = what.account->use(what.data.bytes);
    if (cost != 0) say_used(what.node, cost);
  }
  /// For tests: what may be sent unasked.
  EagerWindow& eager_window() noexcept { return eager_window_; }
  /// Lets tests begin near the end of the numbers: that of the first call of each stream from now on.
  void number_streams_from(std::uint32_t first) noexcept { streams_.number_from(first); }
  /// Whether the members of a group may meet for such a call.
  bool may_meet(const CollectiveCall& call, const schedule::Shape& shape) const;
  /// Notes where the members of a stream meet, so many, before its next call, which stands for so many, takes its
  /// number. There is no meeting for the first one.
  void find_meeting(Stream& its_stream, Rank size, std::uint32_t calls);
  /// An operation waits in a meeting, or does no more.
  void wait_in_meeting(CollectiveOperation& operation) { under_way_.add(operation); }
  void leave_meeting(CollectiveOperation& operation) { under_way_.remove(operation); }
  /// Begins the operation, and hands it what has come for it.
  void begin(CollectiveOperation& operation);
  /// Ends a number that no operation was open for.
  void pass(Stream& its_stream, std::uint32_t sequence) {
    if (!its_stream.is_open(sequence)) return;
    SavedMessages early = its_stream.pass(sequence);
    use_early(early);
  }
  /// An operation that has begun is over.
  void end(CollectiveOperation& operation);
  /// Whether any node is lost.
  bool any_lost() const noexcept { return !losses_.empty(); }
  /// Why a member is lost; null if none is.
  Cause find_loss_in(const Group& group) const noexcept;
  /// Tells other members that this node's part cannot complete.
  void tell_failure(const CollectiveOperation& operation, const Cause& cause, CollectiveOperation::Tell tell);
  /// Tells a member that this node was in another operation than `theirs`, and is through with it.
  void say_other(NodeId to, const Identity& theirs, const Cause& cause);
  Landings& landings() noexcept { return landings_; }
  /// Says that this node touches a member's memory no more in a collective that has failed; `pieces`: see
  /// ReleasedHeader.
  void say_released(NodeId to, const Identity& identity, std::uint64_t pieces);

 private:
  struct Greetings : fabric::Item {
    explicit Greetings(CollectiveService& owner) noexcept : Item(&Greetings::say), service(owner) {}
    static void say(Item* item) noexcept;
    CollectiveService& service;
    bool put_off = false;
  };

  Event launch(const Group& group, CollectiveCall&& call, const CollectiveOptions& options, const Named& named);
  void note_settings(CollectiveCall& call, const CollectiveOptions& options) const;
  void note_named(const Named& named) noexcept;
  template <class Function>
  bool try_run(const Function& function);
  RecentCalls::Prepared find_known(const Group& group, const CollectiveCall& call, const CollectiveOptions& options,
                                   const Named& named) noexcept;
  bool repeat(const Group& group, CollectiveCall& call, const CollectiveOptions& options, Event& completion);
  RecentCalls::Prepared search_prepared(std::uint64_t stream_id, const Group& group, const CollectiveCall& call,
                                        const Named& named) noexcept;
  unsigned looks_inline(Preparation& prepared) noexcept;
  bool may_meet_now(Stream& its_stream, const Preparation& prepared) const noexcept;
  Event run_inline(Stream& its_stream, Preparation& prepared, CollectiveCall&& call, const CollectiveOptions& options,
                   unsigned looks);
  Event take_over(InlineRun& run, Stream& its_stream, Preparation& prepared, CollectiveCall&& call,
                  const CollectiveOptions& options);
  Event run_kept(Stream& its_stream, Preparation& prepared, CollectiveCall&& call, const CollectiveOptions& options,
                 Rank size);
  RecentCalls::Prepared find_repeated(const Group& group, const CollectiveCall& call,
                                      const CollectiveOptions& options) noexcept;
  RecentCalls::Prepared find_any(const Group& group, const CollectiveCall& call,
                                 const CollectiveOptions& options) noexcept;
  Named check_at(Rank me, const Group& group, const CollectiveCall& call, const CollectiveOptions& options) const;
  Event start_otherwise(const Group& group, CollectiveCall&& call, const CollectiveOptions& options);
  Event start_anew(const Group& members, CollectiveCall&& call, const CollectiveOptions& options);
  void on_message(const fabric::Message& message) override;
  void on_notification(NodeId from, fabric::Notification notification) override;
  void on_peer_lost(NodeId peer, const Error& cause) override;
  void on_peer_left(NodeId peer) override;
  void on_peer_ended(NodeId peer) override { on_peer_left(peer); }
  void begin_one(CollectiveOperation& operation);
  fabric::Way& way_to(NodeId node);
  void send_or_lose(NodeId to, fabric::MessageType type, ConstByteSpan header, ConstByteSpan text);
  void note_used(const fabric::Message& message);
  void say_used(NodeId to, std::uint64_t cost);
  void use_early(SavedMessages& messages);
  template <class Visit>
  void for_each_under_way(Visit&& visit);
  void look(Which which, std::vector<std::string>& sentences) override;
  void cancel(const Cause& cause) override;
  bool over() override;
  void answer_late(const fabric::Message& message);

  Node& node_;
  fabric::Endpoint& endpoint_;
  std::shared_ptr<Selector> selector_;
  const bool reaches_all_;
  std::shared_ptr<Meetings> meetings_;
  PlanCache plans_{*this};
  Streams streams_;
  RecentCalls recent_calls_;
  UnderWay under_way_;
  std::array<const schedule::Algorithm*, 2> named_last_{};  // by callers
  EagerWindow eager_window_;
  std::map<NodeId, std::unique_ptr<fabric::Way>> ways_;
  Receipts receipts_{endpoint_.segment()};
  std::map<NodeId, SharedCopy> copies_;
  PrivateReads private_reads_{endpoint_};
  Greetings greetings_{*this};
  Landings landings_;
  const bool settings_matter_;      // see note_settings
  const unsigned patient_looks_;    // of an inline run for a message, if nothing else is under way
  std::uint32_t inline_calls_ = 0;  // since all else was seen to; a larger one counts as several
  alignas(Layout::scratch_alignment) std::array<std::byte, eager_bytes> inline_scratch_;  // of one at a time
  std::map<NodeId, Cause> losses_;
  LateMismatches late_mismatches_{node_};
  DeferredLosses deferred_losses_{endpoint_};
  Cause cancelled_;
  std::uint32_t looks_ = 0;
};

}  // namespace stretto
