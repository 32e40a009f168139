#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <vector>

#include "stretto/base/bytes.h"
#include "stretto/base/claim_line.h"
#include "stretto/base/finish_look.h"
#include "stretto/fabric/awaited.h"
#include "stretto/fabric/cluster/host/ring_line.h"

namespace stretto::fabric::cluster {

/// How many lines of a ring its reader is done with. In the reader's memory, written by the reader alone.
struct alignas(64) ConsumedCounter {
  std::atomic<std::uint64_t> lines{0};
};

inline constexpr std::uint32_t least_ring_lines = 512;
inline constexpr std::uint32_t most_ring_lines = 1U << 20U;
/// Whether a ring for messages of any size may have so many lines: a power of two that leaves room for the largest one
/// at all times.
constexpr bool valid_ring_lines(std::uint64_t lines) noexcept {
  return std::has_single_bit(lines) && lines >= least_ring_lines && lines <= most_ring_lines;
}
/// Of a ring for who keeps up (see edge.h): 8 KiB, so that those of both ways stay in the first-level caches (decision
/// 76).
inline constexpr std::uint32_t short_ring_lines = 128;
/// A reader gives lines back in batches of this many, so that a small message costs no second cache line. What a reader
/// that found its ring empty has not given back yet never keeps a writer waiting.
constexpr std::uint32_t credit_batch(std::uint32_t ring_lines) noexcept {
  return std::min(ring_lines / 8, short_ring_lines);
}
static_assert(least_ring_lines - 2 * credit_batch(least_ring_lines) > max_message_lines);

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

/// The receiving end. Judges each word as it was read, and copies the message before anyone looks at its bytes.
class RingReader {
 public:
  RingReader() = default;
  /// Begins at `position`, which is 0 where nobody has written yet. REQUIRES: line_count is a power of two; `lines` is
  /// memory of so many, which can be written but is not changed.
  RingReader(RingLine* lines, std::uint32_t line_count, ConsumedCounter* consumed, std::uint64_t position = 0) noexcept;

  /// Whether a message has begun to come, and, once it was found to be half there, has gone on since.
  bool ready() const noexcept {
    return holds_sequence(line_at(position_).word.load(std::memory_order_relaxed), position_) &&
           (missing_ <= position_ || look_at_further(missing_) != LineState::empty);
  }
  /// Whether one is there, whole, or a bad line.
  bool whole() const noexcept;

  /// What to do between two looks for a message, for the one who reads the ring. Of one line, claims that, unless its
  /// writer may be about to write it. Of two to four lines, asks for the further ones, so that they come together with
  /// the first, and lets looks overlap. Of more lines their writer would lose those that it has not written yet.
  void found_nothing(const Awaited& awaited) noexcept {
    const std::size_t lines = lines_of(awaited.bytes);
    if (lines == 1) {
      if (!awaited.is_due && !is_claimed_ && claims_help()) claim();
      finish_look_at_line();
    } else if (lines > most_expected_lines) {
      finish_look();
    } else {
      for (std::size_t line = 1; line < lines; ++line) __builtin_prefetch(&line_at(position_ + line));
    }
  }

  /// Takes the next message: its bytes, header first, are copied to `buffer`. One that is still being written is waited
  /// for while a line may be on its way; if its writer has stopped meanwhile, it is not there yet. After `bad` the ring
  /// is unusable. REQUIRES: buffer holds max_message_line_bytes bytes.
  DecodedLine take(std::byte* buffer) noexcept {
    const RingLine& first = line_at(position_);
    DecodedLine line = decode_word(first.word.load(std::memory_order_acquire), position_);
    if (line.state != LineState::message) return line;
    std::memcpy(buffer, first.bytes, RingLine::inline_bytes);  // a fixed size is cheaper than an exact one
    const std::uint32_t lines = line.head.lines();
    if (lines > 1) {
      line.state = take_further({buffer + RingLine::inline_bytes, line.head.bytes() - RingLine::inline_bytes});
    }
    if (line.state == LineState::message) pass(lines);
    return line;
  }

  /// Takes the next message if it is the one that is foreseen, for which it looks as often as it is told. Its header is
  /// compared where it lies, and not read again. If not, its payload's place may hold some of it. REQUIRES: one is
  /// foreseen.
  bool take(const Awaited& awaited) noexcept {
    const Foreseen& foreseen = *awaited.foreseen;
    const std::size_t bytes = foreseen.header_bytes + foreseen.payload.size();
    const bool is_long = bytes > RingLine::inline_bytes;
    if (is_long && (bytes > max_message_bytes || foreseen.header_bytes > RingLine::inline_bytes)) return false;
    const RingLine& line = line_at(position_);
    const LineHead head{static_cast<std::uint8_t>(foreseen.type), static_cast<std::uint16_t>(foreseen.header_bytes),
                        static_cast<std::uint16_t>(foreseen.payload.size())};
    const std::uint64_t word = encode_word(head, position_);
    // Who looks too soon takes the line from its writer; of several lines the first are read while others are written
    // (decision 77).
    if (!is_long && awaited.is_due && awaited.looks > 1 && claims_help()) finish_look();
    if (line.word.load(std::memory_order_acquire) != word && !comes(line, word, awaited)) return false;
    if (!same_words({line.bytes, foreseen.beginning.size()}, foreseen.beginning)) return false;
    if (is_long) return ready() && take_rest(foreseen);
    copy_bytes(foreseen.payload.data(), {line.bytes + foreseen.header_bytes, foreseen.payload.size()});
    pass(1);
    return true;
  }

  /// Gives lines back in batches; returns whether it did, so that a waiting writer may have to be woken.
  bool give_back() noexcept {
    if (position_ - given_back_ < batch_) return false;
    give_back_all();
    return true;
  }
  void give_back_all() noexcept {
    given_back_ = position_;
    consumed_->lines.store(position_, std::memory_order_release);
  }

 private:
  static constexpr std::size_t most_expected_lines = 4;

  // Whether the next line has that word soon, which it did not have. A line that is better claimed first is left alone.
  bool comes(const RingLine& line, std::uint64_t word, const Awaited& awaited) const noexcept {
    if (awaited.bytes <= RingLine::inline_bytes && !awaited.is_due && !is_claimed_ && claims_help()) return false;
    for (unsigned look = 1; look < awaited.looks; ++look) {
      finish_look_at_line();
      const std::uint64_t seen = line.word.load(std::memory_order_acquire);
      if (seen == word) return true;
      if (holds_sequence(seen, position_)) break;
    }
    return false;
  }

  const RingLine& line_at(std::uint64_t position) const noexcept { return lines_[position & mask_]; }
  void claim() noexcept {
    is_claimed_ = true;
    claim_line(lines_[position_ & mask_].word);
  }
  LineState look_at_further(std::uint64_t position) const noexcept {
    return state_of_further_word(line_at(position).word.load(std::memory_order_acquire), position);
  }
  void pass(std::uint32_t lines) noexcept {
    position_ += lines;
    missing_ = 0;
    is_claimed_ = false;
  }
  LineState wait_for_further(std::uint64_t position) noexcept;
  LineState take_further(ByteSpan bytes) noexcept;
  bool take_rest(const Foreseen& foreseen) noexcept;

  RingLine* lines_ = nullptr;
  std::uint64_t mask_ = 0;
  std::uint64_t batch_ = 0;
  bool is_claimed_ = false;  // the line at the position
  std::uint64_t position_ = 0;
  std::uint64_t missing_ = 0;  // of a message that was half there, where that lies ahead
  std::uint64_t given_back_ = 0;
  ConsumedCounter* consumed_ = nullptr;
};

}  // namespace stretto::fabric::cluster
