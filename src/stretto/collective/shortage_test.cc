#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "stretto/base/arena.h"
#include "stretto/base/replace_new.h"
#include "stretto/collective/collective.h"
#include "stretto/collective/concurrent.h"
#include "stretto/collective/eager_window.h"
#include "stretto/collective/plan_cache.h"
#include "stretto/collective/stream.h"
#include "stretto/collective/test_support.h"

// Whatever a call, or its beginning, needs memory for: where there is none, its members hear of it, and their next
// calls are done as if nothing had been.

namespace stretto {
namespace {

using test::Shortage;

enum class Kind : std::uint8_t { plain, listed, sharded, fused, in_two_sets };
/// What was called before: nothing, one that still waits for its precondition, one that is over.
enum class Before : std::uint8_t { nothing, waiting, alike };
/// Of what: a call while somebody has the node's baton, one while nobody has, the beginning of the one that waited.
enum class Moment : std::uint8_t { posted, called, begun };

struct When {
  Kind kind;
  Moment moment;
  Before before;
  friend std::ostream& operator<<(std::ostream& out, const When& when) {
    constexpr std::array kinds{"plain", "listed", "sharded", "fused", "in_two_sets"};
    constexpr std::array moments{"posted", "called", "begun"};
    constexpr std::array befores{"nothing", "waiting", "alike"};
    return out << kinds[static_cast<std::size_t>(when.kind)] << '_' << moments[static_cast<std::size_t>(when.moment)]
               << '_' << befores[static_cast<std::size_t>(when.before)];
  }
};

constexpr std::uint32_t most_nodes = 3;
const std::string shortage = "out_of_resources: a collective found no memory";

/// One call at one node, and its buffers.
class Call {
 public:
  Call(Node& node, Kind kind) : node_(node), kind_(kind), all_(Group::all(node)) {
    for (std::uint64_t i = 0; i < 2; ++i) input_[i] = test::contribution(i, node.id(), 0);
    both_.emplace(all_, all_);
  }

  Event start(const CollectiveOptions& options = CollectiveOptions()) {
    const std::span<const std::uint64_t> first(input_.data(), 1);
    const std::span<const std::uint64_t> second(&input_[1], 1);
    const std::span<std::uint64_t> out(output_);
    switch (kind_) {
      case Kind::plain: return allreduce(node_, all_, first, out.first(1), sum, options);
      case Kind::listed:
        return allgather(node_, all_, first, out.first(all_.size()), std::vector<std::size_t>(all_.size(), 1), options);
      case Kind::sharded: return allreduce(node_, all_, std::array{first, second}, out.first(1), sum, options);
      case Kind::fused:
      case Kind::in_two_sets: break;
    }
    const std::vector<Event> events = concurrent(
        node_,
        {reduce_call(*both_, 1, first, out.first(1), sum), reduce_call(*both_, 1, second, out.subspan(1, 1), sum)},
        options, kind_ == Kind::fused ? Together::balanced_and_fused : Together::as_given);
    other_ = events.back();
    return events.front();
  }

  /// Of what was started beside.
  Event other() const { return other_; }

  bool is_right() const {
    std::array<std::uint64_t, most_nodes> expected{};
    for (const NodeId node : all_.nodes()) {
      if (kind_ == Kind::listed) expected[node] = test::contribution(0, node, 0);
      if (kind_ != Kind::listed) expected[0] += test::contribution(0, node, 0);
      if (kind_ == Kind::sharded) expected[0] += test::contribution(1, node, 0);
      if (kind_ == Kind::fused || kind_ == Kind::in_two_sets) expected[1] += test::contribution(1, node, 0);
    }
    return output_ == expected;
  }

 private:
  Node& node_;
  Kind kind_;
  Group all_;
  std::optional<ReduceGroups> both_;
  Event other_;
  std::array<std::uint64_t, 2> input_{};
  std::array<std::uint64_t, most_nodes> output_{};
};

/// What came of one request that found no memory.
struct Outcome {
  bool has_come = false;  // else there were fewer of them
  bool has_failed = false;
};

// As a call by whoever has the baton is: posted, and its turn comes before this returns.
template <class Start>
Event start_posted(Node& node, const Start& start, std::uint64_t number, Outcome& outcome) {
  Event done;
  std::optional<Shortage> short_of;
  node.endpoint().context().enter([&] {
    done = start();
    short_of.emplace(number);
  });
  outcome.has_come = Shortage::has_come();
  return done;
}

// Nothing if it is refused.
std::optional<Event> try_to_start(Call& call, std::uint64_t number, Outcome& outcome,
                                  const CollectiveOptions& options = CollectiveOptions()) {
  try {
    const Shortage short_of(number);
    const Event done = call.start(options);
    outcome.has_come = Shortage::has_come();
    return done;
  } catch (const std::exception& refusal) {
    // A bad_alloc is of what is made before the call.
    const bool is_raw = dynamic_cast<const std::bad_alloc*>(&refusal) != nullptr;
    EXPECT_TRUE(is_raw || refusal.what() == shortage) << refusal.what();
  }
  outcome = {true, true};
  return std::nullopt;
}

// Who is refused may call again.
Event start_directly(Call& call, std::uint64_t number, Outcome& outcome) {
  const std::optional<Event> done = try_to_start(call, number, outcome);
  return done ? *done : call.start();
}

Task<> expect_right_or_short(Node& node, Call& call, Event done, Outcome& outcome) {
  const std::string said = co_await test::outcome(done);
  const std::string said_beside = co_await test::outcome(call.other());
  for (const std::string& each : {said, said_beside}) {
    EXPECT_TRUE(each.empty() || each == shortage) << "node " << node.id() << ": " << each;
  }
  const bool is_done = said.empty() && said_beside.empty();
  EXPECT_EQ(is_done, call.is_right());
  if (node.id() == 0 && !is_done) outcome.has_failed = true;
}

// What was called before waits for `go`.
void begin_under_shortage(const UserEvent& go, std::uint64_t number, Outcome& outcome) {
  const Shortage short_of(number);
  go.trigger();
  outcome.has_come = Shortage::has_come();
}

// What waits for `go` fails, and finds no memory for the first message about it.
void fail_under_shortage(Node& node, const UserEvent& go) {
  const auto cause = std::make_shared<const Error>(ErrorCode::io, "on purpose");
  std::optional<Shortage> short_of;
  node.endpoint().context().enter([&] {
    node.events().trigger(go, cause);
    short_of.emplace(1);
  });
  EXPECT_TRUE(Shortage::has_come());
}

// Node 0 finds no memory for one request.
Task<> call_thrice(Node& node, const When& when, std::uint64_t number, Outcome& outcome) {
  Call first(node, when.kind);
  Call second(node, when.kind);
  Call third(node, when.kind);
  const UserEvent go = node.create_user_event();
  Event first_done;
  if (when.before == Before::waiting) first_done = first.start(CollectiveOptions().after(go));
  if (when.before == Before::alike) {
    co_await first.start();
    co_await first.other();
  }
  const bool is_short = node.id() == 0;
  Event second_done;
  if (is_short && when.moment == Moment::posted) {
    second_done = start_posted(node, [&] { return second.start(); }, number, outcome);
  } else if (is_short && when.moment == Moment::called) {
    second_done = start_directly(second, number, outcome);
  } else {
    second_done = second.start();
  }
  if (is_short && when.moment == Moment::begun) {
    begin_under_shortage(go, number, outcome);
  } else {
    go.trigger();
  }
  co_await expect_right_or_short(node, second, second_done, outcome);
  if (when.before == Before::waiting) co_await expect_right_or_short(node, first, first_done, outcome);
  co_await third.start();
  co_await third.other();
  EXPECT_TRUE(third.is_right());
}

class ShortageTest : public testing::TestWithParam<When> {
 protected:
  // One request after the other finds no memory, until there are no more of them. Returns how often the call failed.
  static int fail_each(std::uint32_t nodes) {
    int failures = 0;
    Outcome outcome{true, false};
    for (std::uint64_t number = 1; outcome.has_come; ++number) {
      outcome = {};
      test::run_on("sim:" + std::to_string(nodes) + ",early=0.5",
                   [&](Node& node) -> Task<> { return call_thrice(node, GetParam(), number, outcome); });
      if (outcome.has_failed) ++failures;
    }
    return failures;
  }
};

TEST_P(ShortageTest, OfOneRequestIsToldAndPasses) {
  const int failures = fail_each(most_nodes);
  // To begin takes no memory, but in the messages.
  EXPECT_TRUE(failures > 0 || GetParam().moment == Moment::begun);
}

// Of a node that sends nothing: what a message's own shortage costs is the fabric's.
TEST_P(ShortageTest, LeavesNothingBehind) {
  const std::size_t blocks = arena::blocks_in_use();
  const int failures = fail_each(1);
  // To begin takes memory where there are shards.
  EXPECT_EQ(failures > 0, GetParam().moment != Moment::begun || GetParam().kind == Kind::sharded);
  EXPECT_EQ(arena::blocks_in_use(), blocks);
}

std::vector<When> cases() {
  std::vector<When> all;
  for (const Kind kind : {Kind::plain, Kind::listed, Kind::sharded, Kind::fused, Kind::in_two_sets}) {
    for (const Before before : {Before::nothing, Before::waiting, Before::alike}) {
      all.push_back({kind, Moment::posted, before});
      all.push_back({kind, Moment::called, before});
    }
    all.push_back({kind, Moment::begun, Before::waiting});
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(Cases, ShortageTest, testing::ValuesIn(cases()), testing::PrintToStringParamName());

// That of the event that is made next: the one that was given back last.
std::uint32_t next_slot(Node& node) {
  const Event event = node.events().create();
  node.events().discard(event);
  return event.slot();
}

// Of calls whose plan is known, each in a stream of its own, which no operation is kept for.
TEST(ShortageOnSim, WhoIsRefusedLeavesNoEvent) {
  int refused = 0;
  test::run_on("sim:1", [&](Node& node) -> Task<> {
    Call call(node, Kind::sharded);
    co_await call.start();
    Outcome outcome{true, false};
    for (std::uint64_t number = 1; outcome.has_come; ++number) {
      outcome = {};
      const std::uint32_t slot = next_slot(node);
      const std::optional<Event> done = try_to_start(call, number, outcome, CollectiveOptions().key(number));
      if (done) {
        co_await test::outcome(*done);
      } else {
        ++refused;
        EXPECT_EQ(next_slot(node), slot) << "request " << number;
      }
    }
  });
  EXPECT_GT(refused, 0);
}

// Else its sender's window would fill, and what comes next be held.
TEST(ShortageOnSim, WhatHasComeForACallThatFailsIsUsedUp) {
  constexpr std::size_t words = 512;  // the largest that is sent unasked
  constexpr std::uint64_t calls = 3 * EagerWindow::bytes / EagerWindow::cost_of(words * sizeof(std::uint64_t));
  test::run_on("sim:2", [&](Node& node) -> Task<> {
    const Group all = Group::all(node);
    std::vector<std::uint64_t> data(words);
    for (std::uint64_t i = 0; i < calls; ++i) {
      const auto start = [&] { return broadcast(node, all, data, 1, CollectiveOptions().key(2 + i)); };
      Event done;
      if (node.id() == 1) done = start();
      co_await barrier(node, all, CollectiveOptions().key(1));
      Outcome outcome;
      if (node.id() == 0) done = start_posted(node, start, 1, outcome);
      const std::string said = co_await test::outcome(done);
      EXPECT_EQ(said, node.id() == 1 ? "" : shortage) << i;
    }
  });
}

// Node 0 finds no memory for one request when it calls what node 1 has called before, which has said what it had to
// say. Returns what node 0 heard.
std::string call_late(const std::string& fabric, std::uint64_t number, Outcome& outcome) {
  constexpr std::size_t words = 20'000;
  std::string heard;
  test::run_on(fabric, [&](Node& node) -> Task<> {
    const Group all = Group::all(node);
    std::vector<std::uint64_t> data(words, 1);
    std::vector<std::uint64_t> result(words);
    const auto start = [&] { return allreduce(node, all, data, result, sum); };
    Event done;
    if (node.id() == 1) done = start();
    co_await barrier(node, all, CollectiveOptions().key(1));
    if (node.id() == 0) done = start_posted(node, start, number, outcome);
    const std::string said = co_await test::outcome(done);
    EXPECT_TRUE(said.empty() || said == shortage) << "node " << node.id() << ": " << said;
    if (node.id() == 0) heard = said;
    co_await start();
    EXPECT_EQ(result, std::vector<std::uint64_t>(words, 2));
  });
  return heard;
}

// Its peer is healthy: what it says of large data costs it nothing where there is no memory to answer.
TEST(ShortageOnSim, OfALargeMessageIsToldAndPasses) {
  for (const std::string fabric : {"sim:2", "sim:2,peer_pointer=segments"}) {
    int failures = 0;
    Outcome outcome{true, false};
    for (std::uint64_t number = 1; outcome.has_come; ++number) {
      outcome = {};
      SCOPED_TRACE(fabric + ", request " + std::to_string(number));
      if (!call_late(fabric, number, outcome).empty()) ++failures;
    }
    EXPECT_GT(failures, 1) << fabric;
  }
}

// Nobody has said anything yet: who waits greets.
TEST(ShortageOnSim, OfAGreetingIsToldAndPasses) {
  test::run_on("sim:2", [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    int value = 1;
    const auto start = [&] { return broadcast(node, all, std::span(&value, 1), 1); };
    Event done;
    if (node.id() == 0) {
      done = start();
      const Shortage short_of(1);
      node.endpoint().context().run_put_off();
      EXPECT_TRUE(Shortage::has_come());
    }
    co_await barrier(node, all, CollectiveOptions().key(1));
    if (node.id() == 1) done = start();
    const std::string said = co_await test::outcome(done);
    // Who only gives may be through before it hears of it.
    EXPECT_TRUE(said == shortage || (said.empty() && node.id() == 1)) << "node " << node.id() << ": " << said;
    co_await start();
  });
}

/// Adds, and has the thread find no memory after so many additions.
struct AddUntilShort {
  static constexpr bool commutative = true;
  std::size_t* left;
  std::uint64_t operator()(const std::uint64_t& a, const std::uint64_t& b) const {
    if (--*left == 0) test::memory_requests.until_shortage = 1;
    return a + b;
  }
};

// What is said when a user's operator is through with the data.
TEST(ShortageOnSim, OfTheThanksForDataIsToldAndPasses) {
  constexpr std::size_t words = 2000;
  test::run_on("sim:2,peer_pointer=segments", [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    std::vector<std::uint64_t> data(words, 1);
    std::vector<std::uint64_t> result(words);
    std::size_t left = node.id() == 0 ? words : 0;
    const AddUntilShort add{&left};
    const std::string said = co_await test::outcome(reduce(node, all, data, result, add));
    EXPECT_EQ(said, shortage) << "node " << node.id();
    EXPECT_TRUE(Shortage::has_come());
    co_await reduce(node, all, data, result, sum);
  });
}

// A member that cannot be told of a failure would wait for ever.
TEST(ShortageOnSim, OfTheNewsOfAFailureCostsAConnection) {
  test::run_on("sim:2", [](Node& node) -> Task<> {
    const UserEvent go = node.create_user_event();
    std::uint64_t value = 1;
    const std::span<std::uint64_t> data(&value, 1);
    const Event done = allreduce(node, Group::all(node), data, data, sum, CollectiveOptions().after(go));
    if (node.id() == 0) {
      fail_under_shortage(node, go);
    } else {
      go.trigger();
    }
    const std::string said = co_await test::outcome(done);
    EXPECT_EQ(said.rfind(node.id() == 0 ? "io: on purpose" : "peer_lost: ", 0), 0U) << said;
  });
}

// Of one request or another: some are for the message, which its receiver keeps.
TEST(ShortageOnSim, WhatCouldNotBeSentTakesNoRoomInTheWindow) {
  constexpr std::size_t words = 512;
  constexpr std::uint64_t cost = EagerWindow::cost_of(words * sizeof(std::uint64_t));
  constexpr std::uint64_t calls = EagerWindow::bytes / cost - 1;
  constexpr std::uint64_t requests = 8;  // more than a call asks for
  test::run_on("sim:2", [&](Node& node) -> Task<> {
    const Group all = Group::all(node);
    std::vector<std::uint64_t> data(words);
    const auto start = [&] { return broadcast(node, all, data); };
    co_await start();  // a plan is known from now on
    std::uint64_t sent = 0;
    for (std::uint64_t i = 0; i < calls && node.id() == 0; ++i) {
      Outcome outcome;
      const std::string said = co_await test::outcome(start_posted(node, start, 1 + i % requests, outcome));
      if (said.empty()) ++sent;
    }
    const std::uint64_t left = EagerWindow::bytes - (1 + sent) * cost;
    EagerWindow& window = CollectiveService::of(node).eager_window();
    const bool is_all_there = node.id() == 1 || window.with(1).take(left - EagerWindow::cost_of(0));
    EXPECT_TRUE(is_all_there) << sent << " of " << calls << " sent";
    co_await barrier(node, all, CollectiveOptions().key(1));
    for (std::uint64_t i = 0; i < calls && node.id() == 1; ++i) {
      const std::string said = co_await test::outcome(start());
      if (said.empty()) ++sent;
    }
    EXPECT_GT(sent, 0U);
    EXPECT_LT(sent, calls);
  });
}

// Its peers may have calls of their own where it has one for several, and would wait for each.
TEST(ShortageOnSim, OfOneCallForSeveralIsToldForEach) {
  test::run_on("sim:2", [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    const ReduceGroups groups(all, all);
    std::uint64_t first = 1;
    std::uint64_t second = 2;
    const auto reduce_of = [&](std::uint64_t& value) {
      return reduce_call(groups, 1, std::span<const std::uint64_t>(&value, 1), std::span(&value, 1), sum);
    };
    std::vector<Event> done;
    if (node.id() == 0) {
      Outcome outcome;
      done.push_back(start_posted(
          node, [&] { return concurrent(node, {reduce_of(first), reduce_of(second)}).front(); }, 1, outcome));
    } else {
      for (std::uint64_t* const each : {&first, &second}) done.push_back(concurrent(node, {reduce_of(*each)}).front());
    }
    for (const Event each : done) {
      const std::string said = co_await test::outcome(each);
      EXPECT_EQ(said, shortage);
    }
  });
}

// What is not counted would never be forgotten.
TEST(PlanCacheTest, CountsWhatIsKeptThoughThereWasNoMemoryForIt) {
  test::run_on("sim:3", [](Node& node) -> Task<> {
    if (node.id() != 0) co_return;
    const CollectiveCall call(form_of_movement<schedule::Operation::broadcast, char>);
    bool was_short = true;
    for (std::uint64_t request = 1; was_short; ++request) {
      PlanCache cache(CollectiveService::of(node));
      PlanCache::OfGroup& plans = cache.of(Group({0, 2}));
      bool refused = false;
      {
        const Shortage short_of(request);
        try {
          plans.prepare(call, {});
        } catch (const std::bad_alloc&) {
          refused = true;
        }
        was_short = Shortage::has_come();
      }
      EXPECT_EQ(cache.held(), plans.find(call, {}) == nullptr ? 0U : 1U) << "request " << request;
      if (refused) plans.prepare(call, {});
      EXPECT_EQ(cache.held(), 1U) << "request " << request;
    }
  });
}

// So that an inline run can be taken over, whatever has come meanwhile.
TEST(StreamTest, KeepsRoomForTheNextCallWhereLaterOnesAreSpokenOf) {
  for (std::uint32_t later = 1; later < 40; ++later) {
    Stream stream(0, 0);
    stream.make_room(1);
    for (std::uint32_t sequence = 1; sequence <= later; ++sequence) {
      stream.save(sequence, {1, fabric::MessageType::collective_data, {}, {}});
    }
    const std::uint32_t next = stream.take_sequence(1);
    const Shortage short_of(1);
    stream.put_off(next, 1);  // ends the process if there is no room
    EXPECT_FALSE(Shortage::has_come());
    EXPECT_FALSE(stream.has_begun(next));
  }
}

}  // namespace
}  // namespace stretto
