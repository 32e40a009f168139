#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <string>
#include <vector>

#include "stretto/collective/collective.h"
#include "stretto/collective/test_support.h"
#include "stretto/core/stall_watch.h"

// Nodes of one process meet for small calls that none ends before all have come (decision 49): who comes last does all.
// Whatever keeps one of them away, the others go on as they would have without a meeting.
namespace stretto {
namespace {

using test::outcome;

const std::string local_3 = "local:3";

// Until the members meet: a first call goes the ordinary way.
Task<> begin_to_meet(Node& node, const Group& all) {
  for (int call = 0; call < 3; ++call) {
    const int total = co_await allreduce(node, all, call, sum);
    EXPECT_EQ(total, call * static_cast<int>(all.size()));
  }
}

// Another thread may have a node's baton for a moment (the one that starts it, or serves what outgrew a budget): then
// all go on by themselves for that call. So it is in some of so many rounds that all meet for all.
constexpr int rounds = 20;

// Returns how many calls were over when they returned.
int count_over_at_once(std::uint32_t nodes, int calls) {
  std::atomic<int> over_at_once = 0;
  test::run_on(
      "local:" + std::to_string(nodes),
      [&](Node& node) -> Task<> {
        const Group all = Group::all(node);
        std::array<int, 2> data{};
        for (int call = 0; call < calls; ++call) {
          data = {call, static_cast<int>(node.id())};
          const Event done = allreduce(node, all, data, data, sum);
          if (!done.exists()) {
            over_at_once.fetch_add(1);
            EXPECT_EQ(data[0], call * static_cast<int>(nodes));
          }
          co_await done;
          EXPECT_EQ(data[0], call * static_cast<int>(nodes));
          EXPECT_EQ(data[1], static_cast<int>(nodes * (nodes - 1) / 2));
        }
      },
      1);
  return over_at_once;
}

TEST(MetCalls, WhoComesLastHasItsResultAtOnce) {
  constexpr int calls = 20;
  for (const std::uint32_t nodes : {2U, 5U, 32U}) {
    int most = 0;
    for (int round = 0; round < rounds && most != calls - 1; ++round) {
      const int over_at_once = count_over_at_once(nodes, calls);
      EXPECT_LT(over_at_once, calls) << nodes << " nodes: one at a call, and none at the first";
      most = std::max(most, over_at_once);
    }
    EXPECT_EQ(most, calls - 1) << nodes << " nodes: one at each call but the first";
  }
}

// Who came and went on, by call.
struct Orders {
  std::vector<std::vector<NodeId>> came;
  std::vector<std::vector<NodeId>> went_on;
};

Orders note_orders(std::size_t calls) {
  Orders orders{std::vector<std::vector<NodeId>>(calls), std::vector<std::vector<NodeId>>(calls)};
  test::run_on(
      "local:5",
      [&](Node& node) -> Task<> {
        const Group all = Group::all(node);
        co_await begin_to_meet(node, all);
        for (std::size_t call = 0; call < calls; ++call) {
          // Another one is late each time.
          if (call % 5 == node.id()) co_await node.spawn([] {});
          orders.came[call].push_back(node.id());
          co_await barrier(node, all);
          orders.went_on[call].push_back(node.id());
        }
      },
      1);
  return orders;
}

// So that none waits through the turns of those who came after it. Who came last need not wait at all.
TEST(MetCalls, WhoComesFirstGoesOnFirst) {
  constexpr std::size_t calls = 20;
  std::vector<std::vector<NodeId>> expected;
  Orders orders;
  for (int round = 0; round < rounds; ++round) {
    orders = note_orders(calls);
    expected = orders.came;
    for (auto& order : expected) std::rotate(order.begin(), order.end() - 1, order.end());
    expected.front() = orders.went_on.front();  // the first one goes the ordinary way
    if (orders.went_on == expected) break;
  }
  EXPECT_EQ(orders.went_on, expected);
}

// Who only gives leaves its data, though nobody else has come, and may write over them and begin what it likes.
TEST(MetCalls, WhoOnlyGivesDoesNotWait) {
  constexpr int calls = 30;
  std::atomic<int> over_at_once = 0;
  test::run_on(
      local_3,
      [&](Node& node) -> Task<> {
        const Group all = Group::all(node);
        const std::uint32_t me = node.id();
        std::vector<std::uint32_t> data(100);
        std::vector<std::uint32_t> result(100);
        for (std::uint32_t call = 0; call < calls; ++call) {
          const NodeId root = call % 3;
          if (me == root) co_await node.spawn([] {});  // late
          std::fill(data.begin(), data.end(), me + call);
          const Event done = reduce(node, all, data, std::span(result).first(me == root ? 100 : 0), sum, root);
          over_at_once += me != root && !done.exists() ? 1 : 0;
          co_await done;
          std::fill(data.begin(), data.end(), 99);
          if (me == root) {
            EXPECT_EQ(result, std::vector<std::uint32_t>(100, 3 + 3 * call));
          }
          co_await barrier(node, all);
        }
      },
      1);
  EXPECT_GT(over_at_once, calls);
}

/// Adds, and counts where it does so when what it refers to is in use no more.
struct CheckedSum {
  static constexpr bool commutative = true;
  static constexpr bool elementary = true;
  const std::atomic<bool>* in_use;
  std::atomic<int>* too_late;
  int operator()(const int& a, const int& b) const noexcept {
    if (!in_use->load()) too_late->fetch_add(1);
    return a + b;
  }
};

// Rank 2 combines what rank 3 gives, for which it may not have to wait; but nobody may when its call is over.
TEST(MetCalls, WhoseOperatorHoldsSomethingWaits) {
  std::array<std::atomic<bool>, 4> in_use{};
  std::atomic<int> too_late = 0;
  test::run_on(
      "local:4",
      [&](Node& node) -> Task<> {
        const Group all = Group::all(node);
        const NodeId me = node.id();
        const CheckedSum add{&in_use[me], &too_late};
        for (int call = 0; call < 30; ++call) {
          if (me == 0 || me == 3) co_await node.spawn([] {});  // late
          in_use[me] = true;
          int total = 0;
          const Event done = reduce(node, all, std::span<const int>(&call, 1), std::span(&total, me == 0 ? 1 : 0), add,
                                    0, CollectiveOptions().algorithm("binomial_reduce"));
          co_await done;
          in_use[me] = false;
          EXPECT_EQ(total, me == 0 ? 4 * call : 0);
          co_await barrier(node, all);
        }
      },
      1);
  EXPECT_EQ(too_late, 0);
}

// The others may come as late as they like, and do so in another way.
TEST(MetCalls, WhoOnlyGivesMayBeFarAhead) {
  test::run_on(local_3, [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    const NodeId me = node.id();
    const Group pair{0, 1};
    int received = 0;
    for (int round = 0; round < 20; ++round) {
      if (me == 0) co_await allreduce(node, pair, 0, sum);  // when node 1 has given all of it
      for (int call = 0; call < 6; ++call) {
        const int given = round + call;
        const bool at_once = me != 0 || call % 3 != round % 3;
        const UserEvent gate = node.create_user_event();
        CollectiveOptions options;
        if (!at_once) options.after(gate);
        const std::span<int> output(&received, me == 0 ? 1 : 0);
        const Event done = reduce(node, all, std::span(&given, 1), output, sum, 0, options);
        node.trigger(gate);
        co_await done;
        if (me == 0) {
          EXPECT_EQ(received, 3 * (round + call));
        }
      }
      if (me == 1) co_await allreduce(node, pair, 0, sum);
    }
  });
}

TEST(MetCalls, GatheredBlocksAreLeftToo) {
  test::run_on(local_3, [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    std::array<int, 6> blocks{};
    for (int call = 0; call < 20; ++call) {
      std::array<int, 2> mine{call, static_cast<int>(node.id())};
      co_await gather(node, all, mine, std::span(blocks).first(node.id() == 2 ? 6 : 0), 2);
      mine = {};
      if (node.id() == 2) {
        EXPECT_EQ(blocks, (std::array{call, 0, call, 1, call, 2}));
      }
    }
  });
}

// Node 0 has the result, in memory that lasts as long as the program.
Event reduce_to_0(Node& node, const Group& all) {
  static constexpr std::array<int, 2> data{1, 1};
  static std::array<int, 2> result;
  return reduce(node, all, data, std::span(result).first(node.id() == 0 ? 2 : 0), sum);
}

// Until the members meet for it.
Task<> begin_to_leave(Node& node, const Group& all) {
  for (int call = 0; call < 5; ++call) {
    co_await reduce_to_0(node, all);
    co_await barrier(node, all);
  }
}

// It has told its caller that it is over, and nobody else comes.
TEST(MetCalls, WhoHasLeftItsDataMayEnd) {
  test::run_on(local_3, [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    co_await begin_to_leave(node, all);
    if (node.id() != 1) co_return;
    co_await reduce_to_0(node, all);
    EXPECT_TRUE(stalled_at(node, Operations::Which::now).empty());
  });
}

// A member that is lost fails those who wait for it, and nobody else.
TEST(MetCalls, WhoHasLeftItsDataHearsOfNoLoss) {
  test::run_on(local_3, [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    co_await begin_to_leave(node, all);
    if (node.id() == 1) co_return;
    const Event done = reduce_to_0(node, all);
    Node& me = node;
    me.endpoint().context().enter([&me] { me.endpoint().lose(1, Error(ErrorCode::peer_lost, "on purpose")); });
    const std::string said = co_await outcome(done);
    if (me.id() == 0) {
      EXPECT_EQ(said.rfind("peer_lost: ", 0), 0U) << said;
    }
  });
}

// Larger ones are better done by several, and those with other links are not in one process.
TEST(MetCalls, OthersGoAsEver) {
  for (const char* const fabric : {"local:2,peer_pointer=off", "local:2,peer_pointer=segments", "sim:2", "local:33"}) {
    std::atomic<int> over_at_once = 0;
    test::run_on(
        fabric,
        [&](Node& node) -> Task<> {
          const Group all = Group::all(node);
          std::vector<int> data(1);
          for (int call = 0; call < 5; ++call) {
            const Event done = allreduce(node, all, data, data, sum);
            over_at_once += done.exists() ? 0 : 1;
            co_await done;
          }
        },
        1);
    EXPECT_EQ(over_at_once, 0) << fabric;
  }
}

// What one may do later than another one.
TEST(MetCalls, OneMayHaveAPrecondition) {
  test::run_on(local_3, [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    co_await begin_to_meet(node, all);
    for (int call = 0; call < 30; ++call) {
      const UserEvent gate = node.create_user_event();
      CollectiveOptions options;
      const bool waits = call % 4 == static_cast<int>(node.id());
      if (waits) options.after(gate);
      const Future<int> total = allreduce(node, all, call, sum, options);
      node.trigger(gate);
      EXPECT_EQ(co_await total, 3 * call);
    }
  });
}

// The members still choose one schedule.
TEST(MetCalls, OneMayHaveShards) {
  test::run_on("local:2", [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    std::vector<int> total(6);
    for (int call = 0; call < 20; ++call) {
      const std::vector<int> plain(6, call);
      const std::vector<std::vector<int>> shards(2, plain);
      const bool has_shards = node.id() == 1 && call % 3 == 0;
      const Event done =
          has_shards ? allreduce(node, all, shards, total, sum) : allreduce(node, all, plain, total, sum);
      co_await done;
      EXPECT_EQ(total, std::vector<int>(6, (call % 3 == 0 ? 3 : 2) * call));
    }
  });
}

TEST(MetCalls, SeveralMayBeUnderWay) {
  test::run_on(local_3, [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    co_await begin_to_meet(node, all);
    for (int round = 0; round < 30; ++round) {
      std::vector<Future<int>> totals;
      for (int call = 0; call <= round % 4; ++call) totals.push_back(allreduce(node, all, round + call, sum));
      const Event last = barrier(node, all);
      for (int call = 0; call <= round % 4; ++call) {
        const int total = co_await totals[static_cast<std::size_t>(call)];
        EXPECT_EQ(total, 3 * (round + call));
      }
      co_await last;
    }
  });
}

TEST(MetCalls, StreamsMayTakeTurnsInAnyOrder) {
  test::run_on(local_3, [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    const auto start = [&](int call, std::uint64_t key) {
      return allreduce(node, all, call + static_cast<int>(key), sum, CollectiveOptions().key(key));
    };
    for (int call = 0; call < 30; ++call) {
      const std::uint64_t first = node.id() % 2;
      const Future<int> one = start(call, first);
      const Future<int> other = start(call, 1 - first);
      EXPECT_EQ(co_await other, 3 * (call + static_cast<int>(1 - first)));
      EXPECT_EQ(co_await one, 3 * (call + static_cast<int>(first)));
    }
  });
}

// How many of the two that have come for a call say that they wait for the third, which has not.
int who_name_the_third() {
  std::atomic<int> names_it = 0;
  test::run_on(local_3, [&names_it](Node& node) -> Task<> {
    const Group all = Group::all(node);
    co_await begin_to_meet(node, all);
    if (node.id() == 1) {
      co_await barrier(node, all, CollectiveOptions().key(1));
      co_await allreduce(node, all, 1, sum);
      co_return;
    }
    const Future<int> total = allreduce(node, all, 1, sum);
    const Group others{0, 2};
    co_await barrier(node, others);  // by then both have come
    const std::vector<std::string> told = stalled_at(node, Operations::Which::now);
    EXPECT_EQ(told.size(), 1U);
    EXPECT_NE(told[0].find("met_calls_test.cc:"), std::string::npos) << told[0];
    if (told[0].find("waits for node 1 (nothing heard of it)") != std::string::npos) names_it.fetch_add(1);
    co_await barrier(node, all, CollectiveOptions().key(1));
    EXPECT_EQ(co_await total, 3);
  });
  return names_it;
}

// Where one of the calls before comes so early that its node is not ready to meet, this one goes the ordinary way, in
// which node 2 waits for node 0.
TEST(MetCalls, WhoHasNotComeIsNamed) {
  int attempts = 100;
  while (who_name_the_third() != 2) ASSERT_GT(--attempts, 0);
}

TEST(MetCalls, ALostMemberFailsThem) {
  test::run_on(local_3, [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    co_await begin_to_meet(node, all);
    if (node.id() == 1) co_return;
    const Future<int> total = allreduce(node, all, 1, sum);
    Node& me = node;
    me.endpoint().context().enter([&me] { me.endpoint().lose(1, Error(ErrorCode::peer_lost, "on purpose")); });
    const std::string said = co_await outcome(total);
    EXPECT_EQ(said.rfind("peer_lost: ", 0), 0U) << said;
    // Without it they go on, as a group of their own.
    const Group others{0, 2};
    for (int call = 0; call < 5; ++call) EXPECT_EQ(co_await allreduce(node, others, call, sum), 2 * call);
    // Nor does a call begin to wait for it.
    const std::string again = co_await outcome(allreduce(node, all, 1, sum));
    EXPECT_EQ(again.rfind("peer_lost: ", 0), 0U) << again;
  });
}

TEST(MetCalls, AreCancelledWhereAMainFails) {
  std::atomic<int> cancelled = 0;
  const std::string code = test::code_of([&] {
    test::run_on(local_3, [&](Node& node) -> Task<> {
      const Group all = Group::all(node);
      co_await begin_to_meet(node, all);
      if (node.id() == 1) throw Error(ErrorCode::io, "on purpose");
      const std::string said = co_await outcome(allreduce(node, all, 1, sum));
      cancelled += said.rfind("cancelled: ", 0) == 0 ? 1 : 0;
    });
  });
  EXPECT_EQ(code, "io");
  EXPECT_EQ(cancelled, 2);
}

}  // namespace
}  // namespace stretto
