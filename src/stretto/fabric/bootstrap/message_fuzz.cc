// Any bytes are a message that says just these bytes, or an Error(bad_input); and however a stream of them is cut, the
// same messages come out.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "stretto/base/fuzz.h"
#include "stretto/fabric/bootstrap/message.h"

namespace {

using namespace stretto;
using namespace stretto::fabric;

struct Result {
  std::vector<std::vector<std::byte>> messages;  // as they are written
  bool refused = false;
  friend bool operator==(const Result&, const Result&) = default;
};

Result read(ConstByteSpan stream, std::size_t cut) {
  Result result;
  FrameDecoder decoder(max_stranger_frame);
  result.refused = !fuzz::takes([&] {
    while (!stream.empty()) {
      const ConstByteSpan piece = stream.first(std::min(cut, stream.size()));
      stream = stream.subspan(piece.size());
      decoder.feed(piece);
      while (const auto message = decoder.next()) result.messages.push_back(encode(*message));
    }
  });
  return result;
}

std::vector<std::byte> as_frame(ConstByteSpan body) {
  const auto length = static_cast<std::uint32_t>(body.size());
  std::vector<std::byte> frame;
  for (unsigned i = 0; i < sizeof length; ++i) frame.push_back(static_cast<std::byte>(length >> 8U * i));
  frame.insert(frame.end(), body.begin(), body.end());
  return frame;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  fuzz::Input input(bytes, size);
  const std::size_t cut = 1 + input.number();
  std::vector<std::byte> stream;
  while (!input.empty()) {
    const std::vector<std::byte> frame = as_frame(input.bytes(input.number()));
    fuzz::takes([&] { fuzz::require(encode(decode(ConstByteSpan(frame).subspan(4))) == frame); });
    stream.insert(stream.end(), frame.begin(), frame.end());
  }
  if (cut % 2 == 0 && !stream.empty()) stream.pop_back();
  fuzz::require(read(stream, cut) == read(stream, stream.size()));
  return 0;
}
