#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "stretto/base/ids.h"

namespace stretto {

/// How far a node may run ahead of its peers with messages that nobody asked for (decision 25).
///
/// A peer keeps what comes for a collective that it has not begun. So of each node's messages no more than a window may
/// be under way or kept; those are told to have been used as the peer begins. What finds the window full is held by its
/// sender, whose step is not over; it says so (`collective_held`), and the peer asks for it when it has begun
/// (`collective_pull`). Nobody waits for the window itself, so collectives that two nodes begin in different orders
/// cannot block each other. For one thread at a time.
class EagerWindow {
 public:
  /// Of bytes kept of one node by one other.
  static constexpr std::uint64_t bytes = 256 * 1024;
  /// What a message counts for: its payload, and what it costs to keep any.
  static constexpr std::uint64_t cost_of(std::size_t payload) { return payload + 64; }

  /// Whether a message with that payload may leave for `peer` now; it is then counted.
  bool take(NodeId peer, std::size_t payload) {
    Account& account = account_of(peer);
    if (account.taken + cost_of(payload) > bytes) return false;
    account.taken += cost_of(payload);
    return true;
  }
  /// The same for each of several peers, or for none of them.
  template <class Peers>
  bool take_all(const Peers& peers, std::size_t payload) {
    for (const NodeId peer : peers) {
      if (account_of(peer).taken + cost_of(payload) > bytes) return false;
    }
    for (const NodeId peer : peers) account_of(peer).taken += cost_of(payload);
    return true;
  }
  /// Counts one that the peer has asked for.
  void overdraw(NodeId peer, std::size_t payload) { account_of(peer).taken += cost_of(payload); }

  /// A message of `peer` has been used. Returns how much of the window the peer is to be told of now, or 0: it is told
  /// of half windows.
  std::uint64_t use(NodeId peer, std::size_t payload) {
    Account& account = account_of(peer);
    account.used += cost_of(payload);
    return account.used < bytes / 2 ? 0 : std::exchange(account.used, 0);
  }
  /// The peer has used so much. False if that was never sent.
  bool give_back(NodeId peer, std::uint64_t used) {
    Account& account = account_of(peer);
    if (used > account.taken) return false;
    account.taken -= used;
    return true;
  }

 private:
  struct Account {
    std::uint64_t taken = 0;  // sent there, and not told to have been used
    std::uint64_t used = 0;   // come from there, used, and not told
  };
  struct Recent {
    NodeId peer;
    Account* account;
  };

  Account& account_of(NodeId peer) {
    Recent& recent = recent_[peer % recent_.size()];
    if (recent.account == nullptr || recent.peer != peer) recent = {peer, &accounts_[peer]};
    return *recent.account;
  }

  std::map<NodeId, Account> accounts_;
  std::array<Recent, 16> recent_{};  // of those, by peer modulo the size
};

}  // namespace stretto
