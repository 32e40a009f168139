// Whoever waits in a collective can say for whom: to the log after a while, in an error where nothing can happen.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/collective/collective.h"
#include "stretto/collective/test_support.h"
#include "stretto/collective/wire.h"
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

const std::string nothing_heard =
    " (nothing heard of it); do all members pass the same group, in the same order, and key?";

constexpr std::size_t stalled_values = 20'000;

void lose(Node& node, NodeId peer) {
  node.endpoint().context().enter([&] { node.endpoint().lose(peer, Error(ErrorCode::peer_lost, "on purpose")); });
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
    EXPECT_TRUE(told[0].ends_with("waits for node 2" + nothing_heard)) << told[0];
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
      EXPECT_TRUE(waits[0].ends_with("waits for node 1" + nothing_heard)) << waits[0];
    }
    if (node.id() != 1) co_await barrier(node, all, CollectiveOptions().key(1));
    co_await event;
  });
}

// In a ring all comes from one peer, and is asked for at once.
TEST(Stall, ANeighbourInARingIsNamedThatHasNotAsked) {
  test::run_on("sim:4", [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    std::vector<double> values(100'000, 1.0);
    if (node.id() == 1) co_await barrier(node, all, CollectiveOptions().key(1));
    const Event event = allreduce(node, all, values, values, sum, CollectiveOptions().algorithm("ring_allreduce"));
    if (node.id() == 0) {
      const std::vector<std::string> waits = first_told(node, Which::now);
      EXPECT_EQ(waits.size(), 1U);
      EXPECT_NE(waits[0].find("1 (nothing heard of it)"), std::string::npos) << waits[0];
    }
    if (node.id() != 1) co_await barrier(node, all, CollectiveOptions().key(1));
    co_await event;
  });
}

/// Node 0's collective with node 1, which answers as `answer` does, and node 2, which is honest. `start` begins it, or
/// has node 2 do its part; `look` says what node 0 makes of the answer, when that has come.
void stall(const std::function<void(Node& liar, const fabric::Message&)>& answer,
           const std::function<Event(Node&, std::vector<double>& data, std::vector<double>& result)>& start,
           const std::function<void(Node&)>& look) {
  Runtime runtime(test::options_for("sim:3,peer_pointer=segments"));
  Node& liar = *runtime.nodes()[1];
  const UserEvent is_asked = runtime.nodes()[0]->create_user_event();
  bool was_asked = false;
  const test::Liar handler(liar, [&](const fabric::Message& message) {
    answer(liar, message);
    if (!std::exchange(was_asked, true)) runtime.nodes()[0]->trigger(is_asked);
  });
  runtime.run([&](Node& node) -> Task<> {
    if (node.id() == 1) co_return;  // its handler answers
    const Group honest({0, 2});
    std::vector<double> data(stalled_values, 1.0);
    std::vector<double> result(stalled_values);
    const Event done = start(node, data, result);
    if (node.id() == 0) co_await is_asked;
    for (int round = 0; round < 20; ++round) co_await allreduce(node, honest, 1, sum, CollectiveOptions().key(1));
    if (node.id() == 0) {
      look(node);
      lose(node, 1);
    }
    const std::string said = co_await test::outcome(done);
    EXPECT_EQ(said.rfind("peer_lost: ", 0), node.id() == 0 ? 0U : std::string::npos) << said;
  });
}

// What is being combined goes on when more of it comes, though the receive is over with its first part.
TEST(Stall, WhoHasGivenAPartIsNamed) {
  const auto give_a_part = [](Node& liar, const fabric::Message& message) {
    if (message.type != fabric::MessageType::collective_hello) return;
    const CallHeader call = fabric::read_header<HelloHeader>(message).call;
    constexpr std::size_t bytes = stalled_values * sizeof(double);
    const fabric::Offset memory = liar.endpoint().segment().allocate(bytes);
    const GrantHeader header{call, memory, bytes, bytes / 2, bytes, 0};
    liar.endpoint().send(0, fabric::MessageType::collective_grant, bytes_of(header), {});
  };
  const auto reduce_with_liar = [](Node& node, std::vector<double>& data, std::vector<double>& result) {
    return node.id() == 2 ? no_event : reduce(node, Group{0, 1}, data, result, sum);
  };
  stall(give_a_part, reduce_with_liar, [](Node& node) {
    const std::vector<std::string> waits = stalled_at(node, Which::now);
    const std::string told = waits.empty() ? "nothing" : waits[0];
    EXPECT_TRUE(told.ends_with("waits for node 1")) << told;
  });
}

// First for who is to read, and when that has failed, for who may still do so.
TEST(Stall, WhatHasFailedIsToldThoughItWasToldBefore) {
  const auto keep_silent = [](Node&, const fabric::Message&) {};
  const auto broadcast_to_all = [](Node& node, std::vector<double>& data, std::vector<double>&) {
    return broadcast(node, Group::all(node), data, 0, CollectiveOptions().algorithm("linear_broadcast"));
  };
  stall(keep_silent, broadcast_to_all, [](Node& node) {
    const auto told_after_a_period = [&node] {
      EXPECT_TRUE(stalled_at(node, Which::since_last_look).empty()) << "it may wait since just now";
      const std::vector<std::string> told = stalled_at(node, Which::since_last_look);
      EXPECT_EQ(told.size(), 1U);
      return told.empty() ? "nothing" : told[0];
    };
    const std::string before = told_after_a_period();
    EXPECT_NE(before.find("waits for node 1"), std::string::npos) << before;
    lose(node, 2);
    const std::string after = told_after_a_period();
    EXPECT_TRUE(after.ends_with(", which failed, waits to be let go by node 1")) << after;
  });
}

// By the function that was called, and by what this node has of the data.
TEST(Stall, CallsAreNamedAsTheyWereMade) {
  test::run_on("sim:2", [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    const ReduceGroups groups(Group{1}, Group{0});
    const std::vector<int> both(4, 1);
    std::vector<int> scattered(2);
    std::vector<int> reduced(4);
    if (node.id() == 1) co_await barrier(node, all, CollectiveOptions().key(1));
    const std::vector<Event> events = {scatter(node, all, both, scattered, 1),
                                       reduce(node, groups, both, reduced, sum)};
    if (node.id() == 0) {
      const std::vector<std::string> waits = stalled_at(node, Which::now);
      EXPECT_EQ(waits.size(), 2U);
      for (const std::string what : {"scatter of 8 bytes, root 1, at ", "reduce of 16 bytes at "}) {
        const auto says = [&](const std::string& sentence) { return sentence.find("'s " + what) != std::string::npos; };
        EXPECT_TRUE(std::any_of(waits.begin(), waits.end(), says)) << what;
      }
      co_await barrier(node, all, CollectiveOptions().key(1));
    }
    co_await node.merge(events);
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
