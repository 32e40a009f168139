#include "stretto/fabric/sim/slice_durations.h"

#include <gtest/gtest.h>

#include "stretto/base/error.h"
#include "stretto/base/random.h"

namespace stretto::fabric {
namespace {

const std::string good = "stretto-slice-durations 1\nnodes 2\nnode 0 slices 2\n1250\n0\nnode 1 slices 0\nend\n";

std::string refusal(const std::string& text, std::uint32_t nodes = 2) {
  try {
    parse_slice_durations(text, nodes, "FILE");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_input) << text;
    EXPECT_EQ(error.message().find("FILE, line "), 0U) << error.message();
    EXPECT_NE(error.message().find("record=FILE"), std::string::npos) << error.message();
    return error.message();
  }
  return "accepted";
}

void expect_refusal(const std::string& text, const std::string& part, std::uint32_t nodes = 2) {
  EXPECT_NE(refusal(text, nodes).find(part), std::string::npos) << text << "\n" << refusal(text, nodes);
}

std::string with_node_0(const std::string& lines) {
  return "stretto-slice-durations 1\nnodes 1\nnode 0 slices " + lines + "end\n";
}

TEST(SliceDurations, AreReadAsTheyWereWritten) {
  const SliceDurations durations{{1250, 0}, {}};
  EXPECT_EQ(to_text(durations), good);
  EXPECT_EQ(parse_slice_durations(good, 2, "FILE"), durations);
  const SliceDurations long_ones{{most_slice_nanoseconds - 1}, {}, {1}};
  EXPECT_EQ(parse_slice_durations(to_text(long_ones), 3, "FILE"), long_ones);
}

TEST(SliceDurations, EveryTruncationIsSeen) {
  for (std::size_t length = 0; length < good.size(); ++length) {
    EXPECT_NE(refusal(good.substr(0, length)), "accepted") << length;
  }
  expect_refusal(good.substr(0, good.size() - 1), "line 7: the file ends before its line \"end\": it is truncated");
}

TEST(SliceDurations, WhatIsWrongIsNamed) {
  expect_refusal("", "not a recording of task durations");
  expect_refusal("%%MatrixMarket matrix\n", "line 1: this is not a recording of task durations");
  expect_refusal("stretto-slice-durations 2\n", "version is \" 2\", but this program reads 1");
  expect_refusal(good, "recorded on 2 nodes, but this job has 3 (a job of sim:2 may replay it); make the file again",
                 3);
  expect_refusal("stretto-slice-durations 1\nnodes two\n", "\"nodes two\" is not \"nodes\" and their number");
  expect_refusal(with_node_0("1\n12x\n"), "line 4: \"12x\" is not a duration in whole nanoseconds", 1);
  for (const char* const number : {"-1", "+1", "1.5", " 1", "", "1\r", "99999999999999999999"}) {
    EXPECT_NE(refusal(with_node_0("1\n" + std::string(number) + "\n"), 1), "accepted") << number;
  }
  expect_refusal(with_node_0("2\n1\n"), "\"end\" is not a duration", 1);
  expect_refusal(with_node_0("0\n1\n"), "this should be the line \"end\"", 1);
  expect_refusal(with_node_0("18446744073709551615\n1\n"), "\"end\" is not a duration", 1);
  expect_refusal(with_node_0("2\n1\n1000000000000000\n"), "line 5: with this duration", 1);
  expect_refusal(good + "\n", "line 8: nothing may follow");
}

TEST(SliceDurations, MutationsAreReadOrRefused) {
  Random random(3);
  int refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text = good;
    const std::size_t at = random.below(text.size());
    switch (random.below(3)) {
      case 0: text.erase(at, 1 + random.below(4)); break;
      case 1: text[at] = static_cast<char>(random.below(256)); break;
      default: text.insert(at, text.substr(random.below(text.size()), random.below(8)));
    }
    if (refusal(text) != "accepted") ++refused;
  }
  EXPECT_GT(refused, 10'000);
  EXPECT_LT(refused, 20'000);
}

}  // namespace
}  // namespace stretto::fabric
