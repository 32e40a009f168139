#include "fft3d/experiment.h"

#include <gtest/gtest.h>

#include "fft3d/test_support.h"
#include "stretto/base/error.h"

namespace fft3d {
namespace {

Options small(std::array<std::size_t, 3> n, std::size_t planes_per_message) {
  Options options;
  options.n = n;
  options.planes_per_message = planes_per_message;
  options.repeat = 2;
  options.check = true;
  return options;
}

void expect_right(const std::string& fabric, const Options& options) {
  const Outcome outcome = run_on(fabric, options);
  ASSERT_EQ(outcome.runs.size(), options.overlaps.size());
  EXPECT_TRUE(outcome.correct()) << fabric;
  for (const Run& run : outcome.runs) {
    EXPECT_LT(run.round_trip_error, 1e-14) << fabric << ", overlap " << name_of(run.overlap);
    ASSERT_TRUE(run.serial_error.has_value());
    EXPECT_LT(*run.serial_error, 1e-14) << fabric << ", overlap " << name_of(run.overlap);
    EXPECT_EQ(run.seconds.count, std::uint64_t{2} * outcome.nodes);
  }
}

TEST(Fft3d, IsThatOfOneNode) {
  for (const int nodes : {1, 2, 3, 4, 7}) {
    for (const std::size_t planes : {1U, 3U, 100U}) {
      expect_right("local:" + std::to_string(nodes), small({12, 10, 6}, planes));
      expect_right("sim:" + std::to_string(nodes), small({7, 16, 3}, planes));
    }
  }
}

TEST(Fft3d, NodesWithoutPlanesTakePart) {
  for (const std::array<std::size_t, 3>& n : {std::array<std::size_t, 3>{3, 9, 2}, std::array<std::size_t, 3>{9, 3, 2},
                                              std::array<std::size_t, 3>{1, 1, 1}}) {
    expect_right("local:7", small(n, 1));
    expect_right("sim:16,jitter=5us,seed=3", small(n, 2));
  }
}

// Larger than what is sent unasked.
TEST(Fft3d, LargeBlocks) { expect_right("local:3", small({8, 30, 64}, 2)); }

TEST(Fft3d, MessagesOvertakeEachOther) {
  for (int seed = 1; seed <= 5; ++seed) {
    expect_right("sim:5,jitter=50us,seed=" + std::to_string(seed), small({13, 8, 5}, 1));
  }
}

TEST(Fft3d, OverlapHidesTheAllToAll) {
  Options options = small({64, 64, 16}, 1);
  options.check = false;
  const Outcome outcome = run_on("sim:8,latency=20us,overhead=0.5us,bandwidth=1GB/s", options);
  const double on = outcome.runs.at(0).seconds.mean();
  const double off = outcome.runs.at(1).seconds.mean();
  // Each of eight rounds waits for a latency of 20 us at least; with overlap, only the last one does.
  EXPECT_LT(on + 7 * 20e-6, off);
  EXPECT_EQ(outcome.block_bytes, 8U * 16 * sizeof(Complex));
}

TEST(Fft3d, IsTheSameInEveryRunOfASeed) {
  const Options options = small({8, 8, 8}, 1);
  const std::string fabric = "sim:3,jitter=2us,seed=9";
  EXPECT_EQ(run_on(fabric, options).runs.at(0).seconds.sum, run_on(fabric, options).runs.at(0).seconds.sum);
}

TEST(Fft3d, ALostNodeEndsTheRunWithItsName) {
  for (const char* const kill : {"2@30us", "0@55us", "1#40"}) {
    try {
      run_on(std::string("sim:4,kill=") + kill, small({16, 16, 16}, 1));
      FAIL() << "node lost at " << kill << " was not missed";
    } catch (const stretto::Error& error) {
      EXPECT_EQ(error.code(), stretto::ErrorCode::peer_lost) << kill << ": " << error.what();
    }
  }
}

}  // namespace
}  // namespace fft3d
