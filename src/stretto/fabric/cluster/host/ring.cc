#include "stretto/fabric/cluster/host/ring.h"

#include <algorithm>
#include <cstring>

namespace stretto::fabric::cluster {

RingWriter::RingWriter(RingLine* lines, std::uint32_t line_count, const ConsumedCounter* consumed)
    : lines_(lines), mask_(line_count - 1), limit_(line_count), consumed_(consumed), overwritten_(line_count / 64) {}

bool RingWriter::has_room(std::uint32_t lines) noexcept {
  if (written_ + lines <= limit_) return true;
  // A reader's word: it may be anything, but it can't make us write outside of the ring.
  limit_ = consumed_->lines.load(std::memory_order_acquire) + mask_ + 1;
  return written_ + lines <= limit_;
}

bool RingWriter::try_write(std::uint8_t kind, ConstByteSpan header, ConstByteSpan payload) noexcept {
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

void RingWriter::write_long(const LineHead& head, ConstByteSpan header, ConstByteSpan payload) noexcept {
  RingLine& first = lines_[written_ & mask_];
  const std::size_t header_here = std::min(header.size(), RingLine::inline_bytes);
  const std::size_t payload_here = std::min(payload.size(), RingLine::inline_bytes - header_here);
  copy_bytes(first.bytes, header.first(header_here));
  copy_bytes(first.bytes + header_here, payload.first(payload_here));
  mark(written_ + 1, written_ + head.lines(), true);
  // The rest is one run of bytes from the second line on, which may go round the ring's end.
  const std::uint64_t tail = (written_ + 1) * sizeof(RingLine);
  copy_tail(tail, header.subspan(header_here));
  copy_tail(tail + header.size() - header_here, payload.subspan(payload_here));
}

// `position` counts bytes since the ring's start.
void RingWriter::copy_tail(std::uint64_t position, ConstByteSpan bytes) noexcept {
  auto* const base = reinterpret_cast<std::byte*>(lines_);
  const std::uint64_t ring_bytes = (mask_ + 1) * sizeof(RingLine);
  const std::uint64_t at = position & (ring_bytes - 1);
  const std::size_t before_end = std::min<std::size_t>(bytes.size(), ring_bytes - at);
  copy_bytes(base + at, bytes.first(before_end));
  copy_bytes(base, bytes.subspan(before_end));
}

bool RingWriter::was_overwritten(std::uint64_t position) const noexcept {
  const std::uint64_t line = position & mask_;
  return (overwritten_[line / 64] >> (line % 64) & 1U) != 0;
}

void RingWriter::mark(std::uint64_t first, std::uint64_t end, bool overwritten) noexcept {
  for (std::uint64_t position = first; position < end; ++position) {
    const std::uint64_t line = position & mask_;
    const std::uint64_t bit = std::uint64_t{1} << (line % 64);
    if (overwritten) {
      overwritten_[line / 64] |= bit;
    } else {
      overwritten_[line / 64] &= ~bit;
    }
  }
}

RingReader::RingReader(const RingLine* lines, std::uint32_t line_count, ConsumedCounter* consumed) noexcept
    : lines_(lines), mask_(line_count - 1), consumed_(consumed) {}

DecodedLine RingReader::take(std::byte* buffer) noexcept {
  const RingLine& first = lines_[position_ & mask_];
  const DecodedLine line = decode_word(first.word.load(std::memory_order_acquire), position_);
  if (line.state != LineState::message) return line;
  const std::size_t total = line.head.bytes();
  std::memcpy(buffer, first.bytes, RingLine::inline_bytes);  // a fixed size is cheaper than an exact one
  if (total > RingLine::inline_bytes) {
    const auto* const base = reinterpret_cast<const std::byte*>(lines_);
    const std::uint64_t ring_bytes = (mask_ + 1) * sizeof(RingLine);
    const std::uint64_t at = (position_ + 1) * sizeof(RingLine) & (ring_bytes - 1);
    const std::size_t rest = total - RingLine::inline_bytes;
    const std::size_t before_end = std::min<std::size_t>(rest, ring_bytes - at);
    copy_bytes(buffer + RingLine::inline_bytes, {base + at, before_end});
    copy_bytes(buffer + RingLine::inline_bytes + before_end, {base, rest - before_end});
  }
  position_ += line.head.lines();
  return line;
}

bool RingReader::give_back() noexcept {
  if (position_ - given_back_ < credit_batch(static_cast<std::uint32_t>(mask_ + 1))) return false;
  given_back_ = position_;
  consumed_->lines.store(position_, std::memory_order_release);
  return true;
}

}  // namespace stretto::fabric::cluster
