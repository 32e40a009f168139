#include "stretto/fabric/cluster/host/ring_reader.h"

#include <cstring>

namespace stretto::fabric::cluster {

namespace {

/// For a line that its writer is about to write: several times as long as one takes between cores that are far apart.
constexpr unsigned most_looks_at_further = 1000;

}  // namespace

RingReader::RingReader(RingLine* lines, std::uint32_t line_count, ConsumedCounter* consumed,
                       std::uint64_t position) noexcept
    : lines_(lines),
      mask_(line_count - 1),
      batch_(credit_batch(line_count)),
      position_(position),
      given_back_(position),
      consumed_(consumed) {}

bool RingReader::whole() const noexcept {
  if (!ready()) return false;
  const DecodedLine first = decode_word(line_at(position_).word.load(std::memory_order_acquire), position_);
  LineState state = first.state;
  const std::uint32_t lines = state == LineState::message ? first.head.lines() : 1;
  for (std::uint32_t line = 1; line < lines && state == LineState::message; ++line) {
    state = look_at_further(position_ + line);
  }
  return state != LineState::empty;
}

LineState RingReader::wait_for_further(std::uint64_t position) noexcept {
  LineState state = LineState::empty;
  for (unsigned looks = 0; state == LineState::empty && looks < most_looks_at_further; ++looks) {
    state = look_at_further(position);
  }
  if (state != LineState::message) missing_ = position;
  return state;
}

// One line after the other, as they come.
[[gnu::hot]] LineState RingReader::take_further(ByteSpan bytes) noexcept {
  const RingLine* const lines = lines_;
  const std::uint64_t mask = mask_;
  std::byte* to = bytes.data();
  std::size_t left = bytes.size();
  for (std::uint64_t position = position_ + 1; left > 0; ++position) {
    const RingLine& line = lines[position & mask];
    if (line.word.load(std::memory_order_acquire) != encode_further_word(position)) {
      const LineState state = wait_for_further(position);
      if (state != LineState::message) return state;
    }
    if (left < RingLine::inline_bytes) {
      copy_bytes(to, {line.bytes, left});
      break;
    }
    std::memcpy(to, line.bytes, RingLine::inline_bytes);
    to += RingLine::inline_bytes;
    left -= RingLine::inline_bytes;
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
