#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "stretto/base/bytes.h"
#include "stretto/base/ids.h"
#include "stretto/collective/placed_plan.h"
#include "stretto/fabric/endpoint.h"

namespace stretto {

/// What is lent of memory that its reader does not map (decision 68): copied by the kernel to where it belongs, or, for
/// who combines it, to where the result does, or beside.
///
/// Under the baton only. Reads throw what Endpoint::read_private throws.
class PrivateReads {
 public:
  enum class Side : std::uint8_t { left, right };  ///< of a combination
  /// What is read, to be combined.
  struct Term {
    Side side;
    ByteSpan out;            ///< where the result belongs, which is as long
    const std::byte* other;  ///< where the other term lies; null: it is a peer's, too
  };

  explicit PrivateReads(fabric::Endpoint& endpoint) noexcept : endpoint_(endpoint) {}

  /// By which offset the receiver of a step reads its data, which it does not map; none where it does not read them.
  std::optional<fabric::Offset> place_for(const PlacedStep& send, ConstByteSpan data) const noexcept {
    if (!send.may_be_private || !endpoint_.is_read_by(send.node)) return std::nullopt;
    return fabric::private_offset(data.data());
  }

  void copy(ByteSpan to, NodeId from, fabric::Offset source) { endpoint_.read_private(from, source, to); }

  /// Copies a term to where the result belongs, so that it takes no further place in the caches (decision 80); unless
  /// the other one is there: then beside, valid until the next one of that side. Throws std::bad_alloc.
  const std::byte* read(const Term& term, NodeId from, fabric::Offset source) {
    const ByteSpan out = term.out;
    const bool has_place = term.other != nullptr && are_apart(out, {term.other, out.size()});
    std::byte* const place = has_place ? out.data() : place_beside(term.side, source, out.size());
    copy({place, out.size()}, from, source);
    return place;
  }

 private:
  std::byte* place_beside(Side side, fabric::Offset source, std::size_t bytes) {
    std::vector<std::byte>& beside = beside_[static_cast<std::size_t>(side)];
    if (beside.size() < bytes + page_bytes) beside.resize(bytes + page_bytes);
    const auto begin = reinterpret_cast<std::uintptr_t>(beside.data());
    return beside.data() + (source - bytes_below - begin) % page_bytes;
  }

  // Where in a page a copy lies: as far within a line as its source, and some lines before it, since a load that lies
  // as a store just before it does waits for that.
  static constexpr std::size_t page_bytes = 4096;
  static constexpr std::size_t bytes_below = 512;

  fabric::Endpoint& endpoint_;
  std::array<std::vector<std::byte>, 2> beside_;  // by side
};

}  // namespace stretto
