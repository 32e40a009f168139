#include "statistics/options.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "stretto/program/test_support.h"

namespace statistics {
namespace {

std::variant<Options, Help> parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "statistics");
  return parse_options(static_cast<int>(arguments.size()), arguments.data());
}

TEST(Options, Defaults) {
  const auto options = std::get<Options>(parse({"data.csv"}));
  EXPECT_EQ(options.source.file, "data.csv");
  EXPECT_EQ(options.source.columns, "");
  EXPECT_EQ(options.source.header, Header::automatic);
  EXPECT_EQ(options.bins, 10U);
  EXPECT_EQ(options.threshold, 3);
  EXPECT_EQ(options.methods, (std::vector<Method>{Method::native}));
  EXPECT_EQ(options.repeat, 10U);
  EXPECT_FALSE(options.json);
}

TEST(Options, EveryOptionIsRead) {
  const auto options =
      std::get<Options>(parse({"--columns", "a,\"b c\"", "--header=no", "--bins", "50", "--threshold", "2.5", "d.csv",
                               "--method", "aggregate", "--repeat", "7", "--deviations", "z.csv", "--json"}));
  EXPECT_EQ(options.source.file, "d.csv");
  EXPECT_EQ(options.source.columns, "a,\"b c\"");
  EXPECT_EQ(options.source.header, Header::no);
  EXPECT_EQ(options.bins, 50U);
  EXPECT_EQ(options.threshold, 2.5);
  EXPECT_EQ(options.methods, (std::vector<Method>{Method::aggregate}));
  EXPECT_EQ(options.repeat, 7U);
  EXPECT_EQ(options.deviations, "z.csv");
  EXPECT_TRUE(options.json);
}

TEST(Options, BothMethods) {
  EXPECT_EQ(std::get<Options>(parse({"d.csv", "--method", "both"})).methods,
            (std::vector<Method>{Method::native, Method::aggregate}));
}

TEST(Options, HelpTeaches) {
  const auto help = std::get<Help>(parse({"--help"})).text;
  for (const char* const word : {"learn", "derive", "assess", "native", "aggregate", "--columns", "--bins", "missing",
                                 "STRETTO_FABRIC", "Exit"}) {
    EXPECT_NE(help.find(word), std::string::npos) << word;
  }
}

using Bad = stretto::program::test::BadCommandLine;

class BadOptions : public testing::TestWithParam<Bad> {};

TEST_P(BadOptions, AreRefusedInOneLineThatNamesThem) {
  stretto::program::test::expect_refused([] { parse(GetParam().arguments); }, GetParam().named);
}

INSTANTIATE_TEST_SUITE_P(
    All, BadOptions,
    testing::Values(Bad{{}, "name a CSV file"}, Bad{{"a.csv", "b.csv"}, "b.csv"},
                    Bad{{"a.csv", "--method", "fast"}, "fast"}, Bad{{"a.csv", "--header", "perhaps"}, "perhaps"},
                    Bad{{"a.csv", "--bins", "0"}, "--bins"}, Bad{{"a.csv", "--bins", "65537"}, "--bins"},
                    Bad{{"a.csv", "--bins", "1.5"}, "--bins"}, Bad{{"a.csv", "--threshold", "-1"}, "--threshold"},
                    Bad{{"a.csv", "--threshold", "nan"}, "--threshold"}, Bad{{"a.csv", "--repeat", "0"}, "--repeat"},
                    Bad{{"a.csv", "--columns"}, "--columns"}, Bad{{"a.csv", "--bin", "3"}, "--bin"}));

}  // namespace
}  // namespace statistics
