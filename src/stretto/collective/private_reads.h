#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "stretto/base/bytes.h"
#include "stretto/base/ids.h"
#include "stretto/collective/layout.h"
#include "stretto/collective/placed_plan.h"
#include "stretto/collective/scratch.h"
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

  /// So many bytes to be combined, valid until the next ones of that side. Throws std::bad_alloc.
  const std::byte* term(Side side, NodeId from, fabric::Offset source, std::size_t bytes) {
    std::vector<std::byte>& beside = beside_[static_cast<std::size_t>(side)];
    if (beside.size() < bytes + Layout::scratch_alignment) beside.resize(bytes + Layout::scratch_alignment);
    std::byte* const aligned = align_scratch(beside.data());
    copy({aligned, bytes}, from, source);
    return aligned;
  }

 private:
  fabric::Endpoint& endpoint_;
  std::array<std::vector<std::byte>, 2> beside_;  // by side
};

}  // namespace stretto
