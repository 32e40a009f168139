#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <vector>

#include "stretto/base/bytes.h"
#include "stretto/base/finish_look.h"
#include "stretto/fabric/cluster/host/ring_line.h"

namespace stretto::fabric::cluster {

/// How many lines of a ring its reader is done with. In the reader's memory, written by the reader alone.
struct alignas(64) ConsumedCounter {
  std::atomic<std::uint64_t> lines{0};
};

inline constexpr std::uint32_t least_ring_lines = 512;
inline constexpr std::uint32_t most_ring_lines = 1U << 20U;
/// Whether a ring may have so many lines: a power of two that leaves room for the largest message at all times.
constexpr bool valid_ring_lines(std::uint64_t lines) noexcept {
  return std::has_single_bit(lines) && lines >= least_ring_lines && lines <= most_ring_lines;
}
/// A reader gives lines back in batches of this many, so that a small message costs no second cache line. What a reader
/// that found its ring empty has not given back yet never keeps a writer waiting.
constexpr std::uint32_t credit_batch(std::uint32_t ring_lines) noexcept { return ring_lines / 8; }
static_assert(least_ring_lines - credit_batch(least_ring_lines) > max_message_lines);

/// The sending end of a ring, which one peer reads, or several, each all of it. Its lines are in memory that only this
/// node writes.
class RingWriter {
 public:
  RingWriter() = default;
  /// REQUIRES: valid_ring_lines(line_count); `lines` holds so many, all zero.
  RingWriter(RingLine* lines, std::uint32_t line_count);
  /// With the one reader whose counter that is.
  RingWriter(RingLine* lines, std::uint32_t line_count, const ConsumedCounter* consumed);

  /// From now on these read what is written, and no others, and what they have not read keeps its place. Their counters
  /// say no more than what they have read of this ring.
  void set_readers(std::vector<const ConsumedCounter*> readers) noexcept;
  /// That one reads no more, if it did.
  void drop_reader(const ConsumedCounter* consumed) noexcept;
  /// Whether all that was written is read, as far as readers have given it back.
  bool all_read() const noexcept { return least_consumed() >= written_; }
  /// How many lines were written: where who begins to read now begins.
  std::uint64_t position() const noexcept { return written_; }

  /// Writes one message, whole, or returns false when there is no room for it yet.
  /// REQUIRES: the sizes are within the limits of message.h.
  bool try_write(std::uint8_t kind, ConstByteSpan header, ConstByteSpan payload) noexcept {
    const LineHead head{kind, static_cast<std::uint16_t>(header.size()), static_cast<std::uint16_t>(payload.size())};
    const std::uint32_t count = head.lines();
    if (!has_room(count)) return false;
    RingLine& first = lines_[written_ & mask_];
    if (count == 1) {
      copy_bytes(first.bytes, header);
      copy_bytes(first.bytes + header.size(), payload);
    } else {
      write_long(head, header, payload);
    }
    const std::uint64_t next = written_ + count;
    if (was_overwritten(next)) {
      lines_[next & mask_].word.store(0, std::memory_order_relaxed);
      mark(next, next + 1, false);
    }
    first.word.store(encode_word(head, written_), std::memory_order_release);
    written_ = next;
    return true;
  }

  /// Whether a message of `lines` lines would be written now.
  bool has_room(std::uint32_t lines) noexcept {
    if (written_ + lines <= limit_) return true;
    // Readers' words: they may be anything, but they can't make us write outside of the ring.
    limit_ = least_consumed() + mask_ + 1;
    return written_ + lines <= limit_;
  }

 private:
  std::uint64_t least_consumed() const noexcept;
  bool was_overwritten(std::uint64_t position) const noexcept {
    const std::uint64_t line = position & mask_;
    return (overwritten_[line / 64] >> (line % 64) & 1U) != 0;
  }
  void mark(std::uint64_t first, std::uint64_t end, bool overwritten) noexcept;
  void copy_tail(std::uint64_t position, ConstByteSpan bytes) noexcept;
  void write_long(LineHead head, ConstByteSpan header, ConstByteSpan payload) noexcept;

  RingLine* lines_ = nullptr;
  std::uint64_t mask_ = 0;
  std::uint64_t written_ = 0;
  std::uint64_t limit_ = 0;  // lines below this position are free, as far as we have looked
  std::vector<const ConsumedCounter*> readers_;
  // One bit a line: whether its word holds a message's bytes, which could look like a word when it becomes a first
  // line.
  std::vector<std::uint64_t> overwritten_;
};

/// The receiving end. Reads each word once, judges it, and copies the message before anyone looks at its bytes.
class RingReader {
 public:
  RingReader() = default;
  /// Begins at `position`, which is 0 where nobody has written yet. REQUIRES: valid_ring_lines(line_count); `lines` is
  /// readable memory of so many.
  RingReader(const RingLine* lines, std::uint32_t line_count, ConsumedCounter* consumed,
             std::uint64_t position = 0) noexcept;

  /// Whether `take` would return something else than `empty`.
  bool ready() const noexcept {
    const std::uint64_t word = lines_[position_ & mask_].word.load(std::memory_order_relaxed);
    return holds_sequence(word, position_);
  }

  /// What to do between two looks for a message that may have so many bytes. Of two to four lines, asks for the further
  /// ones, so that they come together with the first, and lets looks overlap. Of more lines their writer would lose
  /// those that it has not written yet.
  void found_nothing(std::size_t bytes) const noexcept {
    const std::size_t lines = lines_of(bytes);
    if (lines == 1) {
      finish_look_at_line();
    } else if (lines > most_expected_lines) {
      finish_look();
    } else {
      for (std::size_t line = 1; line < lines; ++line) __builtin_prefetch(&lines_[(position_ + line) & mask_]);
    }
  }

  /// Takes the next message: its bytes, header first, are copied to `buffer`. After `bad` the ring is unusable.
  /// REQUIRES: buffer holds max_message_bytes bytes.
  DecodedLine take(std::byte* buffer) noexcept {
    const RingLine& first = lines_[position_ & mask_];
    const DecodedLine line = decode_word(first.word.load(std::memory_order_acquire), position_);
    if (line.state != LineState::message) return line;
    std::memcpy(buffer, first.bytes, RingLine::inline_bytes);  // a fixed size is cheaper than an exact one
    if (line.head.bytes() > RingLine::inline_bytes) copy_rest(buffer, line.head.bytes());
    position_ += line.head.lines();
    return line;
  }

  /// Gives lines back in batches; returns whether it did, so that a waiting writer may have to be woken.
  bool give_back() noexcept {
    if (position_ - given_back_ < credit_batch(static_cast<std::uint32_t>(mask_ + 1))) return false;
    give_back_all();
    return true;
  }
  void give_back_all() noexcept {
    given_back_ = position_;
    consumed_->lines.store(position_, std::memory_order_release);
  }

 private:
  static constexpr std::size_t most_expected_lines = 4;

  void copy_rest(std::byte* buffer, std::size_t bytes) const noexcept;

  const RingLine* lines_ = nullptr;
  std::uint64_t mask_ = 0;
  std::uint64_t position_ = 0;
  std::uint64_t given_back_ = 0;
  ConsumedCounter* consumed_ = nullptr;
};

}  // namespace stretto::fabric::cluster
