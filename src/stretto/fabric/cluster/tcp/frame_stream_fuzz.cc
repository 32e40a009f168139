// However a stream of any bytes is cut, and wherever data are received, the same frames come out, or the same
// Error(bad_input).

#include <algorithm>
#include <cstdint>
#include <vector>

#include "stretto/base/fuzz.h"
#include "stretto/fabric/cluster/tcp/frame_stream.h"

namespace {

using namespace stretto;
using namespace stretto::fabric::cluster::network;

struct Result {
  std::vector<std::vector<std::byte>> frames;  // headers and data, in turns
  bool refused = false;
  friend bool operator==(const Result&, const Result&) = default;
};

Result read(ConstByteSpan stream, std::size_t cut, bool in_places) {
  Result result;
  FrameReader reader;
  std::vector<std::byte> memory;
  const auto on_frame = [&](ConstByteSpan header, ConstByteSpan data) {
    result.frames.emplace_back(header.begin(), header.end());
    result.frames.emplace_back(data.begin(), data.end());
  };
  const auto place_for = [&](ConstByteSpan, std::size_t bytes) {
    if (in_places) memory.resize(bytes);
    return ByteSpan(memory);
  };
  result.refused = !fuzz::takes([&] {
    while (!stream.empty()) {
      const ByteSpan place = reader.place(place_for);
      const ConstByteSpan arrived = stream.first(std::min(cut, stream.size()));
      const std::size_t in_place = std::min(arrived.size(), place.size());
      std::copy_n(arrived.begin(), in_place, place.begin());
      if (in_place != 0) reader.filled(in_place, on_frame);
      reader.read(arrived.subspan(in_place), on_frame);
      stream = stream.subspan(arrived.size());
    }
  });
  return result;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0) return 0;
  const ConstByteSpan stream = std::as_bytes(std::span(bytes + 1, size - 1));
  const Result whole = read(stream, stream.size() + 1, false);
  for (const bool in_places : {false, true}) {
    fuzz::require(read(stream, 1 + bytes[0], in_places) == whole);
  }
  return 0;
}
