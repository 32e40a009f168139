// However a stream of any bytes is cut, the same frames come out, or the same Error(bad_input).

#include <cstdint>
#include <cstdlib>
#include <vector>

#include "stretto/base/error.h"
#include "stretto/fabric/cluster/tcp/frame_stream.h"

namespace {

using namespace stretto;
using namespace stretto::fabric::cluster::network;

struct Result {
  std::vector<std::size_t> sizes;
  bool refused = false;
  friend bool operator==(const Result&, const Result&) = default;
};

Result read(ConstByteSpan stream, std::size_t cut) {
  Result result;
  FrameReader reader;
  try {
    for (std::size_t at = 0; at < stream.size(); at += cut) {
      reader.read(stream.subspan(at, std::min(cut, stream.size() - at)), [&](ConstByteSpan header, ConstByteSpan data) {
        result.sizes.push_back(header.size());
        result.sizes.push_back(data.size());
      });
    }
  } catch (const Error& error) {
    if (error.code() != ErrorCode::bad_input) std::abort();
    result.refused = true;
  }
  return result;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0) return 0;
  const ConstByteSpan stream = std::as_bytes(std::span(bytes + 1, size - 1));
  if (read(stream, 1 + bytes[0]) != read(stream, stream.size() + 1)) std::abort();
  return 0;
}
