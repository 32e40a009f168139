#pragma once

#include <algorithm>
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

  /// What passes between this node and one peer.
  class Account {
   public:
    /// Whether a message with that payload may leave for the peer now.
    bool has_room(std::size_t payload) const { return taken_ + cost_of(payload) <= bytes; }
    /// The same; it is then counted.
    bool take(std::size_t payload) {
      if (!has_room(payload)) return false;
      taken_ += cost_of(payload);
      return true;
    }
    /// Counts one that the peer has asked for.
    void overdraw(std::size_t payload) { taken_ += cost_of(payload); }
    /// A message of the peer has been used. Returns how much of the window the peer is to be told of now, or 0: it is
    /// told of half windows.
    std::uint64_t use(std::size_t payload) {
      used_ += cost_of(payload);
      return used_ < bytes / 2 ? 0 : std::exchange(used_, 0);
    }
    /// The peer has used so much. False if that was never sent.
    bool give_back(std::uint64_t used) {
      if (used > taken_) return false;
      taken_ -= used;
      return true;
    }

   private:
    std::uint64_t taken_ = 0;  // sent there, and not told to have been used
    std::uint64_t used_ = 0;   // come from there, used, and not told
  };

  /// That with a peer, which stays where it is.
  Account& with(NodeId peer) { return accounts_[peer]; }

  /// Takes room for the same payload in each of several accounts, or in none of them.
  template <class Accounts>
  static bool take_all(Accounts&& accounts, std::size_t payload) {
    if (!std::all_of(accounts.begin(), accounts.end(), [&](const Account* each) { return each->has_room(payload); })) {
      return false;
    }
    for (Account* const each : accounts) each->overdraw(payload);
    return true;
  }

 private:
  std::map<NodeId, Account> accounts_;
};

}  // namespace stretto
