#include "stretto/base/test_seeds.h"

#include <gtest/gtest.h>

#include <csignal>
#include <string>

#include "stretto/base/test_support.h"

namespace stretto::test {
namespace {

// In a process of its own, which the signal ends as if nobody had caught it.
TEST(TestSeeds, AreToldByWhatASignalEndsSeeds) {
  const std::uint64_t first = *seeds(1).begin();
  const std::string line = "seed " + std::to_string(first) +
                           " was at work; again: STRETTO_TEST_SEED=" + std::to_string(first) +
                           " .*base_test --gtest_filter='TestSeeds.AreToldByWhatASignalEndsSeeds'";
  for (const int signal : {SIGABRT, SIGTERM}) {
    EXPECT_EXIT(
        {
          for ([[maybe_unused]] const std::uint64_t seed : seeds(1)) std::raise(signal);
        },
        testing::KilledBySignal(signal), line);
    EXPECT_EXIT(
        {
          for ([[maybe_unused]] const std::uint64_t seed : seeds(1)) continue;
          std::raise(signal);
        },
        testing::KilledBySignal(signal), "^$")
        << "after the last seed";
  }
}

}  // namespace
}  // namespace stretto::test
