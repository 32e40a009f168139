#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "stretto/base/ids.h"

namespace stretto {

/// Peers that may still touch the memory of an operation that has failed (decision 15): those that share it until they
/// say that they are off, others until all pieces have come that they have put over a wire. For one thread at a time.
class Exposures {
 public:
  bool empty() const noexcept { return list_.empty(); }
  /// Takes the memory to note so many peers.
  void make_room(std::size_t peers) { list_.reserve(peers); }

  /// That peer shares memory, and was told where ours is.
  void note_shared(NodeId peer) { find_or_add(peer, true); }
  /// That peer was asked for so many pieces more, and may have put them all.
  void note_pieces(NodeId peer, std::uint64_t pieces) { find_or_add(peer, false).asked_for += pieces; }

  /// The peer puts none of so many pieces that it was asked for.
  void take_back(NodeId peer, std::uint64_t pieces) noexcept {
    if (Exposure* const found = find(peer)) found->asked_for -= pieces;
  }
  /// The peer has put no more than so many pieces.
  void limit(NodeId peer, std::uint64_t pieces) noexcept {
    if (Exposure* const found = find(peer)) found->most = std::min(found->most, pieces);
  }
  /// The same, and it touches shared memory no more. Returns whether it was one of these peers.
  bool release(NodeId peer, std::uint64_t pieces) noexcept {
    Exposure* const found = find(peer);
    if (found == nullptr) return false;
    if (found->shared) {
      forget(peer);
    } else {
      found->most = std::min(found->most, pieces);
    }
    return true;
  }
  /// The peer is gone.
  void forget(NodeId peer) noexcept {
    std::erase_if(list_, [peer](const Exposure& each) { return each.peer == peer; });
  }
  /// Forgets the peers whose pieces have come: `come(peer)` of them.
  template <class Come>
  void forget_past(Come&& come) {
    std::erase_if(list_, [&come](const Exposure& each) {
      return !each.shared && come(each.peer) >= std::min(each.asked_for, each.most);
    });
  }

  std::vector<NodeId> peers() const {
    std::vector<NodeId> peers;
    for (const Exposure& each : list_) peers.push_back(each.peer);
    return peers;
  }

 private:
  struct Exposure {
    NodeId peer;
    bool shared;
    // Over a wire: the pieces that we have asked for, and how many it has put, if we know.
    std::uint64_t asked_for = 0;
    std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  };

  Exposure* find(NodeId peer) noexcept {
    const auto found =
        std::find_if(list_.begin(), list_.end(), [peer](const Exposure& each) { return each.peer == peer; });
    return found == list_.end() ? nullptr : &*found;
  }
  Exposure& find_or_add(NodeId peer, bool shared) {
    Exposure* const known = find(peer);
    return known != nullptr ? *known : list_.emplace_back(Exposure{peer, shared});
  }

  std::vector<Exposure> list_;
};

}  // namespace stretto
