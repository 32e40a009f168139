// Any text is a recording that is written and read again as it is, or an Error(bad_input).

#include <cstdint>

#include "stretto/base/fuzz.h"
#include "stretto/fabric/sim/slice_durations.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace stretto;
  using namespace stretto::fabric;
  static constexpr std::uint32_t nodes = 2;
  static const std::string good = to_text({{1250, 800}, {most_slice_nanoseconds - 3000}});
  fuzz::Input input(bytes, size);
  const std::string text = input.edited(good);
  fuzz::takes([&] {
    const SliceDurations durations = parse_slice_durations(text, nodes, "fuzz");
    fuzz::require(durations.size() == nodes);
    std::int64_t sum = 0;
    for (const auto& of_node : durations) {
      for (const std::int64_t nanoseconds : of_node) {
        fuzz::require(0 <= nanoseconds && nanoseconds <= most_slice_nanoseconds - sum);
        sum += nanoseconds;
      }
    }
    fuzz::require(parse_slice_durations(to_text(durations), nodes, "fuzz") == durations);
  });
  return 0;
}
