// Any bytes are a frame that says just these bytes, or an Error(bad_input).

#include <cstdint>

#include "stretto/base/fuzz.h"
#include "stretto/fabric/cluster/network/frame.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace stretto;
  using namespace stretto::fabric::cluster::network;
  if (size < 2) return 0;
  // The first two bytes choose how much data comes with the frame.
  const std::uint64_t data_bytes =
      bytes[0] == 0xff ? ~std::uint64_t{bytes[1]} : bytes[0] * std::uint64_t{256} + bytes[1];
  const ConstByteSpan header = std::as_bytes(std::span(bytes + 2, size - 2));
  fuzz::takes([&] {
    const Frame frame = decode(header, data_bytes);
    FrameHeader again;
    encode(frame, again);
    fuzz::require(fuzz::are_the_same(again.span(), header));
  });
  return 0;
}
