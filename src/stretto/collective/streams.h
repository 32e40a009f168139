#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>

#include "stretto/base/ids.h"
#include "stretto/collective/stream.h"

namespace stretto {

/// The streams of a node, by id (Stream::id_of). They stay where they are. Under the node's baton.
class Streams {
 public:
  /// That of an id, made now if there is none.
  Stream& of(std::uint64_t id) {
    if (Stream* const known = recent(id)) return *known;
    return *(recent_[id % recent_.size()] = &streams_.try_emplace(id, id, first_sequence_).first->second);
  }
  /// The same without making one: null unless it was asked for lately.
  Stream* recent(std::uint64_t id) const noexcept {
    Stream* const recent = recent_[id % recent_.size()];
    return recent != nullptr && recent->id() == id ? recent : nullptr;
  }

  /// The number of the first call of each stream that is made from now on.
  void number_from(std::uint32_t first) noexcept { first_sequence_ = first; }
  void forget_messages_of(NodeId peer) {
    // determinism: each forgets for itself, in any order
    for (auto& [id, stream] : streams_) stream.forget_messages_of(peer);
  }

 private:
  std::unordered_map<std::uint64_t, Stream> streams_;  // determinism: in no order that matters
  std::array<Stream*, 16> recent_{};                   // of those, by id modulo the size
  std::uint32_t first_sequence_ = 0;
};

}  // namespace stretto
