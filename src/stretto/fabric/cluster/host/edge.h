#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "stretto/fabric/cluster/host/ring_reader.h"
#include "stretto/fabric/cluster/host/ring_writer.h"

namespace stretto::fabric::cluster {

/// What one node sends another one of its host, the sending end: two rings, of which the reader reads one at a time. By
/// the short one messages go while their reader keeps up with them; by the long one what it has no room for, as where
/// the reader does not run. The last message in the one says that the next is in the other.
class EdgeWriter {
 public:
  EdgeWriter() = default;
  /// REQUIRES: nothing was written to either; the short one keeps a line back.
  EdgeWriter(RingWriter short_ring, RingWriter long_ring) noexcept
      : short_(std::move(short_ring)), long_(std::move(long_ring)) {}

  /// Writes one message, whole, if the short ring has room for it as it is. REQUIRES: as RingWriter::try_write.
  bool try_write_at_once(std::uint8_t kind, ConstByteSpan header, ConstByteSpan payload) noexcept {
    return !is_in_long_ && short_.try_write(kind, header, payload);
  }
  /// Writes one message, whole, or returns false when there is no room for it yet. REQUIRES: as RingWriter::try_write.
  bool try_write(std::uint8_t kind, ConstByteSpan header, ConstByteSpan payload) noexcept {
    return try_write_at_once(kind, header, payload) || try_write_otherwise(kind, header, payload);
  }
  /// The same, but waits a moment for a reader that is about to make room in the short ring.
  bool try_write_soon(std::uint8_t kind, ConstByteSpan header, ConstByteSpan payload) noexcept {
    if (try_write_at_once(kind, header, payload)) return true;
    wait_for_room(lines_of(header.size() + payload.size()));
    return try_write(kind, header, payload);
  }
  /// See RingWriter::claim_next.
  void claim_next() noexcept {
    if (!is_in_long_) short_.claim_next();
  }
  /// Whether a message of `lines` lines would be written now.
  bool has_room(std::size_t lines) noexcept {
    return (!is_in_long_ && short_.has_room(lines)) || long_.has_room(lines);
  }

 private:
  void wait_for_room(std::size_t lines) noexcept;
  bool try_write_otherwise(std::uint8_t kind, ConstByteSpan header, ConstByteSpan payload) noexcept;
  bool is_kept_up_with() const noexcept;

  RingWriter short_;
  RingWriter long_;
  bool is_in_long_ = false;
  std::uint64_t entered_ = 0;  // the long one, at this position
};

/// The receiving end.
class EdgeReader {
 public:
  EdgeReader() = default;
  EdgeReader(RingReader short_ring, RingReader long_ring) noexcept : rings_{short_ring, long_ring} {}

  /// The ring that the next message is in.
  RingReader& current() noexcept { return rings_[at_]; }
  const RingReader& current() const noexcept { return rings_[at_]; }
  /// The other one from now on, as the last message said. Nobody is rung for what is given back: a writer that finds no
  /// room has written more than a batch to the ring that it is in.
  void change() noexcept {
    current().give_back_all();
    at_ ^= 1U;
  }

 private:
  std::array<RingReader, 2> rings_;  // the short one first
  std::size_t at_ = 0;
};

}  // namespace stretto::fabric::cluster
