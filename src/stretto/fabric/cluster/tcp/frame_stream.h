#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <vector>

#include "stretto/base/bytes.h"

namespace stretto::fabric::cluster::network {

// Frames in a stream of bytes: each is a prefix {bytes of the header: 12 bits, bytes of the data: 20 bits}, one
// little-endian number, then header and data.

using FramePrefix = std::array<std::byte, 4>;

/// REQUIRES: the sizes are those of a frame (see network/frame.h).
FramePrefix prefix_of(ConstByteSpan header, ConstByteSpan data) noexcept;

/// Finds the frames in a stream as it arrives, piece by piece: bytes in, frames out. A frame that arrives whole is
/// handed over where it lies. The data of another one are put together where they belong, if that is known, or here.
class FrameReader {
 public:
  using OnFrame = std::function<void(ConstByteSpan header, ConstByteSpan data)>;
  /// Where so many bytes of data belong whose frame has that header; empty: nowhere (any more). What is there already
  /// stays there.
  using PlaceFor = std::function<ByteSpan(ConstByteSpan header, std::size_t data_bytes)>;

  /// Where the next bytes of the stream belong, as far as that is known: the rest of a frame's data. Asks each time,
  /// since who wanted them may be gone. Bytes for which it is known go there, and are told by `filled`.
  ByteSpan place(const PlaceFor& place_for);
  /// So many bytes were received at the place. Calls `on_frame` if that completes the frame.
  void filled(std::size_t bytes, const OnFrame& on_frame);
  /// Calls `on_frame` for each frame that `arrived` completes; the spans are valid during the call. Throws
  /// Error(bad_input) for a prefix that promises more than any frame has: the reader is of no use from then on.
  /// REQUIRES: these bytes have no place.
  void read(ConstByteSpan arrived, const OnFrame& on_frame);

  /// Whether a frame has arrived in part that has more data than any message.
  bool is_in_large_frame() const noexcept;
  /// Whether the stream may end here.
  bool between_frames() const noexcept { return partial_.empty(); }

 private:
  std::vector<std::byte> partial_;  // of the frame that has not arrived whole, but for data that are in place
  ByteSpan place_;                  // of all its data; empty: they are in `partial_`
  std::size_t in_place_ = 0;        // bytes of them
};

}  // namespace stretto::fabric::cluster::network
