#include "stretto/core/stall_watch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <future>
#include <string>
#include <vector>

#include "stretto/core/test_support.h"

namespace stretto {
namespace {

/// Something waits whenever one looks.
class Stuck : public Operations {
 public:
  void look(Which, std::vector<std::string>& sentences) override { sentences.emplace_back("it waits"); }
  void cancel(const Cause&) override {}
  bool over() override { return true; }
};

/// The most that STRETTO_STALL_SECONDS can say.
double longest_stall_seconds() {
  EXPECT_EQ(setenv("STRETTO_STALL_SECONDS", "18446744073709551615", 1), 0);
  const double seconds = RuntimeOptions::from_environment().stall_seconds;
  EXPECT_EQ(unsetenv("STRETTO_STALL_SECONDS"), 0);
  return seconds;
}

// That another watch, begun later, has looked often shows that there was time to look.
TEST(StallWatch, DoesNotLookBeforeTheLongestPeriodIsOver) {
  constexpr int often = 100;
  constexpr double hardly_any_seconds = 1e-6;
  RuntimeOptions options = test::options_for("local:1");
  options.stall_seconds = 0;
  Stuck stuck;
  Runtime runtime(options);
  runtime.nodes()[0]->add_operations(stuck);

  std::atomic<int> told = 0;
  const StallWatch patient(runtime.nodes(), longest_stall_seconds(), [&](NodeId, const std::string&) { ++told; });
  int looks = 0;
  std::promise<void> looked_often;
  const StallWatch hasty(runtime.nodes(), hardly_any_seconds, [&](NodeId, const std::string&) {
    if (++looks == often) looked_often.set_value();
  });
  looked_often.get_future().wait();
  EXPECT_EQ(told.load(), 0);
}

}  // namespace
}  // namespace stretto
