// However a peer fills a ring, its reader takes whole messages within the limits from it, or refuses what it finds.

#include "stretto/fabric/cluster/host/ring_fuzz.h"

#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace stretto::fabric::cluster;
  // Each eight bytes change the word of one line, which is that of a message's further line: no fuzzer would guess it.
  std::vector<RingLine> lines(std::min<std::size_t>(size / sizeof(std::uint64_t), least_ring_lines));
  for (std::size_t position = 0; position < lines.size(); ++position) {
    std::uint64_t change = 0;
    std::memcpy(&change, bytes + position * sizeof(change), sizeof(change));
    lines[position].word = encode_further_word(position) ^ change;
  }
  fuzz_ring_reader(std::as_bytes(std::span(lines)));
  return 0;
}
