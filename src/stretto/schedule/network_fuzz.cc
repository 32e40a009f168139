// Any text is a network whose times are finite, or an Error(bad_input).

#include <array>
#include <cmath>
#include <cstdint>

#include "stretto/base/fuzz.h"
#include "stretto/schedule/network.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace stretto;
  using namespace stretto::schedule;
  static constexpr std::array good = {"1.5us,0.5us,0.5us,5GB/s", "1us, 200ns, 0, 0.2ns, 10GB/s", "titan"};
  fuzz::Input input(bytes, size);
  const std::string text = input.edited(good.at(input.below(good.size())));
  fuzz::takes([&] {
    const Network network = parse_network(text);
    for (const double seconds :
         {network.latency, network.overhead, network.gap, network.byte_time, network.reduction_time}) {
      fuzz::require(std::isfinite(seconds) && seconds >= 0);
    }
    fuzz::require(!describe(network).empty());
  });
  return 0;
}
