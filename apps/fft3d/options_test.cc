#include "fft3d/options.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "stretto/program/test_support.h"

namespace fft3d {
namespace {

std::variant<Options, Help> parse(std::vector<const char*> arguments, Program program = Program::stretto) {
  arguments.insert(arguments.begin(), "fft3d");
  return parse_options(static_cast<int>(arguments.size()), arguments.data(), program);
}

TEST(Options, Defaults) {
  const auto options = std::get<Options>(parse({}));
  EXPECT_EQ(options.n, (std::array<std::size_t, 3>{64, 64, 64}));
  EXPECT_EQ(options.overlaps, (std::vector<Overlap>{Overlap::on, Overlap::off}));
  EXPECT_EQ(options.planes_per_message, 1U);
  EXPECT_EQ(options.repeat, 10U);
  EXPECT_FALSE(options.check);
  EXPECT_FALSE(options.json);
}

TEST(Options, EveryOptionIsRead) {
  const auto options = std::get<Options>(parse({"--n", "8", "9", "10", "--overlap", "off", "--planes-per-message", "4",
                                                "--repeat", "3", "--point-cost", "2ns", "--check", "--json"}));
  EXPECT_EQ(options.n, (std::array<std::size_t, 3>{8, 9, 10}));
  EXPECT_EQ(options.overlaps, (std::vector<Overlap>{Overlap::off}));
  EXPECT_EQ(options.planes_per_message, 4U);
  EXPECT_EQ(options.repeat, 3U);
  EXPECT_DOUBLE_EQ(options.point_seconds, 2e-9);
  EXPECT_TRUE(options.check);
  EXPECT_TRUE(options.json);
}

TEST(Options, HelpTeaches) {
  const auto help = std::get<Help>(parse({"--help"})).text;
  for (const char* const word : {"--n", "--overlap", "--planes-per-message", "all-to-all", "STRETTO_FABRIC", "Exit"}) {
    EXPECT_NE(help.find(word), std::string::npos) << word;
  }
}

TEST(Options, TheRivalDoesNotSimulate) {
  EXPECT_EQ(std::get<Options>(parse({"--repeat", "4"}, Program::mpi)).repeat, 4U);
  EXPECT_THROW(parse({"--point-cost", "1ns"}, Program::mpi), stretto::Error);
}

using Bad = stretto::program::test::BadCommandLine;

class BadOptions : public testing::TestWithParam<Bad> {};

TEST_P(BadOptions, AreRefusedInOneLineThatNamesThem) {
  stretto::program::test::expect_refused([] { parse(GetParam().arguments); }, GetParam().named);
}

INSTANTIATE_TEST_SUITE_P(All, BadOptions,
                         testing::Values(Bad{{"--n", "8", "8"}, "--n"}, Bad{{"--n", "8", "0", "8"}, "--n"},
                                         Bad{{"--n", "8", "x", "8"}, "--n"},
                                         Bad{{"--n", "65536", "65536", "2"}, "2^31 points"},
                                         Bad{{"--overlap", "perhaps"}, "perhaps"},
                                         Bad{{"--planes-per-message", "0"}, "--planes-per-message"},
                                         Bad{{"--repeat", "0"}, "--repeat"}, Bad{{"--point-cost", "3"}, "--point-cost"},
                                         Bad{{"--planes", "3"}, "--planes"}, Bad{{"left over"}, "left over"}));

}  // namespace
}  // namespace fft3d
