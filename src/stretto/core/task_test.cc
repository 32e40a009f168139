#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "stretto/base/affinity.h"
#include "stretto/core/engine.h"
#include "stretto/core/processor.h"
#include "stretto/core/task_record.h"
#include "stretto/core/test_support.h"

namespace stretto {
namespace {

using test::code_of;
using test::run_on;
using test::scaled;

TEST(Task, AValueComesBackInAFuture) {
  for (const char* const fabric : {"local:1", "sim:1"}) {
    run_on(fabric, [](Node& node) {
      EXPECT_EQ(node.spawn([] { return 42; }).get(), 42);
      EXPECT_EQ(node.spawn([](Node& here) { return here.id(); }).get(), 0U);
      EXPECT_EQ(node.spawn([] { return std::string(1000, 'x'); }).get().size(), 1000U);
      const Event nothing = node.spawn([] {});
      nothing.wait();
      const Future<int> future = node.spawn([] { return 7; });
      EXPECT_EQ(future.get(), 7);
      EXPECT_EQ(future.get(), 7);  // a copy each time
    });
  }
}

TEST(Task, AFuturesValueIsNotThereBeforeItsEvent) {
  run_on("local:1", [](Node& node) {
    const UserEvent gate = node.create_user_event();
    const Future<int> future = node.spawn([] { return 1; }, SpawnOptions().after(gate));
    EXPECT_EQ(code_of([&] { future.take(); }), "invalid_state");
    EXPECT_EQ(code_of([] { Future<int>().take(); }), "invalid_state");
    gate.trigger();
    EXPECT_EQ(future.get(), 1);
  });
}

TEST(Task, WhatEscapesPoisonsWithItsCause) {
  run_on("local:1", [](Node& node) {
    const auto message_of = [&](Event event) {
      const std::optional<Error> error = test::error_of([&] { node.wait(event); });
      return error.has_value() ? error->what() : std::string("none");
    };
    EXPECT_EQ(message_of(node.spawn([] { throw Error(ErrorCode::io, "no paper"); })), "io: no paper");
    EXPECT_EQ(message_of(node.spawn([] { throw std::runtime_error("no ink"); })), "poisoned: a task threw: no ink");
    EXPECT_NE(message_of(node.spawn([]() -> int { throw 5; })).find("no std::exception"), std::string::npos);
    EXPECT_NE(message_of(node.spawn([]() -> Task<int> {
                throw std::out_of_range("in a coroutine");
                co_return 1;
              })).find("in a coroutine"),
              std::string::npos);
  });
}

TEST(Task, APoisonedPreconditionPoisonsAndNothingRuns) {
  run_on("local:1", [](Node& node) {
    std::atomic<int> ran{0};
    const Event failed = node.spawn([] { throw Error(ErrorCode::io, "first"); });
    const Event second = node.spawn([&ran] { ++ran; }, SpawnOptions().after(failed));
    const Future<int> third = node.spawn([&ran] { return ++ran; }, SpawnOptions().after(second));
    const Event coroutine = node.spawn(
        [&ran]() -> Task<> {
          ++ran;
          co_return;
        },
        SpawnOptions().after(third));
    EXPECT_EQ(code_of([&] { coroutine.wait(); }), "io");
    EXPECT_EQ(code_of([&] { third.get(); }), "io");
    EXPECT_EQ(node.cause_of(coroutine)->message(), "first");
    EXPECT_EQ(ran.load(), 0);
  });
}

TEST(Task, PrioritiesOrderTheReadyOnesOldestFirstAmongEquals) {
  for (const char* const fabric : {"local:1", "sim:1"}) {
    run_on(
        fabric,
        [](Node& node) -> Task<> {
          std::vector<int> order;
          std::vector<Event> done;
          const std::array priorities{0, 5, -3, 5, 100, 0, -3, 5};
          for (std::size_t i = 0; i < priorities.size(); ++i) {
            done.push_back(node.spawn([&order, i] { order.push_back(static_cast<int>(i)); },
                                      SpawnOptions().priority(priorities[i])));
          }
          co_await node.merge(done);
          EXPECT_EQ(order, (std::vector<int>{4, 1, 3, 7, 0, 5, 2, 6}));
        },
        1);
  }
}

TEST(Task, ProcessorsRunTheirOwnTasksOneAtATime) {
  run_on(
      "local:1",
      [](Node& node) -> Task<> {
        EXPECT_EQ(node.processors(), 3U);
        std::array<int, 3> counts{};  // unprotected: each is touched by one processor alone
        std::vector<Event> done;
        for (int i = 0; i < static_cast<int>(scaled(30000)); ++i) {
          done.push_back(node.spawn([&count = counts[static_cast<std::size_t>(i % 3)]] { ++count; },
                                    SpawnOptions().processor(i % 3)));
        }
        co_await node.merge(done);
        for (const int count : counts) EXPECT_EQ(count, static_cast<int>(scaled(30000) / 3));
        EXPECT_EQ(code_of([&] { node.spawn([] {}, SpawnOptions().processor(3)); }), "invalid_argument");
      },
      3);
}

TEST(Task, ClosuresAreFreedWhetherTheyRanOrNot) {
  const std::size_t blocks = arena::blocks_in_use();
  const auto token = std::make_shared<int>(1);
  for (const char* const fabric : {"local:2", "sim:2"}) {
    run_on(fabric, [&token](Node& node) {
      const UserEvent never = node.create_user_event();
      const Event failed = node.spawn([token] { throw Error(ErrorCode::io, "x"); });
      node.spawn([token, data = std::vector<int>(1000)] { return data.size(); });
      node.spawn([token, data = std::vector<int>(1000)] { return data.size(); }, SpawnOptions().after(failed));
      node.spawn([token, data = std::vector<int>(1000)] { return data.size(); }, SpawnOptions().after(never));
      node.spawn([token, never]() -> Task<int> {
        co_await never;
        co_return *token;
      });
      node.spawn([token, never] {
        never.wait();
        return *token;
      });
      node.merge({never, node.create_user_event()});
      node.time_of(never);
      node.trigger(node.create_user_event(), never);
    });
    EXPECT_EQ(token.use_count(), 1) << fabric;
  }
  EXPECT_EQ(arena::blocks_in_use(), blocks);
}

TEST(Task, ACallablesDestructorRunsBeforeItsCompletion) {
  run_on("local:1", [](Node& node) {
    const auto token = std::make_shared<int>(0);
    const Event done = node.spawn([token] {});
    done.wait();
    EXPECT_EQ(token.use_count(), 1);
  });
}

// Owned by a task, as a capture or as a coroutine's parameter, or by one that never begins.
template <class Guard>
std::vector<Event> spawn_owners(Node& node, std::vector<std::unique_ptr<Guard>> guards) {
  const UserEvent failed = node.create_user_event();
  node.poison(failed, Error(ErrorCode::io, "on purpose"));
  const auto coroutine = [](std::unique_ptr<Guard> /*guard*/) -> Task<> { co_return; };
  std::vector<Event> owners;
  for (std::size_t i = 0; i < guards.size(); ++i) {
    const SpawnOptions options = SpawnOptions().after(i % 2 == 0 ? no_event : Event(failed));
    if (i % 4 < 2) {
      owners.push_back(node.spawn([guard = std::move(guards[i])] {}, options));
    } else {
      owners.push_back(node.spawn(
          [guard = std::move(guards[i]), coroutine]() mutable { return coroutine(std::move(guard)); }, options));
    }
  }
  return owners;
}

TEST(Task, WhatItOwnsMayUseItsNodeAsItGoes) {
  struct TriggersAtTheEnd {
    UserEvent event;
    ~TriggersAtTheEnd() { event.trigger(); }
  };
  for (const char* const fabric : {"local:1", "sim:1"}) {
    run_on(fabric, [](Node& node) -> Task<> {
      std::vector<std::unique_ptr<TriggersAtTheEnd>> guards(4);
      for (auto& guard : guards) guard.reset(new TriggersAtTheEnd{node.create_user_event()});
      std::vector<Event> gone;
      for (const auto& guard : guards) gone.push_back(guard->event);
      spawn_owners(node, std::move(guards));
      for (const Event event : gone) co_await event;
    });
  }
}

TEST(Task, WhatItOwnsMayWaitAsItGoes) {
  struct WaitsAtTheEnd {
    Event event;
    ~WaitsAtTheEnd() { event.wait(); }
  };
  for (const char* const fabric : {"local:1", "sim:1"}) {
    run_on(
        fabric,
        [](Node& node) -> Task<> {
          const UserEvent gate = node.create_user_event();
          std::vector<std::unique_ptr<WaitsAtTheEnd>> guards(4);
          for (auto& guard : guards) guard.reset(new WaitsAtTheEnd{gate});
          const std::vector<Event> owners = spawn_owners(node, std::move(guards));
          co_await node.spawn([] {}, SpawnOptions().priority(-1));
          for (const Event owner : owners) EXPECT_FALSE(node.has_triggered(owner));
          node.trigger(gate);
          for (std::size_t i = 0; i < owners.size(); ++i) {
            EXPECT_EQ(code_of([&] { node.wait(owners[i]); }), i % 2 == 0 ? "none" : "io");
          }
        },
        1);
  }
}

TEST(Task, ManyTasksFromManyProducers) {
  run_on(
      "local:1",
      [](Node& node) -> Task<> {
        std::atomic<std::uint64_t> ran{0};
        std::vector<Event> producers;
        for (int producer = 0; producer < 8; ++producer) {
          producers.push_back(node.spawn([&ran](Node& here) -> Task<> {
            std::vector<Event> children;
            for (std::uint64_t i = 0; i < scaled(20000); ++i) children.push_back(here.spawn([&ran] { ++ran; }));
            co_await here.merge(children);
          }));
        }
        co_await node.merge(producers);
        EXPECT_EQ(ran.load(), 8 * scaled(20000));
      },
      4);
}

// A worker that is looking for work is not rung for; it must wake others when it finds more than it can do itself.
TEST(Task, ReadyProcessorsFindIdleWorkers) {
  for (std::uint64_t round = 0; round < scaled(300); ++round) {
    run_on(
        "local:1",
        [](Node& node) {
          std::atomic<int> arrived{0};
          std::vector<Event> done;
          for (int processor = 1; processor < 3; ++processor) {
            done.push_back(node.spawn(
                [&arrived] {
                  ++arrived;
                  while (arrived.load() < 2) std::this_thread::yield();  // both must run at the same time
                },
                SpawnOptions().processor(processor)));
          }
          node.wait(node.merge(done));
        },
        3);
  }
}

// On one core nobody attends, and whoever else is free may come too late: once in so many times is enough.
TEST(Task, WhoAttendsToSomethingLargeLeavesItsTasksToOthers) {
  if (usable_cores() < 2) GTEST_SKIP() << "one core: nobody attends to anything";
  run_on("local:1", [](Node& node) {
    const UserEvent something_large = node.create_user_event();
    bool taken = false;
    for (int i = 0; i < 10'000 && !taken; ++i) {
      std::atomic<bool> begun{false};
      const Event done = node.spawn([&begun] { begun = true; }, SpawnOptions().processor(1));
      node.attend(something_large, 1e-3);
      taken = begun;
      node.wait(done);
      std::this_thread::yield();  // the other worker may be on this core
    }
    EXPECT_TRUE(taken);
    something_large.trigger();
  });
}

// Likewise.
TEST(Task, WhoCallsForLongLeavesItsTasksToOthers) {
  if (usable_cores() < 2) GTEST_SKIP() << "one core: nobody else is there";
  run_on("local:1", [](Node& node) {
    bool taken = false;
    for (int i = 0; i < 10'000 && !taken; ++i) {
      std::atomic<bool> begun{false};
      const Event done = node.spawn([&begun] { begun = true; }, SpawnOptions().processor(1));
      {
        const LongCall call(node.engine(), 1.0);
        for (int look = 0; call.leaves_tasks() && look < 1000 && !begun; ++look) std::this_thread::yield();
      }
      taken = begun;
      node.wait(done);
      std::this_thread::yield();  // the other worker may be on this core
    }
    EXPECT_TRUE(taken);
  });
}

struct Counted : fabric::Item {
  Counted(std::set<std::thread::id>& its_threads, std::atomic<int>& its_count) noexcept
      : Item(&Counted::run_it), threads(its_threads), count(its_count) {}
  static void run_it(Item* item) noexcept {
    const std::unique_ptr<Counted> counted(static_cast<Counted*>(item));
    counted->threads.insert(std::this_thread::get_id());
    ++ran_on_this_thread;
    ++counted->count;
  }
  static inline thread_local int ran_on_this_thread = 0;
  std::set<std::thread::id>& threads;  // under the baton
  std::atomic<int>& count;
};

// A little more than a passing thread's budget.
constexpr int items_with_rest = 700;

// Posts so many; this thread keeps the rest of them.
void keep_rest(fabric::Context& context, std::set<std::thread::id>& threads, std::atomic<int>& count) {
  ASSERT_TRUE(context.try_run(
      [&] {
        for (int k = 0; k < items_with_rest; ++k) context.post(new Counted(threads, count));
      },
      fabric::Context::Rest::kept));
  ASSERT_TRUE(fabric::Context::keeps());
}

// Where a thread is late, the service thread helps: once in so many times is enough.
TEST(Task, WhoSharesItsCoreDoesItselfWhatItHasBegun) {
  run_on(
      "local:1",
      [](Node& node) {
        const UserEvent something_large = node.create_user_event();
        fabric::Context& context = node.endpoint().context();
        bool alone = false;
        for (int i = 0; i < 1000 && !alone; ++i) {
          std::set<std::thread::id> threads;
          std::atomic<int> count{0};
          ASSERT_NO_FATAL_FAILURE(keep_rest(context, threads, count));
          node.attend(something_large, 1e-3);
          while (count.load() < items_with_rest) std::this_thread::yield();
          context.enter([&] { alone = threads.size() == 1; });
        }
        EXPECT_TRUE(alone);
        something_large.trigger();
      },
      usable_cores() + 1);
}

// What is over as soon as peers have asked is left to others at once, though the event is still to come.
TEST(Task, WhoStaysUntilItIsAskedDoesNoMoreThan) {
  run_on("local:1", [](Node& node) {
    const UserEvent something_large = node.create_user_event();
    fabric::Context& context = node.endpoint().context();
    std::set<std::thread::id> threads;
    std::atomic<int> count{0};
    ASSERT_NO_FATAL_FAILURE(keep_rest(context, threads, count));
    const int mine = Counted::ran_on_this_thread;
    node.attend_until_asked(something_large, 1.0);
    while (count.load() < items_with_rest) std::this_thread::yield();
    EXPECT_EQ(Counted::ran_on_this_thread, mine);
    something_large.trigger();
  });
}

// Section 3 of the Realm paper: A, a copy of its result (a task here) that B works on, C beside them, then D.
TEST(Task, TheExampleOfTheRealmPaper) {
  for (const char* const fabric : {"local:2", "sim:2,latency=5us"}) {
    Runtime runtime(test::options_for(fabric));
    std::mutex mutex;
    std::vector<std::string> log;
    const auto step = [&](const char* name) {
      const std::lock_guard lock(mutex);
      log.emplace_back(name);
    };
    std::vector<double> source(100, 0);
    std::vector<double> destination(100, 0);
    double d_saw = 0;
    std::vector<UserEvent> finished;
    for (const auto& node : runtime.nodes()) finished.push_back(node->create_user_event());
    runtime.run([&](Node& node) -> Task<> {
      if (node.id() == 0) {
        const UserEvent start = node.create_user_event();
        const Event a = node.spawn(
            [&] {
              step("A");
              source.assign(100, 2.5);
            },
            SpawnOptions().after(start));
        const Event copy = node.spawn(
            [&] {
              step("copy");
              destination = source;
            },
            SpawnOptions().after(a));
        const Event b = node.spawn(
            [&] {
              step("B");
              for (double& value : destination) value *= 2;
            },
            SpawnOptions().after(copy));
        const Event c = node.spawn([&] { step("C"); }, SpawnOptions().after(a));
        const Event d = node.spawn(
            [&] {
              step("D");
              d_saw = destination[99];
            },
            SpawnOptions().after(node.merge({b, c})));
        EXPECT_TRUE(log.empty());  // all of it is deferred
        node.trigger(start);
        node.trigger(finished[1], d);  // an event of the other node
      }
      co_await finished[1];
      EXPECT_EQ(d_saw, 5.0);
    });
    const auto at = [&](const char* name) { return std::find(log.begin(), log.end(), name) - log.begin(); };
    ASSERT_EQ(log.size(), 5U);
    EXPECT_LT(at("A"), at("copy"));
    EXPECT_LT(at("copy"), at("B"));
    EXPECT_LT(at("A"), at("C"));
    EXPECT_EQ(at("D"), 4);
  }
}

}  // namespace
}  // namespace stretto
