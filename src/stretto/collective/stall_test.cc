// Whoever waits in a collective can say for whom: to the log after a while, in an error where nothing can happen.

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/collective/collective.h"
#include "stretto/collective/test_support.h"
#include "stretto/core/stall_watch.h"

namespace stretto {
namespace {

using Which = Operations::Which;

// Looks until there is something to tell: a call may still be on its way to where it begins.
std::vector<std::string> first_told(Node& node, Which which) {
  for (;;) {
    std::vector<std::string> told = stalled_at(node, which);
    if (!told.empty()) return told;
  }
}

class StallTest : public test::OnEveryFabric {};

INSTANTIATE_TEST_SUITE_P(Fabrics, StallTest, testing::ValuesIn(test::fabric_kinds), test::name_of_kind);

TEST_P(StallTest, WhoIsMissingIsToldOnceAfterAWholePeriod) {
  run(3, [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    const Group pair({0, 2});
    if (node.id() == 1) {
      co_await barrier(node, all);
      co_return;
    }
    if (node.id() == 2) {
      co_await barrier(node, all);
      co_await barrier(node, pair);
      co_return;
    }
    const Event event = barrier(node, pair);
    EXPECT_TRUE(stalled_at(node, Which::since_last_look).empty()) << "it may have begun just now";
    const std::vector<std::string> told = first_told(node, Which::since_last_look);
    EXPECT_EQ(told.size(), 1U);
    EXPECT_NE(told[0].find("node 0's barrier of 0 bytes at "), std::string::npos) << told[0];
    EXPECT_NE(told[0].find("stall_test.cc:"), std::string::npos) << told[0];
    EXPECT_NE(told[0].find("waits for node 2 (nothing heard of it)"), std::string::npos) << told[0];
    EXPECT_TRUE(stalled_at(node, Which::since_last_look).empty()) << "once";
    EXPECT_EQ(stalled_at(node, Which::now).size(), 1U);
    co_await barrier(node, all);
    co_await event;
    EXPECT_TRUE(stalled_at(node, Which::now).empty());
  });
}

TEST_P(StallTest, LargeMessagesToo) {
  run(2, [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    std::vector<double> values(100'000, 1.0);
    if (node.id() == 1) {
      co_await barrier(node, all, CollectiveOptions().key(1));
      co_await allreduce(node, all, values, values, sum);
      co_return;
    }
    const Event event = allreduce(node, all, values, values, sum);
    const std::vector<std::string> waits = first_told(node, Which::now);
    EXPECT_EQ(waits.size(), 1U);
    EXPECT_NE(waits[0].find("waits for node 1 (nothing heard of it)"), std::string::npos) << waits[0];
    co_await barrier(node, all, CollectiveOptions().key(1));
    co_await event;
  });
}

// Over wires blocks are asked for one after another (decision 50): who waits for a late one has not asked others yet.
TEST(Stall, NobodyIsNamedWhoseTurnHasNotCome) {
  test::run_on("sim:4", [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    const std::vector<double> mine(4 * 20'000, 1.0);
    std::vector<double> theirs(mine.size());
    const CollectiveOptions pairs = CollectiveOptions().algorithm("pairwise_all_to_all");  // 0 begins with 1
    if (node.id() == 1) co_await barrier(node, all, CollectiveOptions().key(1));
    const Event event = all_to_all(node, all, mine, theirs, pairs);
    if (node.id() == 0) {
      const std::vector<std::string> waits = first_told(node, Which::now);
      EXPECT_EQ(waits.size(), 1U);
      EXPECT_TRUE(waits[0].ends_with("waits for node 1 (nothing heard of it)")) << waits[0];
    }
    if (node.id() != 1) co_await barrier(node, all, CollectiveOptions().key(1));
    co_await event;
  });
}

TEST(Stall, ManyAreCounted) {
  test::run_on("local:2", [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    constexpr std::uint64_t count = 20;
    std::vector<Event> events;
    if (node.id() == 1) co_await barrier(node, all);
    for (std::uint64_t key = 1; key <= count; ++key) {
      events.push_back(barrier(node, all, CollectiveOptions().key(key)));
    }
    if (node.id() == 0) {
      // Until all have begun.
      const std::string more = "and " + std::to_string(count - most_told) + " more";
      std::vector<std::string> waits;
      do waits = first_told(node, Which::now);
      while (waits.back() != more);
      EXPECT_EQ(waits.size(), most_told + 1);
      co_await barrier(node, all);
    }
    co_await node.merge(events);
  });
}

TEST(Stall, ADeadlockOnSimNamesThem) {
  std::string said;
  try {
    test::run_on("sim:3", [](Node& node) -> Task<> {
      if (node.id() != 1) co_await barrier(node, Group::all(node));
    });
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::deadlock);
    said = error.what();
  }
  EXPECT_NE(said.find("node 0's barrier of 0 bytes at "), std::string::npos) << said;
  EXPECT_NE(said.find("1 (nothing heard of it)"), std::string::npos) << said;
}

// Reads what the process says on standard error, until it has said `wanted`.
std::string read_until(int descriptor, std::string_view wanted) {
  std::string said;
  std::array<char, 256> part;
  while (said.find(wanted) == std::string::npos) {
    const ssize_t got = read(descriptor, part.data(), part.size());
    if (got <= 0) break;
    said.append(part.data(), static_cast<std::size_t>(got));
  }
  return said;
}

// Node 1 calls when the log has told who waits for it: without that the test would not end.
TEST(Stall, TheLogTells) {
  std::array<int, 2> ends;
  ASSERT_EQ(pipe(ends.data()), 0);
  const int standard_error = dup(STDERR_FILENO);
  ASSERT_NE(dup2(ends[1], STDERR_FILENO), -1);
  std::string said;
  RuntimeOptions options = test::options_for("local:2");
  options.stall_seconds = 0.001;
  Runtime(options).run([&](Node& node) -> Task<> {
    if (node.id() == 1) said = read_until(ends[0], "waits for node 1 (nothing heard of it)");
    co_await barrier(node, Group::all(node));
  });
  dup2(standard_error, STDERR_FILENO);
  for (const int descriptor : {standard_error, ends[0], ends[1]}) close(descriptor);
  EXPECT_NE(said.find("stretto warning [node 0] for some time now, node 0's barrier"), std::string::npos) << said;
}

}  // namespace
}  // namespace stretto
