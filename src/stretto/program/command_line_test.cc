#include "stretto/program/command_line.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "stretto/program/test_support.h"

namespace stretto::program {
namespace {

struct Options {
  int number = 1;
};

using Parsed = std::variant<Options, Help>;

struct Read {
  std::optional<int> status;
  Options options;
  std::string out;
  std::string errors;
};

template <class Parse>
Read read(const Parse& parse) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Read read;
  read.status = read_options("some_program", parse, read.options);
  read.out = testing::internal::GetCapturedStdout();
  read.errors = testing::internal::GetCapturedStderr();
  return read;
}

TEST(CommandLine, OptionsAreRead) {
  const Read result = read([]() -> Parsed { return Options{7}; });
  EXPECT_FALSE(result.status.has_value());
  EXPECT_EQ(result.options.number, 7);
  EXPECT_EQ(result.out + result.errors, "");
}

TEST(CommandLine, HelpEndsTheProgramWell) {
  const Read result = read([]() -> Parsed { return Help{"--number\n"}; });
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.out, "--number\n");
  EXPECT_EQ(result.errors, "");
}

TEST(CommandLine, RefusalsEndTheProgramWithALine) {
  const Read result = read([]() -> Parsed { refuse("--number is below 0"); });
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.errors, "some_program: --number is below 0 (--help explains the options)\n");
}

TEST(CommandLine, OtherErrorsHaveAStatusOfTheirOwn) {
  EXPECT_EQ(status_of(Refusal("a reason")), 2);
  EXPECT_EQ(status_of(Error(ErrorCode::invalid_argument, "a reason")), 1);
  EXPECT_EQ(status_of(std::runtime_error("a reason")), 1);
}

TEST(CommandLine, WhatIsCheckedIsReturned) {
  EXPECT_EQ(refusing([] { return 3; }), 3);
}

TEST(CommandLine, WhatACheckThrowsIsARefusal) {
  const auto refusal_of = [](const auto& check) {
    const auto error = stretto::test::error_of([&] { refusing(check); });
    return error ? error->message() : "accepted";
  };
  const std::string expected = "too large (--help explains the options)";
  EXPECT_EQ(refusal_of([] { throw Error(ErrorCode::io, "too large"); }), expected);
  EXPECT_EQ(refusal_of([] { refuse("too large"); }), expected) << "explained once";
}

}  // namespace
}  // namespace stretto::program
