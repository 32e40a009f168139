#include "stretto/fabric/context.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "stretto/fabric/conformance.h"
#include "stretto/fabric/overflow.h"

namespace stretto::fabric {
namespace {

using conformance::ServingThread;

// Writes its number into a log that only the baton protects.
struct Note : Item {
  Note(std::vector<int>& its_log, int its_number) noexcept : Item(&Note::write), log(its_log), number(its_number) {}
  static void write(Item* item) noexcept {
    const std::unique_ptr<Note> note(static_cast<Note*>(item));
    note->log.push_back(note->number);
  }
  std::vector<int>& log;
  int number;
};

struct CountingOverflow : Overflow {
  void hand_over(Context&) noexcept override { ++count; }
  std::atomic<int> count{0};  // who hands over has let go of the baton
};

TEST(Context, WhoPostsToAnIdleContextServesIt) {
  Context context(nullptr);
  std::vector<int> log;
  context.post(new Note(log, 1));
  EXPECT_EQ(log, (std::vector<int>{1}));
  EXPECT_FALSE(context.serve());
  EXPECT_FALSE(Context::serving());
}

TEST(Context, RunsWhatIsQueuedBeforeWhatItTriesToRun) {
  std::vector<int> log;
  CountingOverflow overflow;
  Context context(&overflow);
  EXPECT_TRUE(context.try_run([&] {
    log.push_back(1);
    EXPECT_TRUE(Context::serving());
    EXPECT_FALSE(context.try_run([&] { log.push_back(0); }));
    EXPECT_THROW(context.enter([] {}), Error);
    std::thread([&] { EXPECT_FALSE(context.try_run([&] { log.push_back(0); })); }).join();
    context.post(new Note(log, 2));
  }));
  EXPECT_EQ(log, (std::vector<int>{1, 2}));
  // More than a passing thread does is left behind.
  const auto leave_some_behind = [&](std::size_t many) {
    const std::size_t before = log.size();
    context.enter([&] {
      for (std::size_t i = 0; i < many; ++i) context.post(new Note(log, 3));
    });
    EXPECT_LT(log.size(), before + many);
  };
  leave_some_behind(600);
  EXPECT_TRUE(context.try_run([&] { log.push_back(4); }));
  EXPECT_EQ(log.size(), 603U);
  EXPECT_EQ(log.back(), 4);
  leave_some_behind(2000);
  EXPECT_FALSE(context.try_run([&] { log.push_back(0); })) << "too much comes first";
  while (context.serve()) {
  }
  EXPECT_EQ(log.size(), 2603U);
  EXPECT_EQ(std::ranges::count(log, 0), 0);
}

// Whoever has posted may be busy elsewhere for long.
TEST(Context, RunsWhatOthersHavePostedAndNotServedYet) {
  Context busy(nullptr);
  Context context(nullptr);
  std::vector<int> log;
  busy.enter([&] {
    context.post(new Note(log, 1));
    EXPECT_TRUE(log.empty());
    std::thread([&] { EXPECT_TRUE(context.try_run([&] { log.push_back(2); })); }).join();
    EXPECT_EQ(log, (std::vector<int>{1, 2}));
  });
  EXPECT_EQ(log, (std::vector<int>{1, 2}));
}

TEST(Context, WhatIsThrownUnderTheBatonReachesTheCallerAfterAllThatWasPosted) {
  Context context(nullptr);
  Context other(nullptr);
  std::vector<int> log;
  const auto fail = [&] {
    context.post(new Note(log, 2));
    other.post(new Note(log, 3));
    log.push_back(1);
    throw std::runtime_error("under the baton");
  };
  EXPECT_THROW(context.try_run(fail), std::runtime_error);
  EXPECT_EQ(log, (std::vector<int>{1, 2, 3}));
  EXPECT_FALSE(Context::serving());
  EXPECT_TRUE(context.try_run([&] { log.push_back(4); })) << "the baton was given back";
  EXPECT_EQ(log, (std::vector<int>{1, 2, 3, 4}));
}

// Who finds the baton taken leaves its work to the holder, who sees it when he lets go.
TEST(Context, NothingIsLeftBehindWhereManyPostAndTryToRun) {
  CountingOverflow overflow;
  Context context(&overflow);
  constexpr int rounds = 1'000'000;
  std::atomic<int> noted{0};
  struct Count : Item {
    explicit Count(std::atomic<int>& its_counter) noexcept : Item(&Count::add), counter(its_counter) {}
    static void add(Item* item) noexcept {
      const std::unique_ptr<Count> count(static_cast<Count*>(item));
      ++count->counter;
    }
    std::atomic<int>& counter;
  };
  int ran = 0;
  std::thread poster([&] {
    for (int i = 0; i < rounds; ++i) context.post(new Count(noted));
  });
  int tried = 0;
  for (int i = 0; i < rounds; ++i) tried += context.try_run([&] { ++ran; }) ? 1 : 0;
  poster.join();
  EXPECT_EQ(ran, tried);
  if (overflow.count == 0) {
    EXPECT_EQ(noted, rounds) << "an item was left without a server";
  }
  while (context.serve()) {
  }
  EXPECT_EQ(noted, rounds);
}

TEST(Context, EnterRunsUnderTheBatonBeforeItReturnsAndThenServes) {
  Context context(nullptr);
  std::vector<int> log;
  context.enter([&] {
    EXPECT_TRUE(Context::serving());
    context.post(new Note(log, 2));
    context.post(new Note(log, 3));
    EXPECT_TRUE(log.empty());
    EXPECT_FALSE(context.serve()) << "nobody takes a baton while holding one";
    log.push_back(1);
  });
  EXPECT_EQ(log, (std::vector<int>{1, 2, 3}));
}

TEST(Context, TryEnterDoesNotWaitForTheBaton) {
  Context context(nullptr);
  std::vector<int> log;
  EXPECT_TRUE(context.try_enter([&] {
    context.post(new Note(log, 2));
    log.push_back(1);
    std::thread([&] {
      EXPECT_FALSE(context.try_enter([&] { log.push_back(0); }));
      EXPECT_FALSE(context.serve());
    }).join();
  }));
  EXPECT_EQ(log, (std::vector<int>{1, 2}));
  EXPECT_TRUE(context.try_enter([] {})) << "the baton was given back";
}

TEST(Context, WhatIsPutOffRunsOnceWhenNothingElseDoes) {
  Context context(nullptr);
  std::vector<int> log;
  EXPECT_FALSE(context.run_put_off());
  context.enter([&] {
    context.put_off(new Note(log, 1));
    context.put_off(new Note(log, 2));
    context.post(new Note(log, 3));
    EXPECT_FALSE(context.run_put_off()) << "it is serving";
    std::thread([&] { EXPECT_FALSE(context.run_put_off()) << "the baton is not free"; }).join();
  });
  EXPECT_EQ(log, (std::vector<int>{3}));
  EXPECT_TRUE(context.run_put_off());
  EXPECT_EQ(log, (std::vector<int>{3, 2, 1}));
  EXPECT_FALSE(context.run_put_off());
}

// It may put itself off again.
TEST(Context, WhatIsPutOffMeanwhileWaitsForTheNextTime) {
  struct Again : Item {
    explicit Again(Context& its_context) noexcept : Item(&Again::count), context(its_context) {}
    static void count(Item* item) noexcept {
      auto* const again = static_cast<Again*>(item);
      ++again->times;
      again->context.put_off(again);
    }
    Context& context;
    int times = 0;
  };
  Context context(nullptr);
  Again again(context);
  context.enter([&] { context.put_off(&again); });
  EXPECT_TRUE(context.run_put_off());
  EXPECT_TRUE(context.run_put_off());
  EXPECT_EQ(again.times, 2);
}

// As long as something of that kind is under way, which each of several may be.
void expect_hinted(void (Context::*begin)(), void (Context::*end)(), bool (Context::*is_under_way)() const) {
  Context context(nullptr);
  EXPECT_FALSE((context.*is_under_way)());
  context.enter([&] {
    (context.*begin)();
    (context.*begin)();
    (context.*end)();
  });
  EXPECT_TRUE((context.*is_under_way)());
  context.enter([&] { (context.*end)(); });
  EXPECT_FALSE((context.*is_under_way)());
}

TEST(Context, IsEngagedAsLongAsSomethingLargeIsUnderWay) {
  expect_hinted(&Context::engage, &Context::disengage, &Context::engaged);
}

TEST(Context, ExpectsRequestsUntilEachHasCome) {
  expect_hinted(&Context::expect_request, &Context::note_request, &Context::expects_request);
}

TEST(Context, AnExceptionFromEnterReachesTheCallerAndLeavesTheContextServed) {
  Context context(nullptr);
  std::vector<int> log;
  EXPECT_THROW(context.enter([&] {
    context.post(new Note(log, 1));
    throw std::runtime_error("on purpose");
  }),
               std::runtime_error);
  EXPECT_EQ(log, (std::vector<int>{1}));
  context.post(new Note(log, 2));
  EXPECT_EQ(log, (std::vector<int>{1, 2}));
}

TEST(Context, APollIsAskedUnderTheBaton) {
  Context context(nullptr);
  struct Source {
    Context& context;
    std::vector<int> log;
    int left = 3;
  } source{context, {}};
  context.set_poll(
      [](void* argument) {
        auto& from = *static_cast<Source*>(argument);
        EXPECT_FALSE(from.context.serve());
        if (from.left == 0) return false;
        from.context.post(new Note(from.log, from.left--));
        return true;
      },
      &source);
  while (context.serve()) {
  }
  EXPECT_EQ(source.log, (std::vector<int>{3, 2, 1}));
}

TEST(Context, ServesUntilItIsEnoughOrTheTurnsAreOver) {
  Context context(nullptr);
  struct Source {
    int polls = 0;
    bool has_something = false;
  } source;
  context.set_poll(
      [](void* argument) {
        Source& polled = *static_cast<Source*>(argument);
        ++polled.polls;
        return polled.has_something;
      },
      &source);
  EXPECT_EQ(context.serve_until(10, [] { return false; }), 10U);
  EXPECT_EQ(source.polls, 10);
  EXPECT_EQ(context.serve_until(10, [] { return true; }), 4U) << "what others do is seen now and then";
  source.has_something = true;
  EXPECT_EQ(context.serve_until(10, [&] { return source.polls == 17; }), 3U) << "what came is seen at once";
  // What is queued is done, and ends it.
  std::vector<int> log;
  bool posted = false;
  EXPECT_EQ(context.serve_until(10,
                                [&] {
                                  if (!std::exchange(posted, true)) context.post(new Note(log, 7));
                                  return false;
                                }),
            2U);
  EXPECT_EQ(log, (std::vector<int>{7}));
  // Not while somebody serves.
  context.enter([&] { EXPECT_EQ(context.serve_until(10, [] { return false; }), 0U); });
}

// A message that goes round many contexts: each hop is posted from inside of the one before.
struct Hop : Item {
  Hop(std::vector<std::unique_ptr<Context>>& its_ring, int hops) noexcept
      : Item(&Hop::go), ring(its_ring), left(hops) {}
  static void go(Item* item) noexcept {
    auto* const hop = static_cast<Hop*>(item);
    if (hop->left == 0) return;
    --hop->left;
    hop->ring[static_cast<std::size_t>(hop->left) % hop->ring.size()]->post(hop);
  }
  std::vector<std::unique_ptr<Context>>& ring;
  int left;
};

TEST(Context, AChainOverContextsNeedsNoStack) {
  std::vector<std::unique_ptr<Context>> ring;
  for (int i = 0; i < 3; ++i) ring.push_back(std::make_unique<Context>(nullptr));
  Hop hop(ring, 1'000'000);
  ring[0]->post(&hop);
  EXPECT_EQ(hop.left, 0);
}

TEST(Context, WhatOutgrowsTheBudgetIsHandedOver) {
  struct Collector : Overflow {
    void hand_over(Context& context) noexcept override { contexts.push_back(&context); }
    std::vector<Context*> contexts;
  } collector;
  Context context(&collector);
  std::vector<int> log;
  context.enter([&] {
    for (int i = 0; i < 2000; ++i) context.post(new Note(log, i));
  });
  // The passing thread did part of it, and left the rest.
  ASSERT_FALSE(log.empty());
  ASSERT_LT(log.size(), 2000U);
  int rounds = 0;
  while (!collector.contexts.empty()) {
    ASSERT_EQ(collector.contexts, (std::vector<Context*>{&context}));
    collector.contexts.clear();
    EXPECT_TRUE(context.serve());
    ++rounds;
  }
  EXPECT_GT(rounds, 1);
  ASSERT_EQ(log.size(), 2000U);
  EXPECT_TRUE(std::is_sorted(log.begin(), log.end()));
}

TEST(Context, WhoKeepsTheRestServesAgainOrHandsItOver) {
  CountingOverflow overflow;
  Context context(&overflow);
  std::vector<int> log;
  auto post_many = [&] {
    for (int i = 0; i < 2000; ++i) context.post(new Note(log, i));
  };
  EXPECT_TRUE(context.try_run(post_many, Context::Rest::kept));
  EXPECT_TRUE(Context::keeps());
  int rounds = 0;
  while (Context::keeps()) {
    const std::size_t done = log.size();
    EXPECT_TRUE(context.serve(Context::Rest::kept));
    EXPECT_GT(log.size(), done);
    ++rounds;
  }
  EXPECT_GT(rounds, 1);
  EXPECT_EQ(log.size(), 2000U);
  Context::hand_over_rest();
  EXPECT_EQ(overflow.count, 0);

  EXPECT_TRUE(context.try_run(post_many, Context::Rest::kept));
  Context::hand_over_rest();
  EXPECT_EQ(overflow.count, 1);
  // Who got it keeps nothing for others.
  while (context.serve()) {
  }
  EXPECT_FALSE(Context::keeps());
  EXPECT_EQ(log.size(), 4000U);
}

// What it keeps of others it does as it comes again for its own.
TEST(Context, WhoKeepsTheRestKeepsThatOfOthersToo) {
  CountingOverflow overflow;
  Context mine(&overflow);
  Context other(&overflow);
  std::vector<int> log;
  const auto post_many = [&] {
    mine.post(new Note(log, -1));
    for (int i = 0; i < 2000; ++i) other.post(new Note(log, i));
  };
  EXPECT_TRUE(mine.try_run([&] { post_many(); }, Context::Rest::kept));
  ASSERT_LT(log.size(), 2001U);
  int rounds = 0;
  while (Context::keeps()) {
    EXPECT_TRUE(mine.serve(Context::Rest::kept));
    ++rounds;
  }
  EXPECT_GT(rounds, 1);
  EXPECT_EQ(log.size(), 2001U);
  EXPECT_EQ(overflow.count, 0);

  EXPECT_TRUE(mine.try_run([&] { post_many(); }, Context::Rest::kept));
  Context::hand_over_rest();
  EXPECT_EQ(overflow.count, 1);
  EXPECT_FALSE(Context::keeps());
  while (other.serve()) {
  }
  EXPECT_EQ(log.size(), 4002U);
}

TEST(Context, ExpensiveItemsUseUpTheBudgetSooner) {
  CountingOverflow collector;
  struct Costly : Item {
    Costly(Context& its_context, int& its_counter) noexcept
        : Item(&Costly::work), context(its_context), counter(its_counter) {}
    static void work(Item* item) noexcept {
      const std::unique_ptr<Costly> costly(static_cast<Costly*>(item));
      costly->context.spend(1'000'000);
      ++costly->counter;
    }
    Context& context;
    int& counter;
  };
  Context context(&collector);
  int done = 0;
  context.enter([&] {
    for (int i = 0; i < 3; ++i) context.post(new Costly(context, done));
  });
  EXPECT_EQ(done, 1);
  EXPECT_EQ(collector.count, 1);
  context.serve();
  EXPECT_EQ(done, 2);
  context.serve();
  EXPECT_EQ(done, 3);
  EXPECT_EQ(collector.count, 3 - 1);
}

// From many threads: each item once, those of one thread in its order, none forgotten.
TEST(Context, ManyProducersLoseNothingAndKeepTheirOrder) {
  constexpr int producers = 4;
  constexpr int each = 20'000;
  struct Numbered : Item {
    Numbered() noexcept : Item(&Numbered::arrive) {}
    static void arrive(Item* item) noexcept {
      auto* const self = static_cast<Numbered*>(item);
      std::vector<int>& heard = (*self->logs)[static_cast<std::size_t>(self->producer)];
      heard.push_back(self->index);
      self->total->fetch_add(1, std::memory_order_relaxed);
    }
    std::array<std::vector<int>, producers>* logs = nullptr;
    std::atomic<int>* total = nullptr;
    int producer = 0;
    int index = 0;
  };
  ServingThread overflow;
  Context context(&overflow);
  std::array<std::vector<int>, producers> logs;
  std::atomic<int> total{0};
  std::vector<Numbered> items(producers * each);
  std::vector<std::thread> threads;
  for (int producer = 0; producer < producers; ++producer) {
    threads.emplace_back([&, producer] {
      for (int index = 0; index < each; ++index) {
        Numbered& item = items[static_cast<std::size_t>(producer * each + index)];
        item.logs = &logs;
        item.total = &total;
        item.producer = producer;
        item.index = index;
        if (index % 17 == 0) {
          context.enter([&] { context.post(&item); });
        } else {
          context.post(&item);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  // Nobody posts or serves any more but the overflow: a lost wake-up would leave this loop to the test's time limit.
  while (total.load() < producers * each) std::this_thread::yield();
  context.enter([&] {
    for (const std::vector<int>& log : logs) {
      ASSERT_EQ(log.size(), static_cast<std::size_t>(each));
      for (int index = 0; index < each; ++index) ASSERT_EQ(log[static_cast<std::size_t>(index)], index);
    }
  });
}

// Tokens that wander over contexts while several threads serve and enter them.
TEST(Context, ManyContextsAndThreadsLoseNoToken) {
  constexpr int contexts = 5;
  constexpr int tokens = 40;
  constexpr int hops = 5000;
  struct Job {
    explicit Job(Overflow& overflow) {
      for (int i = 0; i < contexts; ++i) ring.push_back(std::make_unique<Context>(&overflow));
    }
    std::vector<std::unique_ptr<Context>> ring;
    std::array<int, contexts> visits{};  // each under its context's baton
    std::atomic<int> finished{0};
  };
  struct Token : Item {
    Token(Job& its_job, int start) noexcept : Item(&Token::hop), job(its_job), place(start) {}
    static void hop(Item* item) noexcept {
      auto* const token = static_cast<Token*>(item);
      ++token->job.visits[static_cast<std::size_t>(token->place)];
      if (--token->left == 0) {
        token->job.finished.fetch_add(1);
        return;
      }
      token->place = (token->place * 3 + token->left) % contexts;
      token->job.ring[static_cast<std::size_t>(token->place)]->post(token);
    }
    Job& job;
    int place;
    int left = hops;
  };
  ServingThread overflow;
  Job job(overflow);
  std::vector<std::unique_ptr<Token>> wandering;
  for (int i = 0; i < tokens; ++i) wandering.push_back(std::make_unique<Token>(job, i % contexts));
  std::vector<std::thread> threads;
  for (int part = 0; part < 3; ++part) {
    threads.emplace_back([&, part] {
      for (int i = part; i < tokens; i += 3) {
        Token& token = *wandering[static_cast<std::size_t>(i)];
        job.ring[static_cast<std::size_t>(token.place)]->post(&token);
      }
      for (int i = 0; i < 1000; ++i) {
        Context& context = *job.ring[static_cast<std::size_t>(i) % contexts];
        if (i % 2 == 0) {
          context.serve();
        } else {
          context.enter([] {});
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  while (job.finished.load() < tokens) std::this_thread::yield();
  int visits = 0;
  for (std::size_t i = 0; i < contexts; ++i) {
    job.ring[i]->enter([&] { visits += job.visits[i]; });
  }
  EXPECT_EQ(visits, tokens * hops);
}

}  // namespace
}  // namespace stretto::fabric
