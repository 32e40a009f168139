#include "stretto/fabric/sim/slice_clock.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "stretto/base/error.h"

namespace stretto::fabric {
namespace {

std::int64_t fake_now = 0;
std::int64_t fake_nanoseconds() noexcept { return fake_now; }

// A folder of its own, gone at the end.
struct Folder {
  Folder() : path(testing::TempDir() + "stretto_slice_clock_" + std::to_string(getpid())) {
    std::filesystem::create_directory(path);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string operator/(const std::string& name) const { return path + "/" + name; }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path), {}));
  }
  std::string path;
};

SimOptions options_of(const std::string& record, const std::string& replay) {
  SimOptions options;
  options.nodes = 2;
  options.record = record;
  options.replay = replay;
  return options;
}

std::string refusal(const SimOptions& options, ErrorCode code) {
  try {
    make_slice_clock(options);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.message();
  }
  return "accepted";
}

VirtualTime slice(SliceClock& clock, NodeId node, std::int64_t nanoseconds) {
  clock.start();
  fake_now += nanoseconds;
  return clock.stop(node);
}

TEST(SliceClock, NoneUnlessItIsAskedFor) { EXPECT_EQ(make_slice_clock(options_of("", "")), nullptr); }

TEST(SliceClock, WhatWasRecordedIsReplayedNodeByNode) {
  const Folder folder;
  const std::string file = folder / "run";
  {
    const auto recording = make_slice_clock(options_of(file, ""), &fake_nanoseconds);
    EXPECT_EQ(slice(*recording, 0, 5), 5000);
    fake_now += 100;  // between slices nothing is counted
    EXPECT_EQ(slice(*recording, 1, 7), 7000);
    EXPECT_EQ(slice(*recording, 0, 0), 0);
    EXPECT_FALSE(std::filesystem::exists(file));
    recording->save();
  }
  EXPECT_EQ(folder.files(), 1U);
  for (int twice = 0; twice < 2; ++twice) {
    const auto replay = make_slice_clock(options_of("", file), &fake_nanoseconds);
    EXPECT_EQ(slice(*replay, 1, 1234), 7000);
    EXPECT_EQ(slice(*replay, 0, 1234), 5000);
    EXPECT_EQ(slice(*replay, 0, 1234), 0);
    replay->save();
  }
}

TEST(SliceClock, AReplayThatHasNoMoreSaysSo) {
  const Folder folder;
  {
    const auto recording = make_slice_clock(options_of(folder / "run", ""), &fake_nanoseconds);
    slice(*recording, 1, 7);
    recording->save();
  }
  const auto replay = make_slice_clock(options_of("", folder / "run"));
  replay->stop(1);
  try {
    replay->stop(1);
    FAIL() << "a slice out of nothing";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_input);
    EXPECT_NE(error.message().find("/run holds 1 slices of the tasks of node 1, but the program runs more there"),
              std::string::npos)
        << error.message();
  }
}

TEST(SliceClock, ARecordingThatIsNotSavedLeavesNothing) {
  const Folder folder;
  std::ofstream(folder / "run") << "older";
  {
    const auto recording = make_slice_clock(options_of(folder / "run", ""));
    EXPECT_EQ(folder.files(), 2U);
  }
  EXPECT_EQ(folder.files(), 1U);
  std::string text;
  std::getline(std::ifstream(folder / "run"), text);
  EXPECT_EQ(text, "older");
}

TEST(SliceClock, FilesThatCannotBeUsedAreRefusedAtTheStart) {
  const Folder folder;
  EXPECT_NE(refusal(options_of(folder / "none/run", ""), ErrorCode::io).find("No such file or directory"),
            std::string::npos);
  EXPECT_NE(refusal(options_of(folder.path, ""), ErrorCode::io).find("is not a regular file"), std::string::npos);
  EXPECT_NE(refusal(options_of("", folder / "run"), ErrorCode::io).find("No such file or directory"),
            std::string::npos);
  EXPECT_NE(refusal(options_of("", folder.path), ErrorCode::io).find("Is a directory"), std::string::npos);
  std::ofstream(folder / "foreign") << "hello\n";
  EXPECT_NE(refusal(options_of("", folder / "foreign"), ErrorCode::bad_input)
                .find("/foreign, line 1: this is not a recording of task durations"),
            std::string::npos);
}

TEST(SliceClock, ASaveThatFailsSaysSo) {
  const Folder folder;
  const auto recording = make_slice_clock(options_of(folder / "run", ""));
  std::filesystem::create_directory(folder / "run");
  EXPECT_THROW(recording->save(), Error);
}

}  // namespace
}  // namespace stretto::fabric
