#include "stencil_1d/task_allreduce.h"

#include <gtest/gtest.h>

#include <map>

#include "stretto/collective/collective.h"
#include "stretto/core/runtime.h"

namespace stencil_1d {
namespace {

using stretto::NodeId;

std::vector<std::vector<Round>> programs(std::uint32_t shards) {
  std::vector<std::vector<Round>> all;
  for (NodeId shard = 0; shard < shards; ++shard) all.push_back(rounds_of(shard, shards));
  return all;
}

class Rounds : public testing::TestWithParam<std::uint32_t> {};

TEST_P(Rounds, EveryReadHasItsReader) {
  const auto all = programs(GetParam());
  for (NodeId shard = 0; shard < all.size(); ++shard) {
    ASSERT_EQ(all[shard].size(), all[0].size());
    for (std::size_t round = 0; round < all[shard].size(); ++round) {
      if (all[shard][round].source) {
        EXPECT_EQ(all[*all[shard][round].source][round].reader, shard);
      }
      if (all[shard][round].reader) {
        EXPECT_EQ(all[*all[shard][round].reader][round].source, shard);
      }
    }
  }
}

TEST_P(Rounds, EveryShardEndsWithEachContributionOnce) {
  using Contributions = std::map<NodeId, int>;
  const auto all = programs(GetParam());
  std::vector<Contributions> held(all.size());
  for (NodeId shard = 0; shard < all.size(); ++shard) held[shard][shard] = 1;
  for (std::size_t round = 0; round < all[0].size(); ++round) {
    const std::vector<Contributions> before = held;
    for (NodeId shard = 0; shard < all.size(); ++shard) {
      const Round& step = all[shard][round];
      if (!step.source) continue;
      if (step.takes_over) held[shard].clear();
      for (const auto& [contributor, times] : before[*step.source]) held[shard][contributor] += times;
    }
  }
  for (const Contributions& each : held) {
    EXPECT_EQ(each.size(), all.size());
    for (const auto& [contributor, times] : each) EXPECT_EQ(times, 1) << contributor;
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, Rounds, testing::Range(1U, 70U), testing::PrintToStringParamName());

TEST(Rounds, PowersOfTwoTakeTheirLogarithm) {
  EXPECT_EQ(rounds_of(0, 1).size(), 0U);
  EXPECT_EQ(rounds_of(3, 8).size(), 3U);
  EXPECT_EQ(rounds_of(100, 512).size(), 9U);
  EXPECT_EQ(rounds_of(100, 513).size(), 11U);
}

// Back to back and with a pending precondition; input and output are the same variable.
TEST(TaskAllreduce, CallsFollowEachOther) {
  stretto::RuntimeOptions options;
  options.fabric = "sim:6,reorder=0.3,jitter=1us,task=0.1us,seed=3";
  stretto::Runtime runtime(options);
  runtime.run([](stretto::Node& node) -> stretto::Task<> {
    const stretto::Group all = stretto::Group::all(node);
    TaskAllreduce& task_allreduce = TaskAllreduce::attach(node);
    co_await barrier(node, all);
    co_await task_allreduce.connect();
    co_await barrier(node, all);
    double value = node.id();
    double expected = 15;
    for (int call = 0; call < 30; ++call) {
      const stretto::UserEvent begin = node.create_user_event();
      const stretto::Event done = task_allreduce.start(value, value, begin);
      EXPECT_FALSE(done.has_triggered());
      begin.trigger();
      co_await done;
      EXPECT_EQ(value, expected) << call;
      value = call;
      expected = 6.0 * call;
    }
  });
}

TEST(TaskAllreduce, AFailedContributionPoisonsAllSums) {
  stretto::RuntimeOptions options;
  options.fabric = "sim:5";
  stretto::Runtime runtime(options);
  int failed = 0;
  runtime.run([&failed](stretto::Node& node) -> stretto::Task<> {
    const stretto::Group all = stretto::Group::all(node);
    TaskAllreduce& task_allreduce = TaskAllreduce::attach(node);
    co_await barrier(node, all);
    co_await task_allreduce.connect();
    co_await barrier(node, all);
    double value = 1;
    stretto::Event input;
    if (node.id() == 4) {
      input = node.spawn([] { throw stretto::Error(stretto::ErrorCode::io, "no input"); });
    }
    try {
      co_await task_allreduce.start(value, value, input);
    } catch (const stretto::Error& error) {
      EXPECT_NE(error.message().find("no input"), std::string::npos) << error.message();
      ++failed;
    }
    co_await barrier(node, all);
  });
  EXPECT_EQ(failed, 5);
}

}  // namespace
}  // namespace stencil_1d
