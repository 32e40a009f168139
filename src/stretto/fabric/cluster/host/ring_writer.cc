#include "stretto/fabric/cluster/host/ring_writer.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace stretto::fabric::cluster {

RingWriter::RingWriter(RingLine* lines, std::uint32_t line_count) : lines_(lines), mask_(line_count - 1) {}

RingWriter::RingWriter(RingLine* lines, std::uint32_t line_count, const ConsumedCounter* consumed,
                       std::uint32_t reserve)
    : RingWriter(lines, line_count) {
  reserve_ = reserve;
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

// One line after the other, each with its word. What is looked at for each line is kept in registers: any of the bytes
// that are written might be this object's.
bool RingWriter::try_write_long(LineHead head, ConstByteSpan header, ConstByteSpan payload) noexcept {
  const std::uint32_t count = head.lines();
  if (!has_room(count)) return false;
  std::uint64_t position = written_;
  written_ += count;
  std::uint64_t word = encode_word(head, position);
  RingLine* const lines = lines_;
  RingLine* line = &line_at(position);
  const std::uint64_t mask = mask_;
  const auto end_line = [&] {
    line->word.store(word, std::memory_order_release);
    word = encode_further_word(++position);
    line = lines + (position & mask);
  };
  const auto write_whole_lines_of = [&](ConstByteSpan& bytes) {
    for (; bytes.size() >= RingLine::inline_bytes; bytes = bytes.subspan(RingLine::inline_bytes)) {
      std::memcpy(line->bytes, bytes.data(), RingLine::inline_bytes);
      end_line();
    }
  };
  write_whole_lines_of(header);
  if (!header.empty()) {
    const std::size_t payload_here = std::min(payload.size(), RingLine::inline_bytes - header.size());
    copy_bytes(line->bytes, header);
    copy_bytes(line->bytes + header.size(), payload.first(payload_here));
    payload = payload.subspan(payload_here);
    end_line();
  }
  write_whole_lines_of(payload);
  if (!payload.empty()) {
    copy_bytes(line->bytes, payload);
    end_line();
  }
  return true;
}

}  // namespace stretto::fabric::cluster
