#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stretto/collective/collective.h"
#include "stretto/collective/collective_service.h"
#include "stretto/collective/eager_window.h"
#include "stretto/collective/test_support.h"

// Members that only give run ahead of those that take, no further than the window lets them (decision 25).
namespace stretto {
namespace {

using test::outcome;

constexpr std::size_t payload = 4096;  // the largest that is sent unasked
constexpr int in_window = static_cast<int>(EagerWindow::bytes / EagerWindow::cost_of(payload));
constexpr std::size_t words = payload / sizeof(std::uint64_t);

class RunAhead : public test::OnEveryFabric {};

INSTANTIATE_TEST_SUITE_P(Fabrics, RunAhead, testing::ValuesIn(test::fabric_kinds), test::name_of_kind);

// Also where the others take it at once (decision 48): none of them gets it before all can.
TEST(RunAheadOnSim, WhoOnlyGivesWaitsWhenTheWindowIsFull) {
  for (const char* const fabric :
       {"sim:2", "sim:4", "sim:4,peer_pointer=segments", "sim:4,peer_pointer=segments,early=1"}) {
    constexpr double begins = 1e-3;
    int completed_before = 0;
    int wrong = 0;
    test::run_on(fabric, [&](Node& node) -> Task<> {
      const Group all = Group::all(node);
      std::vector<std::uint64_t> data(words);
      if (node.id() == 1) node.charge(begins);
      for (int i = 0; i < 3 * in_window; ++i) {
        const std::uint64_t value = node.id() == 0 ? 7 + static_cast<std::uint64_t>(i) : 0;
        std::fill(data.begin(), data.end(), value);
        co_await broadcast(node, all, data, 0, CollectiveOptions().algorithm("linear_broadcast"));
        if (node.id() == 0 && node.now() < begins) ++completed_before;
        wrong += data == std::vector<std::uint64_t>(words, 7 + static_cast<std::uint64_t>(i)) ? 0 : 1;
      }
    });
    EXPECT_EQ(completed_before, in_window) << fabric;
    EXPECT_EQ(wrong, 0) << fabric;
  }
}

// Node 0 fills the window with one stream and then gives in another, which node 1 takes first.
Task<> in_different_orders(Node& node, std::string* said) {
  const Group all = Group::all(node);
  constexpr int calls = 3 * in_window;
  std::vector<std::vector<std::uint64_t>> data;
  std::vector<Event> events;
  const auto start = [&](std::uint64_t value, std::uint64_t key) {
    data.emplace_back(words, node.id() == 0 ? value : 0);
    events.push_back(broadcast(node, all, std::span(data.back()), 0, CollectiveOptions().key(key)));
  };
  data.reserve(calls + 1);
  if (node.id() == 0) {
    for (int i = 0; i < calls; ++i) start(static_cast<std::uint64_t>(i), 1);
    start(calls, 2);
  } else {
    start(calls, 2);
    const std::string first = co_await outcome(events.front());
    for (int i = 0; i < calls; ++i) start(static_cast<std::uint64_t>(i), 1);
  }
  for (std::size_t i = 0; i < events.size(); ++i) {
    const std::string outcome_of_one = co_await outcome(events[i]);
    if (!outcome_of_one.empty()) *said = outcome_of_one;
    const std::size_t value = node.id() == 0 ? i : (i + events.size() - 1) % events.size();
    if (outcome_of_one.empty()) {
      EXPECT_EQ(data[i], std::vector<std::uint64_t>(words, value)) << i;
    }
  }
}

TEST_P(RunAhead, AFullWindowBlocksNobody) {
  std::vector<std::string> said(3);
  run(3, [&](Node& node) -> Task<> { return in_different_orders(node, &said[node.id()]); });
  EXPECT_EQ(said, std::vector<std::string>(3));
}

// So that the numbers of new streams' calls wrap around after so many.
Task<> leave_few_numbers(Node& node, std::uint32_t left) {
  const Group all = Group::all(node);
  co_await barrier(node, all);
  node.endpoint().context().enter([&] { CollectiveService::of(node).number_streams_from(0U - left); });
  co_await barrier(node, all);
}

// After 2^32 calls of one group, which take a quarter of an hour at least.
TEST_P(RunAhead, NumbersOfCallsWrapAround) {
  for (const std::uint32_t left : {1U, static_cast<std::uint32_t>(in_window) / 2, 2U * in_window}) {
    std::vector<std::string> said(3);
    run(3, [&](Node& node) -> Task<> {
      co_await leave_few_numbers(node, left);
      co_await in_different_orders(node, &said[node.id()]);
    });
    EXPECT_EQ(said, std::vector<std::string>(3));
  }
}

TEST(RunAheadOnSim, AKillAtManyMessagesSeeds) {
  for (const std::uint64_t seed : test::seeds(40)) {
    Random random(seed);
    const NodeId victim = static_cast<NodeId>(random.below(3));
    const std::string fabric = "sim:3,jitter=3us,reorder=0.3,detection=50us,seed=" + std::to_string(seed) +
                               ",kill=" + std::to_string(victim) + "#" + std::to_string(random.below(900));
    std::vector<std::string> said(3);
    Runtime runtime(test::options_for(fabric));
    const std::optional<Error> error = test::error_of(
        [&] { runtime.run([&](Node& node) -> Task<> { return in_different_orders(node, &said[node.id()]); }); });
    EXPECT_FALSE(error) << fabric << ": " << error->what();
    for (NodeId id = 0; id < 3; ++id) {
      if (id == victim || said[id].empty()) continue;
      EXPECT_EQ(said[id].rfind("peer_lost: ", 0), 0U) << fabric << ", node " << id << ": " << said[id];
    }
  }
}

}  // namespace
}  // namespace stretto
