#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <span>

namespace stretto::fabric::cluster::network {

/// What a connection has been sent since its last packet ended. The kernel may add to it what is sent next, as long as
/// it has not left.
struct OpenPacket {
  std::size_t bytes = 0;
};

/// Cuts what is to be sent over a connection into packets that shapers let pass (docs/decisions/0036): however much of
/// each the kernel takes, none is longer than `most_bytes` from one end to the next. Pure.
class Packets {
 public:
  /// The kernel sends what it is handed as packets of up to 64 KiB, which the device cuts into frames. Where a shaper's
  /// bucket is smaller than the packet with the headers of all its frames, the kernel has to do that itself, for each
  /// frame on its own way.
  static constexpr std::size_t most_bytes = 60'000;
  /// What is shorter does not end a packet: it may be sent together with what follows.
  static constexpr std::size_t least_ended_bytes = std::size_t{16} * 1024;

  /// `open` is the connection's, and is kept up to date.
  Packets(OpenPacket& open, std::span<const iovec> pieces) noexcept : open_(open), left_(pieces) {}

  /// The pieces of the next packet, or of the rest of the open one; none: there is nothing left.
  std::span<iovec> next() noexcept;
  /// Of the packet that came last.
  std::size_t bytes() const noexcept { return bytes_; }
  /// Whether it is to end there.
  bool ends() const noexcept { return open_.bytes + bytes_ >= least_ended_bytes; }
  /// So much of it was taken. Where that is not all, no packet is to follow.
  void sent(std::size_t bytes) noexcept {
    const bool ended = bytes == bytes_ && ends();
    open_.bytes = ended ? 0 : open_.bytes + bytes;
  }

 private:
  OpenPacket& open_;
  std::span<const iovec> left_;
  std::size_t taken_ = 0;  // of the first of those
  std::array<iovec, 16> packet_;
  std::size_t bytes_ = 0;
};

}  // namespace stretto::fabric::cluster::network
