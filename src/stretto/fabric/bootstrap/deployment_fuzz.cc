// Any bytes are a deployment that is written and read again as it is, or an Error(bad_input).

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/base/fuzz.h"
#include "stretto/fabric/bootstrap/deployment.h"

namespace {

using namespace stretto;
using namespace stretto::fabric;

constexpr std::size_t length_bytes = 4;

ConstByteSpan without_length(const std::vector<std::byte>& frame) { return ConstByteSpan(frame).subspan(length_bytes); }

std::string a_good_one() {
  const std::array<std::byte, JobSecret::size> secret{};
  const Deployment deployment{JobSecret(secret),       "[::1]:4000",     1, 4, 2, 2, true, "/folder",
                              {{"A", "1"}, {"B", ""}}, {"program", "-x"}};
  const std::vector<std::byte> frame = encode(deployment);
  return fuzz::text_of(without_length(frame));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const std::string good = a_good_one();
  const std::string changed = fuzz::Input(bytes, size).edited(good);
  fuzz::takes([&] {
    const Deployment deployment = decode_deployment(std::as_bytes(std::span(changed)));
    fuzz::require(deployment.size <= max_nodes && deployment.ranks > 0 && !deployment.command.empty());
    fuzz::require(std::uint64_t{deployment.first} + deployment.ranks <= deployment.size);
    const std::vector<std::byte> again = encode(deployment);
    fuzz::require(encode(decode_deployment(without_length(again))) == again);
  });
  return 0;
}
