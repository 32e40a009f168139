#include "stencil_1d/options.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "stretto/program/test_support.h"

namespace stencil_1d {
namespace {

std::variant<Options, Help> parse(std::vector<const char*> arguments, Program program = Program::stretto) {
  arguments.insert(arguments.begin(), "stencil_1d");
  return parse_options(static_cast<int>(arguments.size()), arguments.data(), program);
}

TEST(Options, DefaultsAreThePapers) {
  const auto options = std::get<Options>(parse({}));
  EXPECT_EQ(options.method, Method::native);
  EXPECT_EQ(options.points, 1000U);
  EXPECT_EQ(options.iterations, 20U);
  EXPECT_EQ(options.skip, 5U);
  EXPECT_DOUBLE_EQ(options.point_seconds, 10e-9);
  EXPECT_TRUE(options.verify);
  EXPECT_FALSE(options.json);
}

TEST(Options, EveryOptionIsRead) {
  const auto options = std::get<Options>(parse({"--method", "aggregate", "--points=64", "--iterations", "7", "--skip",
                                                "0", "--point-cost", "2.5ns", "--no-verify", "--json"}));
  EXPECT_EQ(options.method, Method::aggregate);
  EXPECT_EQ(options.points, 64U);
  EXPECT_EQ(options.iterations, 7U);
  EXPECT_EQ(options.skip, 0U);
  EXPECT_DOUBLE_EQ(options.point_seconds, 2.5e-9);
  EXPECT_FALSE(options.verify);
  EXPECT_TRUE(options.json);
}

TEST(Options, HelpNamesTheMethods) {
  const auto help = std::get<Help>(parse({"--help"})).text;
  for (const char* const word : {"native", "tasks", "aggregate", "--points", "--skip", "STRETTO_FABRIC"}) {
    EXPECT_NE(help.find(word), std::string::npos) << word;
  }
}

TEST(Options, TheRivalHasNoMethods) {
  EXPECT_EQ(std::get<Options>(parse({"--points", "10"}, Program::mpi)).points, 10U);
  EXPECT_THROW(parse({"--method", "native"}, Program::mpi), stretto::Error);
}

using Bad = stretto::program::test::BadCommandLine;

class BadOptions : public testing::TestWithParam<Bad> {};

TEST_P(BadOptions, AreRefusedInOneLineThatNamesThem) {
  stretto::program::test::expect_refused([] { parse(GetParam().arguments); }, GetParam().named);
}

INSTANTIATE_TEST_SUITE_P(All, BadOptions,
                         testing::Values(Bad{{"--method", "fast"}, "fast"}, Bad{{"--method"}, "--method"},
                                         Bad{{"--points", "1"}, "--points"}, Bad{{"--points", "-4"}, "--points"},
                                         Bad{{"--points", "12x"}, "--points"}, Bad{{"--points", "1e30"}, "--points"},
                                         Bad{{"--points", "99999999999999999999"}, "--points"},
                                         Bad{{"--iterations", "0"}, "--iterations"},
                                         Bad{{"--iterations", "3"}, "--skip 5 of --iterations 3"},
                                         Bad{{"--skip", "20"}, "--skip 20"}, Bad{{"--skip", "-1"}, "--skip"},
                                         Bad{{"--point-cost", "10"}, "--point-cost"},
                                         Bad{{"--point-cost", "-1ns"}, "--point-cost"},
                                         Bad{{"--speed", "9"}, "--speed"}, Bad{{"left over"}, "left over"}));

}  // namespace
}  // namespace stencil_1d
