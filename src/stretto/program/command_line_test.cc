#include "stretto/program/command_line.h"

#include <CLI/CLI.hpp>
#include <gtest/gtest.h>

#include <vector>

#include "stretto/program/test_support.h"

namespace stretto::program {
namespace {

struct Options {
  int number = 1;
};

std::variant<Options, Help> parse_options(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "some_program");
  CLI::App app("What it does", "some_program");
  Options options;
  app.add_option("--number", options.number, "a number");
  if (auto help = parse(app, static_cast<int>(arguments.size()), arguments.data())) return *help;
  refusing([&] {
    if (options.number < 0) throw Error(ErrorCode::io, "--number is below 0");
  });
  return options;
}

struct Read {
  std::optional<int> status;
  Options options;
  std::string out;
  std::string errors;
};

Read read(const std::vector<const char*>& arguments) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Read read;
  read.status = read_options("some_program", [&] { return parse_options(arguments); }, read.options);
  read.out = testing::internal::GetCapturedStdout();
  read.errors = testing::internal::GetCapturedStderr();
  return read;
}

TEST(CommandLine, OptionsAreRead) {
  const Read result = read({"--number", "7"});
  EXPECT_FALSE(result.status.has_value());
  EXPECT_EQ(result.options.number, 7);
  EXPECT_EQ(result.out + result.errors, "");
}

TEST(CommandLine, WordsStandForValues) {
  enum class Kind : unsigned char { first, second };
  CLI::App app;
  Kind kind = Kind::first;
  app.add_option("--kind", kind)
      ->transform(word_for(numbers_of<Kind>({{"first", Kind::first}, {"second", Kind::second}})));
  app.parse("--kind second");
  EXPECT_EQ(kind, Kind::second);
  try {
    app.parse("--kind third");
    ADD_FAILURE() << "there is no third kind";
  } catch (const CLI::ParseError& error) {
    EXPECT_STREQ(error.what(), "--kind: must be one of first, second, not third");
  }
}

TEST(CommandLine, HelpEndsTheProgramWell) {
  const Read result = read({"--help"});
  EXPECT_EQ(result.status, 0);
  EXPECT_NE(result.out.find("--number"), std::string::npos);
  EXPECT_EQ(result.errors, "");
}

TEST(CommandLine, NonsenseEndsTheProgramWithALine) {
  const Read result = read({"--number", "-2"});
  EXPECT_EQ(result.status, 1);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.errors, "some_program: invalid_argument: --number is below 0 (--help explains the options)\n");
}

TEST(CommandLine, RefusalsNameTheArgument) {
  test::expect_refused([] { parse_options({"--number", "x"}); }, "--number");
  test::expect_refused([] { parse_options({"--number", "-1"}); }, "--number");
  test::expect_refused([] { parse_options({"left over"}); }, "left over");
}

TEST(CommandLine, WhatIsCheckedIsReturned) {
  EXPECT_EQ(refusing([] { return 3; }), 3);
}

TEST(CommandLine, WholeDoubles) {
  const CLI::Validator validator = whole_doubles();
  for (std::string good : {"8", "64", "1048576"}) EXPECT_EQ(validator(good), "") << good;
  for (std::string bad : {"0", "4", "12", "-8", "8x", "", "all"}) EXPECT_NE(validator(bad), "") << bad;
}

TEST(CommandLine, MeasuredSeconds) {
  const CLI::Validator validator = measured_seconds();
  for (std::string good : {"1", "0.05", "1e-9", "3600"}) EXPECT_EQ(validator(good), "") << good;
  for (std::string bad : {"0", "-1", "3601", "nan", "inf", "1s", ""}) EXPECT_NE(validator(bad), "") << bad;
}

TEST(CommandLine, SecondsWithin) {
  const CLI::Validator validator = seconds_within(0.5, 60);
  for (std::string good : {"0.5", "1", "60"}) EXPECT_EQ(validator(good), "") << good;
  for (std::string bad : {"0.4", "-1", "61", "nan", "-nan", "inf", "1s", ""}) EXPECT_NE(validator(bad), "") << bad;
  std::string none = "nan";
  EXPECT_EQ(validator(none), "must be from 0.5 to 60 seconds, not nan");
}

}  // namespace
}  // namespace stretto::program
