#include "stretto/core/archive.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "stretto/base/random.h"
#include "stretto/core/test_support.h"

namespace stretto {
namespace {

struct Point {
  double x;
  std::int32_t label;
  friend bool operator==(const Point&, const Point&) = default;
};

using Everything = std::tuple<int, bool, Point, std::string, std::vector<double>, std::vector<std::string>,
                              std::pair<std::string, std::uint8_t>, std::vector<std::pair<int, std::vector<char>>>>;

Everything sample() {
  return {7, true, {1.5, -3}, "text", {1, 2, 3}, {"a", "", "ccc"}, {"pair", std::uint8_t{9}}, {{1, {'x'}}, {2, {}}}};
}

std::vector<std::byte> written(const Everything& value) {
  ArchiveWriter writer;
  writer.write(value);
  return {writer.bytes().begin(), writer.bytes().end()};
}

TEST(Archive, WhatIsWrittenIsRead) {
  const std::vector<std::byte> bytes = written(sample());
  ArchiveReader reader(bytes);
  EXPECT_EQ(reader.read<Everything>(), sample());
  reader.finish();
}

TEST(Archive, EmptyThingsTravelToo) {
  ArchiveWriter writer;
  writer.write(std::string());
  writer.write(std::vector<int>());
  writer.write(std::tuple<>());
  ArchiveReader reader(writer.bytes());
  EXPECT_EQ(reader.read<std::string>(), "");
  EXPECT_TRUE(reader.read<std::vector<int>>().empty());
  reader.read<std::tuple<>>();
  reader.finish();
}

TEST(Archive, TruncatedBytesAreBadInputAtEveryLength) {
  const std::vector<std::byte> bytes = written(sample());
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_EQ(test::code_of([&] {
                ArchiveReader reader(ConstByteSpan(bytes).first(length));
                reader.read<Everything>();
                reader.finish();
              }),
              "bad_input")
        << length;
  }
}

TEST(Archive, BytesLeftOverAreBadInput) {
  std::vector<std::byte> bytes = written(sample());
  bytes.push_back(std::byte{0});
  ArchiveReader reader(bytes);
  reader.read<Everything>();
  EXPECT_EQ(test::code_of([&] { reader.finish(); }), "bad_input");
}

TEST(Archive, HugeLengthsAreRefusedBeforeMemoryIsTaken) {
  ArchiveWriter writer;
  writer.write(~std::uint64_t{0});
  EXPECT_EQ(test::code_of([&] { ArchiveReader(writer.bytes()).read<std::string>(); }), "bad_input");
  EXPECT_EQ(test::code_of([&] { ArchiveReader(writer.bytes()).read<std::vector<double>>(); }), "bad_input");
  EXPECT_EQ(test::code_of([&] { ArchiveReader(writer.bytes()).read<std::vector<std::string>>(); }), "bad_input");
}

TEST(Archive, ABoolIsZeroOrOne) {
  const std::vector<std::byte> bytes{std::byte{2}};
  EXPECT_EQ(test::code_of([&] { ArchiveReader(bytes).read<bool>(); }), "bad_input");
}

TEST(Archive, MutatedBytesGiveAValueOrBadInputSeeds) {
  const std::vector<std::byte> original = written(sample());
  int refused = 0;
  for (const std::uint64_t seed : test::seeds(20000)) {
    Random random(seed);
    std::vector<std::byte> bytes = original;
    for (std::uint64_t i = 0; i <= random.below(4); ++i) {
      bytes[random.below(bytes.size())] = static_cast<std::byte>(random.below(256));
    }
    if (random.below(4) == 0) bytes.resize(random.below(bytes.size() + 20));
    const std::string code = test::code_of([&] {
      ArchiveReader reader(bytes);
      reader.read<Everything>();
      reader.finish();
    });
    EXPECT_TRUE(code == "none" || code == "bad_input") << code << ", seed " << seed;
    refused += code == "bad_input" ? 1 : 0;
  }
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace stretto
