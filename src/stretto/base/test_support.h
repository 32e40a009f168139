#pragma once

// What the tests of all modules share: counts that shrink under sanitizers, and seeds.

#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/base/sanitizers.h"
#include "stretto/base/settings.h"
#include "stretto/base/test_seeds.h"

namespace stretto::test {

#if defined(STRETTO_ASAN) || defined(STRETTO_TSAN)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

/// A number of repetitions that finds faults by their number: sanitizers find more with fewer.
constexpr std::uint64_t scaled(std::uint64_t count) { return sanitized ? (count + 19) / 20 : count; }

/// The seeds of a randomised test: STRETTO_TEST_SEED alone if it is set, else 1 to STRETTO_TEST_SEEDS, or to `usual`,
/// scaled. `make soak` finds such tests by their names, which therefore end with "Seeds".
inline Seeds seeds(std::uint64_t usual) {
  const testing::TestInfo* const test = testing::UnitTest::GetInstance()->current_test_info();
  if (test != nullptr && std::string_view(test->name()).find("Seeds") == std::string_view::npos) {
    throw std::logic_error(std::string(test->name()) + " has seeds, so its name ends with Seeds");
  }
  const Settings settings = Settings::from_environment();
  if (settings.is_set("STRETTO_TEST_SEED")) return Seeds({settings.count("STRETTO_TEST_SEED")});
  const std::uint64_t count =
      settings.is_set("STRETTO_TEST_SEEDS") ? settings.count("STRETTO_TEST_SEEDS") : scaled(usual);
  std::vector<std::uint64_t> all;
  for (std::uint64_t seed = 1; seed <= count; ++seed) all.push_back(seed);
  return Seeds(std::move(all));
}

}  // namespace stretto::test
