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
/// who combines it, beside.
///
/// Under the baton only. Reads throw what Endpoint::read_private throws.
class PrivateReads {
 public:
  enum class Side : std::uint8_t { left, right };  ///< of a combination

  explicit PrivateReads(fabric::Endpoint& endpoint) noexcept : endpoint_(endpoint) {}

  /// By which offset the receiver of a step reads its data, which it does not map; none where it does not read them.
  std::optional<fabric::Offset> place_for(const PlacedStep& send, ConstByteSpan data) const noexcept {
    if (!send.may_be_private || !endpoint_.is_read_by(send.node)) return std::nullopt;
    return fabric::private_offset(data.data());
  }

  void copy(ByteSpan to, NodeId from, fabric::Offset source) { endpoint_.read_private(from, source, to); }

  /// Where what is to be combined at `out` is copied to: there, so that it takes no further place in the caches
  /// (decision 80), unless the other term is there; null: beside. `other`: null where that one is copied, too.
  static std::byte* place_at(ByteSpan out, const std::byte* other) noexcept {
    return other != nullptr && are_apart(out, {other, out.size()}) ? out.data() : nullptr;
  }

  /// So many bytes to be combined, at `place` or, if it is null, beside: valid until the next ones of that side. Throws
  /// std::bad_alloc.
  const std::byte* term(Side side, NodeId from, fabric::Offset source, std::size_t bytes, std::byte* place) {
    if (place == nullptr) place = place_beside(side, source, bytes);
    copy({place, bytes}, from, source);
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
