// Any words are a command line whose values are within their ranges, or refused in words.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stretto/base/fuzz.h"
#include "stretto/program/arguments.h"

namespace {

using namespace stretto;
using fuzz::require;

struct Values {
  int number = 1;
  std::uint32_t count = 2;
  double seconds = 3;
  std::optional<std::int64_t> whole;
  std::string text;
  std::vector<std::size_t> sizes;
  std::vector<std::string> names;
  std::vector<std::int64_t> sides;
  char letter = 'a';
  bool raised = false;

  void add_to(program::Arguments& arguments) {
    arguments.option("-n,--number", number, "a number").between(-2, 7);
    arguments.option("--count", count, "how many").between(1U, 65536U);
    arguments.option("--seconds", seconds, "how long").seconds_within(0, 9);
    arguments.option("--whole", whole, "a whole number, or none");
    arguments.option("text", text, "told by its place");
    arguments.option("--sizes", sizes, "bytes").comma_separated().whole_doubles();
    arguments.option("--names", names, "names").comma_separated().one_of({"a", "b"});
    arguments.option("--sides", sides, "of a grid").values(3);
    arguments.choice("--letter", letter, {{"first", 'a'}, {"last", 'z'}}, "a letter");
    arguments.flag("-r,--raised", raised, "a flag");
  }

  void require_in_range() const {
    require(-2 <= number && number <= 7 && 1 <= count && count <= 65536 && 0 <= seconds && seconds <= 9);
    require(letter == 'a' || letter == 'z');
    require(sides.empty() || sides.size() == 3);
    for (const std::size_t size : sizes) require(size != 0 && size % sizeof(double) == 0);
    for (const std::string& name : names) require(name == "a" || name == "b");
  }
};

std::vector<std::string> words_of(fuzz::Input& input) {
  static constexpr std::array good = {
      "-n",          "--number=5", "--count=1", "--seconds=0.5",  "--whole=-9", "word", "--sizes=8,64K",
      "--names=a,b", "--sides",    "1",         "--letter=first", "-r",         "--",   "--help"};
  std::vector<std::string> words = {"program"};
  while (!input.empty()) {
    const std::string word = good.at(input.below(good.size()));
    const ConstByteSpan changes = input.bytes(input.below(2) == 1 ? input.below(8) : 0);
    words.push_back(fuzz::Input(changes).edited(word));
  }
  return words;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  fuzz::Input input(bytes, size);
  const std::vector<std::string> words = words_of(input);
  std::vector<const char*> pointers;
  for (const std::string& word : words) pointers.push_back(word.c_str());
  program::Arguments arguments("program", "What it does");
  Values values;
  values.add_to(arguments);
  try {
    const std::optional<program::Help> help = arguments.parse(static_cast<int>(pointers.size()), pointers.data());
    help ? require(!help->text.empty()) : values.require_in_range();
  } catch (const program::Refusal& refusal) {
    require(!refusal.message().empty());
  }
  return 0;
}
