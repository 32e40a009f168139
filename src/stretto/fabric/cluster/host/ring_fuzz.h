#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "stretto/fabric/cluster/host/ring_reader.h"

namespace stretto::fabric::cluster {

/// What a fuzzer calls: reads a ring whose memory a peer filled with `bytes`, as long as it yields messages. Aborts
/// when the reader says anything that its callers must not hear; reads out of bounds are the sanitizer's to see.
/// Returns how many messages it took for good ones.
inline int fuzz_ring_reader(ConstByteSpan bytes) {
  std::vector<RingLine> lines(least_ring_lines);
  if (!bytes.empty()) {
    std::memcpy(static_cast<void*>(lines.data()), bytes.data(),
                std::min(bytes.size(), lines.size() * sizeof(RingLine)));
  }
  ConsumedCounter consumed;
  RingReader reader(lines.data(), least_ring_lines, &consumed);
  std::vector<std::byte> buffer(max_message_line_bytes);
  // As by someone who foresees just what the next word says.
  const auto take_foreseen = [&](std::uint64_t position) -> std::uint32_t {
    const std::uint64_t word = lines[position % lines.size()].word;
    const LineHead said = head_in(word);
    if (said.kind == no_kind || said.kind >= first_own_kind || said.payload_bytes > buffer.size()) return 0;
    const Foreseen foreseen{
        static_cast<MessageType>(said.kind), said.header_bytes, {}, ByteSpan(buffer).first(said.payload_bytes)};
    if (!reader.take(Awaited{.bytes = said.bytes(), .is_due = true, .foreseen = &foreseen, .looks = 2})) return 0;
    if (said.header_bytes > RingLine::inline_bytes || said.bytes() > max_message_bytes ||
        !holds_sequence(word, position)) {
      std::abort();
    }
    return said.lines();
  };
  std::uint64_t position = 0;
  int messages = 0;
  // No line can be a message twice, since its position has moved on.
  for (;; ++messages) {
    if (messages > static_cast<int>(lines.size())) std::abort();
    const bool whole = reader.whole();
    if (messages % 2 != 0) {
      if (const std::uint32_t taken = take_foreseen(position); taken > 0) {
        if (!whole) std::abort();
        position += taken;
        continue;
      }
    }
    const DecodedLine line = reader.take(buffer.data());
    if (whole != (line.state != LineState::empty)) std::abort();
    if (line.state != LineState::message) return messages;
    if (line.head.kind == 0 || line.head.kind >= end_of_kinds || line.head.header_bytes > max_header_bytes ||
        line.head.bytes() > max_message_bytes || line.head.lines() > max_message_lines) {
      std::abort();
    }
    position += line.head.lines();
    reader.give_back();
  }
}

}  // namespace stretto::fabric::cluster
