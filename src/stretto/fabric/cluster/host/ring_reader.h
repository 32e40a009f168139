#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>

#include "stretto/base/bytes.h"
#include "stretto/base/claim_line.h"
#include "stretto/base/finish_look.h"
#include "stretto/fabric/awaited.h"
#include "stretto/fabric/cluster/host/ring_size.h"

namespace stretto::fabric::cluster {

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
    if (!is_long && awaited.is_due && awaited.looks > 1) finish_look();
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
