#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "stretto/base/bytes.h"
#include "stretto/base/claim_line.h"
#include "stretto/fabric/cluster/host/ring_size.h"

namespace stretto::fabric::cluster {

/// The sending end of a ring, which one peer reads, or several, each all of it. Its lines are in memory that only this
/// node changes.
class RingWriter {
 public:
  RingWriter() = default;
  /// REQUIRES: line_count is a power of two; `lines` holds so many, all zero.
  RingWriter(RingLine* lines, std::uint32_t line_count);
  /// With the one reader whose counter that is. `reserve`: how many lines are kept back.
  RingWriter(RingLine* lines, std::uint32_t line_count, const ConsumedCounter* consumed, std::uint32_t reserve = 0);

  /// From now on these read what is written, and no others, and what they have not read keeps its place. Their counters
  /// say no more than what they have read of this ring.
  void set_readers(std::vector<const ConsumedCounter*> readers) noexcept;
  /// That one reads no more, if it did.
  void drop_reader(const ConsumedCounter* consumed) noexcept;
  /// Whether all that was written is read, as far as readers have given it back.
  bool all_read() const noexcept { return unread() == 0; }
  /// How many lines are not, as far as that.
  std::uint64_t unread() const noexcept { return written_ - least_consumed(); }
  /// How many lines were written: where who begins to read now begins.
  std::uint64_t position() const noexcept { return written_; }

  /// Of the ring.
  std::uint32_t lines() const noexcept { return static_cast<std::uint32_t>(mask_ + 1); }

  /// Writes one message, whole, or returns false when there is no room for it yet.
  /// REQUIRES: the sizes are within the limits of message.h.
  bool try_write(std::uint8_t kind, ConstByteSpan header, ConstByteSpan payload) noexcept {
    const LineHead head{kind, static_cast<std::uint16_t>(header.size()), static_cast<std::uint16_t>(payload.size())};
    if (header.size() + payload.size() > RingLine::inline_bytes) return try_write_long(head, header, payload);
    if (!has_room(1)) return false;
    write_line(head, header, payload);
    return true;
  }
  /// Writes a message that is nothing but its kind to a line that is kept back. REQUIRES: it is free.
  void write_in_reserve(std::uint8_t kind) noexcept { write_line({kind, 0, 0}, {}, {}); }

  /// Claims the line that the next message begins with, if it is known to be free: whoever writes that soon need not
  /// take the reader's copy back then (decision 77).
  void claim_next() noexcept {
    if (written_ < limit_) claim_free_line(line_at(written_).bytes[0]);
  }

  /// Whether a message of `lines` lines would be written now.
  bool has_room(std::size_t lines) noexcept {
    if (written_ + lines <= limit_) return true;
    // Readers' words: they may be anything, but they can't make us write outside of the ring.
    limit_ = least_consumed() + mask_ + 1 - reserve_;
    return written_ + lines <= limit_;
  }

 private:
  RingLine& line_at(std::uint64_t position) const noexcept { return lines_[position & mask_]; }
  std::uint64_t least_consumed() const noexcept;
  void write_line(LineHead head, ConstByteSpan header, ConstByteSpan payload) noexcept {
    RingLine& line = line_at(written_);
    copy_bytes(line.bytes, header);
    copy_bytes(line.bytes + header.size(), payload);
    line.word.store(encode_word(head, written_), std::memory_order_release);
    ++written_;
  }
  bool try_write_long(LineHead head, ConstByteSpan header, ConstByteSpan payload) noexcept;

  RingLine* lines_ = nullptr;
  std::uint64_t mask_ = 0;
  std::uint64_t reserve_ = 0;
  std::uint64_t written_ = 0;
  std::uint64_t limit_ = 0;  // lines below this position are free, as far as we have looked
  std::vector<const ConsumedCounter*> readers_;
};

}  // namespace stretto::fabric::cluster
