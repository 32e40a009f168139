#include "stretto/fabric/cluster/host/ring.h"

#include <algorithm>
#include <utility>

namespace stretto::fabric::cluster {

RingWriter::RingWriter(RingLine* lines, std::uint32_t line_count)
    : lines_(lines), mask_(line_count - 1), overwritten_(line_count / 64) {}

RingWriter::RingWriter(RingLine* lines, std::uint32_t line_count, const ConsumedCounter* consumed)
    : RingWriter(lines, line_count) {
  set_readers({consumed});
}

void RingWriter::set_readers(std::vector<const ConsumedCounter*> readers) noexcept {
  readers_ = std::move(readers);
  limit_ = 0;  // to be looked up anew
}

void RingWriter::drop_reader(const ConsumedCounter* consumed) noexcept { std::erase(readers_, consumed); }

std::uint64_t RingWriter::least_consumed() const noexcept {
  std::uint64_t least = written_;
  for (const ConsumedCounter* const reader : readers_) {
    least = std::min(least, reader->lines.load(std::memory_order_acquire));
  }
  return least;
}

void RingWriter::write_long(LineHead head, ConstByteSpan header, ConstByteSpan payload) noexcept {
  RingLine& first = lines_[written_ & mask_];
  const std::size_t header_here = std::min(header.size(), RingLine::inline_bytes);
  const std::size_t payload_here = std::min(payload.size(), RingLine::inline_bytes - header_here);
  mark(written_ + 1, written_ + head.lines(), true);
  // The rest is one run of bytes from the second line on, which may go round the ring's end.
  const std::uint64_t tail = (written_ + 1) * sizeof(RingLine);
  copy_tail(tail, header.subspan(header_here));
  copy_tail(tail + header.size() - header_here, payload.subspan(payload_here));
  // Last, at once with the word: the reader looks at this line, and would take it back in between.
  copy_bytes(first.bytes, header.first(header_here));
  copy_bytes(first.bytes + header_here, payload.first(payload_here));
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

RingReader::RingReader(const RingLine* lines, std::uint32_t line_count, ConsumedCounter* consumed,
                       std::uint64_t position) noexcept
    : lines_(lines), mask_(line_count - 1), position_(position), given_back_(position), consumed_(consumed) {}

// What does not lie in the first line: one line after the other, where the C library begins at both ends (decision 45).
void RingReader::copy_rest(std::byte* buffer, std::size_t bytes) const noexcept {
  const auto* const base = reinterpret_cast<const std::byte*>(lines_);
  const auto line = [&](std::uint64_t position) { return base + (position & mask_) * sizeof(RingLine); };
  std::uint64_t position = position_ + 1;
  std::byte* to = buffer + RingLine::inline_bytes;
  std::size_t left = bytes - RingLine::inline_bytes;
  for (; left >= sizeof(RingLine); left -= sizeof(RingLine), to += sizeof(RingLine)) {
    std::memcpy(to, line(position++), sizeof(RingLine));
  }
  std::memcpy(to, line(position), left);
}

}  // namespace stretto::fabric::cluster
