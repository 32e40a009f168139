#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "stretto/base/bytes.h"
#include "stretto/base/ids.h"
#include "stretto/collective/layout.h"
#include "stretto/collective/scratch.h"
#include "stretto/fabric/endpoint.h"

namespace stretto {

/// What peers lend of memory that is not mapped here (decision 68): copied by the kernel to where it belongs, or, for
/// who combines it, beside.
///
/// Under the baton only. All throw what Endpoint::read_private throws.
class PrivateReads {
 public:
  enum class Side : std::uint8_t { left, right };  ///< of a combination

  explicit PrivateReads(fabric::Endpoint& endpoint) noexcept : endpoint_(endpoint) {}

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
