#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "stretto/core/test_support.h"

// wait(): in plain tasks, which keep their stacks meanwhile, in foreign threads, and where it is not legal.

namespace stretto {
namespace {

using test::code_of;
using test::options_for;
using test::run_on;
using test::scaled;

TEST(Wait, ManyPlainTasksWaitAtOnce) {
  for (const char* const fabric : {"local:1", "sim:1"}) {
    run_on(fabric, [](Node& node) -> Task<> {
      const UserEvent gate = node.create_user_event();
      std::atomic<std::uint64_t> through{0};
      std::vector<Event> tasks;
      for (std::uint64_t i = 0; i < scaled(3000); ++i) {
        tasks.push_back(node.spawn([&through, gate] {
          gate.wait();
          ++through;
        }));
      }
      co_await node.spawn([] {}, SpawnOptions().priority(-1).processor(0));
      EXPECT_EQ(through.load(), 0U);
      gate.trigger();
      co_await node.merge(tasks);
      EXPECT_EQ(through.load(), scaled(3000));
    });
  }
}

// Waits for its child, which waits for its own: as many stacks as levels.
int descend(Node& node, int depth) {
  if (depth == 0) return 0;
  return node.spawn([depth](Node& here) { return descend(here, depth - 1); }).get() + 1;
}

// A page that nobody may touch lies before each stack.
std::size_t guarded_stacks_of_this_process() {
  std::ifstream maps("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);) {
    if (line.find(" ---p ") != std::string::npos) ++count;
  }
  return count;
}

TEST(Wait, StacksOfManyTasksThatHaveWaitedAreGivenBack) {
  constexpr std::size_t many = 2000;
  run_on(
      "local:1",
      [](Node& node) {
        const UserEvent all_wait = node.create_user_event();
        std::vector<Event> done;
        for (std::size_t i = 0; i < many; ++i) done.push_back(node.spawn([&] { all_wait.wait(); }));
        node.spawn([] {}, SpawnOptions().priority(-1)).wait();  // the others have begun
        const std::size_t while_they_wait = guarded_stacks_of_this_process();
        node.trigger(all_wait);
        for (const Event each : done) each.wait();
        EXPECT_LT(guarded_stacks_of_this_process() + many / 2, while_they_wait);
      },
      1);
}

TEST(Wait, WaitsNest) {
  for (const char* const fabric : {"local:1", "sim:1"}) {
    run_on(fabric, [](Node& node) {
      const int depth = static_cast<int>(scaled(1000));
      EXPECT_EQ(descend(node, depth), depth);
    });
  }
}

TEST(Wait, WhatIsOverIsNotWaitedFor) {
  run_on("local:1", [](Node& node) {
    no_event.wait();
    const UserEvent event = node.create_user_event();
    event.trigger();
    event.wait();
    const UserEvent failed = node.create_user_event();
    failed.poison(Error(ErrorCode::io, "over"));
    EXPECT_EQ(code_of([&] { failed.wait(); }), "io");
  });
}

// Two stacks suspended inside catch blocks of the same thread: each must find its own exception again.
TEST(Wait, ExceptionsBeingHandledStayWithTheirTask) {
  run_on(
      "local:1",
      [](Node& node) -> Task<> {
        const UserEvent both_inside = node.create_user_event();
        const UserEvent first_may_go = node.create_user_event();
        const auto task = [](const char* text, Event until) {
          return [text, until] {
            std::string rethrown;
            try {
              throw std::runtime_error(text);
            } catch (const std::runtime_error&) {
              until.wait();
              EXPECT_EQ(std::uncaught_exceptions(), 0);
              try {
                throw;  // what the thread believes is being handled
              } catch (const std::runtime_error& error) {
                rethrown = error.what();
              }
            }
            EXPECT_EQ(rethrown, text);
            EXPECT_EQ(std::current_exception(), nullptr);
          };
        };
        const Event one = node.spawn(task("one", first_may_go));
        const Event two = node.spawn(task("two", both_inside));
        co_await node.spawn([both_inside] { both_inside.trigger(); });
        co_await two;
        first_may_go.trigger();
        co_await one;
      },
      1);
}

TEST(Wait, DestructorsThatRunWhileAnExceptionFliesMayWait) {
  struct WaitsAtTheEnd {
    Event event;
    ~WaitsAtTheEnd() {
      event.wait();
      EXPECT_EQ(std::uncaught_exceptions(), 1);
    }
  };
  run_on(
      "local:1",
      [](Node& node) -> Task<> {
        const UserEvent gate = node.create_user_event();
        const Event thrower = node.spawn([gate] {
          const WaitsAtTheEnd guard{gate};
          throw std::runtime_error("flying");
        });
        co_await node.spawn([] { EXPECT_EQ(std::uncaught_exceptions(), 0); });
        gate.trigger();
        EXPECT_EQ(code_of([&] { thrower.wait(); }), "poisoned");
      },
      1);
}

TEST(Wait, ForeignThreadsBlock) {
  Runtime runtime(options_for("local:2"));
  std::vector<std::thread> threads;
  std::atomic<int> through{0};
  const UserEvent event = runtime.nodes()[0]->create_user_event();
  const UserEvent failing = runtime.nodes()[1]->create_user_event();
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      Node& node = *runtime.nodes()[static_cast<std::size_t>(i % 2)];  // half of them at a node that is not the owner
      node.wait(event);
      EXPECT_EQ(code_of([&] { node.wait(failing); }), "io");
      EXPECT_EQ(node.has_triggered(failing), true);
      EXPECT_EQ(code_of([&] { event.wait(); }), "invalid_state");  // no task: which node?
      ++through;
    });
  }
  runtime.run([&](Node& node) {
    if (node.id() == 1) node.trigger(event);
    if (node.id() == 0) node.poison(failing, Error(ErrorCode::io, "on purpose"));
    while (through.load() < 8) std::this_thread::yield();
  });
  for (std::thread& thread : threads) thread.join();
}

TEST(Wait, OnSimOnlyTasksWait) {
  Runtime runtime(options_for("sim:1"));
  Node& node = *runtime.nodes()[0];
  const UserEvent event = node.create_user_event();
  EXPECT_EQ(code_of([&] { node.wait(event); }), "invalid_state");
  runtime.run([&](Node& here) {
    here.spawn([&here] { here.charge(1e-6); }).wait();
    EXPECT_NEAR(here.now(), 1e-6, 1e-12);
  });
}

TEST(Wait, UnderABatonItIsAnError) {
  run_on("local:1", [](Node& node) {
    const UserEvent event = node.create_user_event();
    std::string code;
    node.endpoint().context().enter([&] { code = code_of([&] { node.wait(event); }); });
    EXPECT_EQ(code, "invalid_state");
  });
}

TEST(Wait, CallsThatNeedATaskSayso) {
  const UserEvent event(Event(0, 1, 1));
  EXPECT_EQ(code_of([&] { event.wait(); }), "invalid_state");
  EXPECT_EQ(code_of([&] { event.has_triggered(); }), "invalid_state");
  EXPECT_EQ(code_of([&] { event.trigger(); }), "invalid_state");
  EXPECT_EQ(code_of([&] { event.poison(Error(ErrorCode::io, "x")); }), "invalid_state");
  Runtime runtime(options_for("sim:1"));
  EXPECT_EQ(code_of([&] { runtime.nodes()[0]->charge(1); }), "invalid_state");
  runtime.run([](Node& node) {
    for (const double seconds : {-1.0, 1e300, std::numeric_limits<double>::quiet_NaN()}) {
      EXPECT_EQ(code_of([&] { node.charge(seconds); }), "invalid_argument");
    }
  });
}

TEST(Wait, AWorkerDoesOtherWorkMeanwhileAndComesBack) {
  run_on(
      "local:1",
      [](Node& node) {
        for (std::uint64_t i = 0; i < scaled(3000); ++i) {
          const std::thread::id before = std::this_thread::get_id();
          const int value = node.spawn([i] { return static_cast<int>(i); }).get();
          EXPECT_EQ(value, static_cast<int>(i));
          EXPECT_EQ(std::this_thread::get_id(), before);  // its stack belongs to that thread
        }
      },
      2);
}

TEST(Wait, ManyWaitersOnManyWorkers) {
  run_on(
      "local:2",
      [](Node& node) -> Task<> {
        std::vector<Event> tasks;
        for (std::uint64_t i = 0; i < scaled(2000); ++i) {
          tasks.push_back(node.spawn([](Node& here) {
            const UserEvent event = here.create_user_event();
            here.spawn([event] { event.trigger(); });
            event.wait();
          }));
        }
        co_await node.merge(tasks);
      },
      4);
}

}  // namespace
}  // namespace stretto
