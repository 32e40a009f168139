#include "stretto/fabric/cluster/host/ring.h"

#include <algorithm>
#include <utility>

namespace stretto::fabric::cluster {

namespace {

/// For a line that its writer is about to write: several times as long as one takes between cores that are far apart.
constexpr unsigned most_looks_at_further = 1000;

}  // namespace

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

// One line after the other, each with its word.
bool RingWriter::try_write_long(LineHead head, ConstByteSpan header, ConstByteSpan payload) noexcept {
  const std::uint32_t lines = head.lines();
  if (!has_room(lines)) return false;
  std::uint64_t position = written_;
  written_ += lines;
  std::uint64_t word = encode_word(head, position);
  const auto end_line = [&] {
    line_at(position).word.store(word, std::memory_order_release);
    word = encode_further_word(++position);
  };
  const auto write_whole_lines_of = [&](ConstByteSpan& bytes) {
    for (; bytes.size() >= RingLine::inline_bytes; bytes = bytes.subspan(RingLine::inline_bytes)) {
      std::memcpy(line_at(position).bytes, bytes.data(), RingLine::inline_bytes);
      end_line();
    }
  };
  write_whole_lines_of(header);
  if (!header.empty()) {
    std::byte* const line = line_at(position).bytes;
    const std::size_t payload_here = std::min(payload.size(), RingLine::inline_bytes - header.size());
    copy_bytes(line, header);
    copy_bytes(line + header.size(), payload.first(payload_here));
    payload = payload.subspan(payload_here);
    end_line();
  }
  write_whole_lines_of(payload);
  if (!payload.empty()) {
    copy_bytes(line_at(position).bytes, payload);
    end_line();
  }
  return true;
}

RingReader::RingReader(RingLine* lines, std::uint32_t line_count, ConsumedCounter* consumed,
                       std::uint64_t position) noexcept
    : lines_(lines), mask_(line_count - 1), position_(position), given_back_(position), consumed_(consumed) {}

bool RingReader::whole() const noexcept {
  const DecodedLine first = decode_word(line_at(position_).word.load(std::memory_order_acquire), position_);
  LineState state = first.state;
  const std::uint32_t lines = state == LineState::message ? first.head.lines() : 1;
  for (std::uint32_t line = 1; line < lines && state == LineState::message; ++line) {
    state = look_at_further(position_ + line);
  }
  return state != LineState::empty;
}

[[gnu::hot]] LineState RingReader::take_further(ByteSpan bytes) noexcept {
  for (std::uint64_t position = position_ + 1; !bytes.empty(); ++position) {
    LineState state = LineState::empty;
    for (unsigned looks = 0; state == LineState::empty && looks < most_looks_at_further; ++looks) {
      state = look_at_further(position);
    }
    if (state != LineState::message) {
      missing_ = position;
      return state;
    }
    const std::size_t here = std::min(bytes.size(), RingLine::inline_bytes);
    const std::byte* from = line_at(position).bytes;
    if (here == RingLine::inline_bytes) {
      std::memcpy(bytes.data(), from, RingLine::inline_bytes);
    } else {
      copy_bytes(bytes.data(), {from, here});
    }
    bytes = bytes.subspan(here);
  }
  return LineState::message;
}

[[gnu::hot]] bool RingReader::take_rest(const Foreseen& foreseen) noexcept {
  const std::size_t here = RingLine::inline_bytes - foreseen.header_bytes;
  std::memcpy(foreseen.payload.data(), line_at(position_).bytes + foreseen.header_bytes, here);
  if (take_further(foreseen.payload.subspan(here)) != LineState::message) return false;
  pass(static_cast<std::uint32_t>(lines_of(foreseen.header_bytes + foreseen.payload.size())));
  return true;
}

}  // namespace stretto::fabric::cluster
