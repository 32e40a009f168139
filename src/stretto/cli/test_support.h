#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/cli/command_line.h"
#include "stretto/program/command_line.h"

// What the tests of commands share.

namespace stretto::cli::test {

struct Outcome {
  int status;
  std::string out;
  std::string err;
};

/// As `stretto ARGUMENTS...`.
inline Outcome run(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "stretto");
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int status = run_command_line(static_cast<int>(arguments.size()), arguments.data());
  return {
      .status = status, .out = testing::internal::GetCapturedStdout(), .err = testing::internal::GetCapturedStderr()};
}

/// The arguments are words between spaces.
inline Outcome run_line(const std::string& arguments) {
  std::istringstream stream(arguments);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  std::vector<const char*> texts;
  for (const std::string& word : words) texts.push_back(word.c_str());
  return run(texts);
}

/// What the command prints, which ends well.
inline std::string output_of(const std::string& arguments) {
  const Outcome outcome = run_line(arguments);
  EXPECT_EQ(outcome.status, 0) << arguments << ": " << outcome.err;
  return outcome.out;
}

/// The command fails with one line that has `part` in it.
inline void expect_error(const std::string& arguments, std::string_view part, int status = program::exit_failed) {
  const Outcome outcome = run_line(arguments);
  EXPECT_EQ(outcome.status, status) << arguments;
  EXPECT_TRUE(outcome.err.starts_with("stretto: ")) << outcome.err;
  EXPECT_EQ(outcome.err.find("internal error"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1) << "one line: " << outcome.err;
}

/// The command is refused with one line that has `part` in it.
inline void expect_refused(const std::string& arguments, std::string_view part) {
  expect_error(arguments, part, program::exit_refused);
}

/// Of a file that no other run of the tests writes.
inline std::string path_of_own(const std::string& name) {
  return testing::TempDir() + "stretto_" + std::to_string(getpid()) + "_" + name;
}

/// Sets a variable of the environment while it lives.
class Setting {
 public:
  Setting(const char* name, const std::string& value) : name_(name) { EXPECT_EQ(setenv(name, value.c_str(), 1), 0); }
  ~Setting() { EXPECT_EQ(unsetenv(name_), 0); }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

 private:
  const char* name_;
};

}  // namespace stretto::cli::test
