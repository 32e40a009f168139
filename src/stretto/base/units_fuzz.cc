// Any text is a quantity within its range, or an Error(bad_input).

#include <cmath>
#include <cstdint>
#include <limits>

#include "stretto/base/fuzz.h"
#include "stretto/base/units.h"

namespace {

using namespace stretto;

// Four digits of it.
void require_alike(double written, double value) {
  fuzz::require(std::abs(written - value) <= 0.001 * value + std::numeric_limits<double>::denorm_min());
}

// Rounded up, more could be too much to be read again.
constexpr double most_to_write = 1e300;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  fuzz::Input input(bytes, size);
  const auto least = std::uint64_t{input.number()};
  const std::uint64_t most = least + input.number();
  const std::string_view text = input.text();
  fuzz::takes([&] {
    const double seconds = parse_duration(text);
    fuzz::require(std::isfinite(seconds) && seconds >= 0);
    if (seconds <= most_to_write) require_alike(parse_duration(format_duration(seconds)), seconds);
  });
  fuzz::takes([&] {
    const double bandwidth = parse_bandwidth(text);
    fuzz::require(std::isfinite(bandwidth) && bandwidth > 0 && std::isfinite(1 / bandwidth));
    if (bandwidth <= most_to_write) require_alike(parse_bandwidth(format_bandwidth(bandwidth)), bandwidth);
  });
  fuzz::takes([&] {
    const std::uint64_t value = parse_bytes(text);
    fuzz::require(value < std::uint64_t{1} << 53U && parse_bytes(std::to_string(value)) == value);
  });
  fuzz::takes([&] {
    const std::uint64_t count = parse_count(text, "count", least, most);
    fuzz::require(least <= count && count <= most && parse_count(std::to_string(count)) == count);
  });
  fuzz::takes([&] {
    const double number = parse_number(text, "number", static_cast<double>(least), static_cast<double>(most));
    fuzz::require(static_cast<double>(least) <= number && number <= static_cast<double>(most));
  });
  return 0;
}
