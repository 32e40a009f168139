#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <vector>

#include "stretto/base/bytes.h"

namespace stretto::fabric::cluster::network {

// Frames in a stream of bytes: each is a prefix {bytes of the header, bytes of the data}, both 32 bits and
// little-endian, then header and data.

using FramePrefix = std::array<std::byte, 8>;

FramePrefix prefix_of(ConstByteSpan header, ConstByteSpan data) noexcept;

/// Finds the frames in a stream as it arrives, piece by piece: bytes in, frames out. A frame that arrives whole is
/// handed over where it lies, others are put together first.
class FrameReader {
 public:
  using OnFrame = std::function<void(ConstByteSpan header, ConstByteSpan data)>;

  /// Calls `on_frame` for each frame that `arrived` completes; the spans are valid during the call. Throws
  /// Error(bad_input) for a prefix that promises more than any frame has: the reader is of no use from then on.
  void read(ConstByteSpan arrived, const OnFrame& on_frame);

  /// Whether the stream may end here.
  bool between_frames() const noexcept { return partial_.empty(); }

 private:
  std::vector<std::byte> partial_;  // of the frame that has not arrived whole
};

}  // namespace stretto::fabric::cluster::network
