#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "stretto/core/task.h"
#include "stretto/core/test_support.h"

namespace stretto {
namespace {

using test::run_on;
using test::scaled;

Task<int> add(int a, int b) { co_return a + b; }

Task<std::string> fail_with(std::string text) {
  throw std::runtime_error(text);
  co_return text;
}

TEST(Coroutine, AwaitsEventsFuturesAndTasks) {
  for (const char* const fabric : {"local:1", "local:2", "sim:2"}) {
    std::atomic<int> finished{0};
    run_on(fabric, [&finished](Node& node) -> Task<> {
      co_await no_event;
      co_await node.spawn([] {});
      EXPECT_EQ(co_await node.spawn([] { return 5; }), 5);
      EXPECT_EQ(co_await add(2, 3), 5);
      EXPECT_EQ(co_await node.spawn([]() -> Task<int> { co_return co_await add(1, 1); }), 2);
      const UserEvent event = node.create_user_event();
      node.spawn([event] { event.trigger(); });
      co_await event;
      ++finished;
    });
    EXPECT_GE(finished.load(), 1);
  }
}

TEST(Coroutine, ExceptionsComeThroughAwait) {
  run_on("local:1", [](Node& node) -> Task<> {
    std::string caught;
    try {
      co_await fail_with("in a nested task");
    } catch (const std::runtime_error& error) {
      caught = error.what();
    }
    EXPECT_EQ(caught, "in a nested task");
    const Event poisoned = node.spawn([] { throw Error(ErrorCode::io, "in a spawned task"); });
    for (int twice = 0; twice < 2; ++twice) {
      try {
        co_await poisoned;
        ADD_FAILURE() << "a poisoned event was awaited in vain";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::io);
        caught = error.message();
      }
    }
    EXPECT_EQ(caught, "in a spawned task");
    co_await node.spawn([] {});  // and on it goes
  });
}

TEST(Coroutine, WhatEscapesThroughManyLevelsPoisons) {
  struct Level {
    static Task<int> at(Node& node, int depth) {
      if (depth == 0) {
        co_await node.spawn([] {});
        throw Error(ErrorCode::mismatch, "at the bottom");
      }
      co_return co_await at(node, depth - 1) + 1;
    }
  };
  run_on("local:1", [](Node& node) -> Task<> {
    const Future<int> deep = node.spawn([](Node& here) { return Level::at(here, 100); });
    EXPECT_EQ(test::code_of([&] { deep.get(); }), "mismatch");
    co_return;
  });
}

// Without the trampoline an unoptimised or sanitized build overflows its stack here (GCC 12, symmetric transfer).
TEST(Coroutine, AMillionHopsNeedNoStack) {
  run_on("local:1", [](Node& node) -> Task<> {
    std::uint64_t sum = 0;
    for (int i = 0; i < 1'000'000; ++i) sum += static_cast<std::uint64_t>(co_await add(i, 1));
    EXPECT_EQ(sum, 500'000'500'000U);
    const UserEvent first = node.create_user_event();
    Event last = first;
    for (std::uint64_t i = 0; i < scaled(200'000); ++i) {
      last = node.spawn([](Event before) { return [before]() -> Task<> { co_await before; }; }(last));
    }
    first.trigger();
    co_await last;
  });
}

Task<std::uint64_t> nested(Node& node, std::uint64_t depth) {
  if (depth == 0) {
    co_await node.spawn([] {});
    co_return 0;
  }
  co_return co_await nested(node, depth - 1) + 1;
}

TEST(Coroutine, NestedTasksGoAHundredThousandDeep) {
  run_on("local:1", [](Node& node) -> Task<> {
    const std::uint64_t depth = scaled(100'000);
    EXPECT_EQ(co_await nested(node, depth), depth);
  });
}

// GCC 12 destroys aggregates, and closures that own something, twice when they are built inside of a co_await
// expression. Options have constructors; closures are spawned first and awaited then.
struct CountedToken {
  explicit CountedToken(std::atomic<int>& balance_of) : balance(&balance_of) { ++*balance; }
  CountedToken(const CountedToken& other) : balance(other.balance) { ++*balance; }
  CountedToken& operator=(const CountedToken&) = default;
  ~CountedToken() { --*balance; }
  std::atomic<int>* balance;
};

class CountedOptions : public SpawnOptions {
 public:
  explicit CountedOptions(std::atomic<int>& balance_of) : token_(balance_of) {}

 private:
  CountedToken token_;
};

Task<int> count_tokens(CountedToken token) { co_return token.balance->load(); }

TEST(Coroutine, WhatIsBuiltInsideAnAwaitIsDestroyedOnce) {
  std::atomic<int> balance{0};
  run_on("local:1", [&balance](Node& node) -> Task<> {
    for (int i = 0; i < 100; ++i) {
      const UserEvent gate = node.create_user_event();
      node.trigger(gate, node.spawn([] {}));
      co_await node.spawn([] {}, CountedOptions(balance).after(gate).priority(3).processor(0));
      EXPECT_EQ(balance.load(), 0);
      EXPECT_GE(co_await count_tokens(CountedToken(balance)), 1);
      EXPECT_EQ(balance.load(), 0);
      const Future<int> spawned = node.spawn([token = CountedToken(balance)] { return token.balance->load(); });
      EXPECT_GE(co_await spawned, 1);
      EXPECT_EQ(balance.load(), 0);
    }
  });
  EXPECT_EQ(balance.load(), 0);
}

template <class Awaited>
concept may_be_awaited = requires(detail::PromiseBase& promise, Awaited&& awaited) {
  promise.await_transform(std::forward<Awaited>(awaited));
};

// What would be destroyed twice does not compile; what is named first, or owns nothing, does.
template <class F>
constexpr bool is_refused_in_place() {
  using Completion = decltype(std::declval<Node&>().spawn(std::declval<F>()));
  static_assert(may_be_awaited<Completion&> && may_be_awaited<const Completion&>);
  return !may_be_awaited<Completion>;
}

TEST(Coroutine, AClosureThatOwnsSomethingIsSpawnedBeforeItIsAwaited) {
  auto owns_nothing = [number = 1] { return number; };
  auto owns = [text = std::string()] { return text.size(); };
  auto gives_nothing = [text = std::string()] { (void)text; };
  EXPECT_FALSE(is_refused_in_place<decltype(owns_nothing)>());
  EXPECT_FALSE(is_refused_in_place<decltype(owns)&>());
  EXPECT_EQ(is_refused_in_place<decltype(owns)>(), detail::destroys_closures_twice);
  EXPECT_EQ(is_refused_in_place<decltype(gives_nothing)>(), detail::destroys_closures_twice);
}

TEST(Coroutine, CapturesLiveAsLongAsTheTask) {
  run_on("local:1", [](Node& node) -> Task<> {
    std::vector<Future<std::size_t>> sizes;
    const UserEvent gate = node.create_user_event();
    for (std::size_t i = 0; i < 100; ++i) {
      sizes.push_back(node.spawn([data = std::vector<std::size_t>(1000, i), gate]() -> Task<std::size_t> {
        co_await gate;
        co_return data[999];
      }));
    }
    gate.trigger();
    for (std::size_t i = 0; i < sizes.size(); ++i) EXPECT_EQ(co_await sizes[i], i);
  });
}

TEST(Coroutine, ResumesOnItsOwnProcessorNeverInsideTheTrigger) {
  run_on(
      "local:1",
      [](Node& node) -> Task<> {
        for (std::uint64_t i = 0; i < scaled(2000); ++i) {
          const UserEvent event = node.create_user_event();
          std::atomic<bool> triggering{false};
          std::atomic<bool> resumed_inside{false};
          const Event waiter = node.spawn(
              [&](Node&) -> Task<> {
                co_await event;
                resumed_inside = triggering.load();
              },
              SpawnOptions().processor(0));
          // On the same processor: what resumes cannot overlap with this task.
          const Event triggerer = node.spawn(
              [&] {
                triggering = true;
                event.trigger();
                triggering = false;
              },
              SpawnOptions().processor(0));
          co_await node.merge(waiter, triggerer);
          EXPECT_FALSE(resumed_inside.load());
        }
      },
      2);
}

TEST(Coroutine, ALargeFrameIsNoProblem) {
  run_on("local:1", [](Node& node) -> Task<> {
    const int value = co_await node.spawn([](Node& here) -> Task<int> {
      std::array<int, 100'000> large;
      large.fill(1);
      co_await here.spawn([] {});
      co_return large[99'999];
    });
    EXPECT_EQ(value, 1);
  });
}

TEST(Coroutine, AnEmptyTaskCannotBeSpawned) {
  run_on("local:1", [](Node& node) -> Task<> {
    const Event empty = node.spawn([] { return Task<>(); });
    EXPECT_EQ(test::code_of([&] { node.wait(empty); }), "invalid_state");
    co_return;
  });
}

TEST(Coroutine, AnEmptyTaskCannotBeAwaited) {
  run_on("local:1", [](Node&) -> Task<> {
    Task<int> once = add(1, 2);
    EXPECT_EQ(co_await std::move(once), 3);
    std::string code = "none";
    try {
      co_await std::move(once);
    } catch (const Error& error) {
      code = std::string(name_of(error.code()));
    }
    EXPECT_EQ(code, "invalid_state");
  });
}

TEST(Coroutine, OneThatAwaitsAgainAfterItsCancellationIsToldAgain) {
  for (const char* const fabric : {"local:1", "sim:1"}) {
    std::atomic<int> told{0};
    run_on(fabric, [&told](Node& node) -> Task<> {
      const UserEvent never = node.create_user_event();
      node.spawn([&told, never]() -> Task<> {
        for (int i = 0; i < 5; ++i) {
          try {
            co_await never;
          } catch (const Error& error) {
            if (error.code() == ErrorCode::cancelled) ++told;
          }
        }
      });
      co_return;
    });
    EXPECT_EQ(told.load(), 5) << fabric;
  }
}

}  // namespace
}  // namespace stretto
