#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "stretto/base/error.h"
#include "stretto/core/node.h"

namespace conjugate_gradient {

/// Vectors of numbers from node to node. What one node sends another is received in the order of the sends, although
/// letters overtake each other on the way.
///
/// Every node of the program has one, from its creation on, so that nothing can arrive too early. Any thread may call;
/// two tasks of a node that receive from the same peer share its letters. Once a node of the job is lost, whatever has
/// not arrived is poisoned with Error(peer_lost), from whomever it was to come: a peer that still lives may have
/// given up, too.
class Mailbox final : private stretto::fabric::EndpointObserver {
 public:
  using Values = std::vector<double>;
  using Letter = std::shared_ptr<const Values>;

  explicit Mailbox(stretto::Node& node);

  static Mailbox& of(stretto::Node& node);

  /// Sends `values` to `to`; the event triggers when they lie in its mailbox.
  stretto::Event send(stretto::NodeId to, Values values);

  /// The next letter from `from`: the first call gets the first letter, and so on.
  stretto::Future<Letter> receive(stretto::NodeId from);

  /// Puts letter number `number` of `from` in: what `send` does at the other end.
  void deliver(stretto::NodeId from, std::uint64_t number, Values values);

 private:
  using Place = std::pair<stretto::NodeId, std::uint64_t>;  // a sender, and the number of its letter
  using Content = std::shared_ptr<stretto::Future<Letter>::State>;
  struct Awaited {
    stretto::Event arrived;
    Content content;
  };

  void on_notification(stretto::NodeId, stretto::fabric::Notification) override {}
  void on_peer_lost(stretto::NodeId peer, const stretto::Error& cause) override;

  stretto::Node& node_;
  std::mutex mutex_;
  std::map<stretto::NodeId, std::uint64_t> sent_;      // how many letters, by receiver
  std::map<stretto::NodeId, std::uint64_t> received_;  // how many were asked for, by sender
  std::map<Place, Letter> arrived_;                    // and not asked for yet
  std::map<Place, Awaited> awaited_;                   // asked for, and not arrived yet
  stretto::Cause lost_;                                // why nothing more can be relied on
};

}  // namespace conjugate_gradient
