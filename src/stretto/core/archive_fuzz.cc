// Any bytes are the arguments of a remote task, which are written as they were read, or an Error(bad_input).

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "stretto/base/fuzz.h"
#include "stretto/core/archive.h"

namespace {

using namespace stretto;

enum class Colour : std::uint8_t { red, green };
// Without padding, which need not come back.
struct Point {
  std::int64_t x;
  double y;
};

using All = std::tuple<std::string, std::vector<std::uint16_t>, std::pair<bool, Colour>, std::vector<std::string>,
                       std::vector<std::pair<std::uint8_t, std::vector<Point>>>, Point>;

template <class T>
void read_as(ConstByteSpan bytes) {
  fuzz::takes([&] {
    ArchiveReader reader(bytes);
    const auto value = reader.read<T>();
    reader.finish();
    ArchiveWriter writer;
    writer.write(value);
    fuzz::require(fuzz::are_the_same(writer.bytes(), bytes));
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  fuzz::Input input(bytes, size);
  if (input.below(2) == 0) {
    read_as<All>(input.rest());
    read_as<std::vector<std::vector<std::string>>>(input.rest());
    return 0;
  }
  static const std::string good = [] {
    ArchiveWriter writer;
    writer.write(All{"text", {1, 2, 3}, {true, Colour::green}, {"a", "", "bc"}, {{7, {{1, 2}, {3, 4}}}}, {5, 6}});
    return fuzz::text_of(writer.bytes());
  }();
  const std::string changed = input.edited(good);
  read_as<All>(std::as_bytes(std::span(changed)));
  return 0;
}
