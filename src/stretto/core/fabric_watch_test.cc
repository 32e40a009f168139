#include "stretto/core/fabric_watch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <ctime>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "stretto/core/test_endpoint.h"

namespace stretto {
namespace {

// An endpoint to which something comes each time that somebody polls, or nothing.
class PolledEndpoint final : public test::TestEndpoint {
 public:
  using TestEndpoint::TestEndpoint;

  bool something_comes = false;
  int polls = 0;
  std::function<void()> when_polled;
  std::function<bool()> when_armed = [] { return true; };

  bool progress() override {
    ++polls;
    if (when_polled) when_polled();
    return something_comes;
  }
  int descriptor() const override { return 0; }
  bool arm(fabric::Alarm given) override {
    alarm = given;
    return when_armed();
  }
  bool let_flow() override {
    ++lets_flow;
    return flows;
  }

  bool flows = false;
  int lets_flow = 0;
  fabric::Alarm alarm = fabric::Alarm::none;
};

class FabricWatchTest : public ::testing::Test {
 protected:
  // What the service thread sleeps first where so many workers share a core.
  timespec tick(unsigned workers_per_core) {
    FabricWatch watch([] { return 0.0; }, [] {});
    watch.start(endpoints_, false, workers_per_core);
    return watch.tick_of_service(false, false).value();
  }
  static bool service_arms(FabricWatch& watch) {
    const std::atomic<bool> stopping{true};
    return watch.arm_service([] { return false; }, stopping);
  }
  // What it sleeps after a look at which a worker had polled since the one before, or not.
  timespec tick_after_look(FabricWatch& watch, bool polled) {
    if (polled) watch.note_look();
    service_arms(watch);
    const timespec tick = watch.tick_of_service(false, false).value();
    watch.disarm(FabricWatch::service);
    return tick;
  }

  fabric::Context context_{nullptr};
  PolledEndpoint endpoint_{context_};
  fabric::Endpoint* endpoints_[1] = {&endpoint_};
};

TEST_F(FabricWatchTest, TicksAreRarerWhereWorkersShareACore) {
  const timespec alone = tick(1);
  EXPECT_GT(alone.tv_nsec, 0);
  EXPECT_EQ(tick(8).tv_nsec, 8 * alone.tv_nsec);
}

TEST_F(FabricWatchTest, TicksAreNeverLongerThanAPartOfASecond) {
  const timespec longest = tick(1'000'000);
  EXPECT_EQ(longest.tv_sec, 0);
  EXPECT_GT(longest.tv_nsec, tick(8).tv_nsec);
  EXPECT_LT(2 * longest.tv_nsec, 1'000'000'000);
}

// A tick displaces the worker that it looks for. One that has the baton is at work on what is under way, though it does
// not poll for as long as that takes.
TEST_F(FabricWatchTest, WhoHasTheBatonAttendsToWhatIsLarge) {
  const auto tick_after_a_look = [this](bool somebody_serves) {
    FabricWatch watch([] { return 0.0; }, [] {});
    watch.start(endpoints_, true, 1);
    auto look = [&] { service_arms(watch); };
    if (somebody_serves) {
      context_.enter(look);
    } else {
      look();
    }
    watch.disarm(FabricWatch::service);
    return watch.tick_of_service(false, false).value().tv_nsec;
  };
  const long when_idle = tick_after_a_look(false);
  context_.engage();
  EXPECT_LT(tick_after_a_look(false), when_idle);
  EXPECT_EQ(tick_after_a_look(true), when_idle);
  context_.disengage();
}

// What a call over a network leaves to the service thread should not wait for two ticks.
TEST_F(FabricWatchTest, TheServiceTakesTheWatchAtItsFirstLookAfterADeparture) {
  FabricWatch watch([] { return 0.0; }, [] {});
  watch.start(endpoints_, true, 1);
  watch.poll();
  EXPECT_FALSE(service_arms(watch)) << "a worker polls, and may go on";
  watch.poll();
  watch.note_departure();
  EXPECT_TRUE(service_arms(watch));
  watch.poll();
  watch.note_departure();
  watch.poll();
  EXPECT_FALSE(service_arms(watch)) << "another one polls";
}

// Each tick displaces a worker, which is for nothing where workers poll all the time.
TEST_F(FabricWatchTest, TicksAreRarerWhileEachFindsThatAWorkerPolls) {
  for (const bool has_cores : {false, true}) {
    FabricWatch watch([] { return 0.0; }, [] {});
    watch.start(endpoints_, has_cores, 1);
    const auto tick_after = [&](bool polled) { return tick_after_look(watch, polled).tv_nsec; };
    const long usual = tick_after(false);
    long tick = tick_after(true);
    EXPECT_EQ(tick, usual) << "one poll is none of many";
    for (int i = 0; i < 100; ++i) {
      const long next = tick_after(true);
      EXPECT_TRUE(next == tick || next == 2 * tick);
      tick = next;
    }
    EXPECT_EQ(tick, 4 * usual);
    EXPECT_EQ(tick_after(false), usual) << "nobody has polled";
    EXPECT_EQ(tick_after(true), usual);
  }
}

// However many share a core, and however rare that makes ticks.
TEST_F(FabricWatchTest, TheRarestTicksAreAPartOfASecond) {
  FabricWatch watch([] { return 0.0; }, [] {});
  watch.start(endpoints_, false, 1'000'000);
  for (int i = 0; i < 100; ++i) {
    const timespec tick = tick_after_look(watch, true);
    EXPECT_EQ(tick.tv_sec, 0);
    EXPECT_LT(tick.tv_nsec, 1'000'000'000);
  }
}

// Large data are on their way, to a node whose workers compute: they need not wake the service thread for each part.
TEST_F(FabricWatchTest, WhileLargeDataFlowTheServiceLooksNowAndThen) {
  FabricWatch watch([] { return 0.0; }, [] {});
  watch.start(endpoints_, false, 1);
  bool is_woken = false;
  const auto sleeps = [&](bool flows) {
    endpoint_.flows = flows;
    EXPECT_TRUE(service_arms(watch));
    const std::optional<timespec> tick = watch.tick_of_service(true, false);
    watch.service_woke_up(is_woken);
    EXPECT_TRUE(watch.disarm(FabricWatch::service));
    return tick ? tick->tv_nsec : std::numeric_limits<long>::max();
  };
  const long first = sleeps(true);
  long longest = sleeps(true);
  EXPECT_EQ(longest, 2 * first) << "they went on";
  for (int i = 0; i < 100; ++i) longest = sleeps(true);
  EXPECT_LT(longest, 10'000'000) << "what else comes waits for it";
  EXPECT_GE(sleeps(false), 1'000'000) << "sleeps as ever";
  EXPECT_EQ(sleeps(true), longest / 2) << "they had ended";
  is_woken = true;
  EXPECT_EQ(sleeps(true), longest) << "they went on";
  sleeps(false);
  EXPECT_EQ(sleeps(true), longest) << "who was woken knows nothing of how long that was";
  is_woken = false;
  for (int i = 0; i < 100; ++i) {
    sleeps(true);
    sleeps(false);
  }
  EXPECT_LT(sleeps(true), first) << "it was too long each time";
  EXPECT_GE(sleeps(true), 100'000) << "it never spins";
}

// Workers that poll take all that comes, and who sleeps with the watch is woken for it.
TEST_F(FabricWatchTest, OnlyTheServiceLetsDataFlow) {
  FabricWatch watch([] { return 0.0; }, [] {});
  watch.start(endpoints_, false, 1);
  endpoint_.flows = true;
  watch.note_look();
  EXPECT_FALSE(service_arms(watch));
  ASSERT_TRUE(watch.arm(0));
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(service_arms(watch));
  EXPECT_EQ(endpoint_.lets_flow, 0);
  EXPECT_TRUE(watch.disarm(0));
  EXPECT_TRUE(service_arms(watch));
  EXPECT_EQ(endpoint_.lets_flow, 1);
}

// Who found the beginning of what flows only when it arms would be woken by the next part of it.
TEST_F(FabricWatchTest, TheServiceReadsWhatHasComeBeforeItAsksWhatFlows) {
  FabricWatch watch([] { return 0.0; }, [] {});
  watch.start(endpoints_, false, 1);
  endpoint_.when_polled = [this] { endpoint_.flows = true; };
  EXPECT_TRUE(service_arms(watch));
  EXPECT_EQ(endpoint_.polls, 1);
  EXPECT_EQ(endpoint_.alarm, fabric::Alarm::soon);
}

// Only while data flow does it wake up by itself soon, and may leave them unheard.
TEST_F(FabricWatchTest, WhoLetsDataFlowHasAnAlarm) {
  FabricWatch watch([] { return 0.0; }, [] {});
  watch.start(endpoints_, false, 1);
  const auto alarm_of_service = [&] {
    EXPECT_TRUE(service_arms(watch));
    EXPECT_TRUE(watch.disarm(FabricWatch::service));
    return endpoint_.alarm;
  };
  EXPECT_EQ(alarm_of_service(), fabric::Alarm::none);
  endpoint_.flows = true;
  EXPECT_EQ(alarm_of_service(), fabric::Alarm::soon);
  EXPECT_TRUE(watch.arm(0));
  EXPECT_EQ(endpoint_.alarm, fabric::Alarm::none) << "a worker sleeps until it is woken";
  EXPECT_TRUE(watch.disarm(0));
  endpoint_.flows = false;
  EXPECT_EQ(alarm_of_service(), fabric::Alarm::none);
}

// It wants to rest, and has taken the watch to see what flows.
TEST_F(FabricWatchTest, WhoRestsGivesTheWatchBack) {
  double now = 0;
  FabricWatch watch([&] { return now; }, [] {});
  watch.start(endpoints_, false, 1);
  watch.service_woke_up(true);
  now = 1e-3;
  EXPECT_FALSE(service_arms(watch));
  EXPECT_TRUE(watch.arm(0));
  EXPECT_TRUE(watch.disarm(0));
  endpoint_.flows = true;
  EXPECT_TRUE(service_arms(watch)) << "it is not woken soon";
}

// The service thread is about to take the watch when a worker takes it from it and sleeps; then it finds something,
// which disarms, and somebody else at it. Nobody has the watch then, and so ticks go on.
TEST_F(FabricWatchTest, WhoIsDisarmedByTheServiceHasTheWatchNoMore) {
  FabricWatch watch([] { return 0.0; }, [] {});
  watch.start(endpoints_, true, 1);
  std::atomic<bool> is_held{false};
  std::atomic<bool> is_over{false};
  std::thread holder;
  bool is_first = true;
  endpoint_.when_armed = [&] {
    if (!std::exchange(is_first, false)) return true;
    watch.end_watch();
    EXPECT_TRUE(watch.arm(1));
    holder = std::thread([&] {
      context_.enter([&] {
        is_held = true;
        while (!is_over.load()) std::this_thread::yield();
      });
    });
    while (!is_held.load()) std::this_thread::yield();
    return false;
  };
  EXPECT_FALSE(service_arms(watch));
  is_over = true;
  holder.join();
  EXPECT_TRUE(watch.arm(2)) << "nobody has it";
}

// Who serves may be at work for long: a worker that wants to sleep does not wait for its end.
TEST_F(FabricWatchTest, WhoWantsToSleepLeavesWhatComesToWhoServes) {
  FabricWatch watch([] { return 0.0; }, [] {});
  watch.start(endpoints_, true, 1);
  bool is_served = true;
  endpoint_.when_armed = [&] { return !is_served; };
  context_.enter([&] { std::thread([&] { EXPECT_FALSE(watch.arm(0)); }).join(); });
  is_served = false;
  EXPECT_TRUE(watch.arm(1)) << "nobody has it";
}

// Such a worker takes what it waits for; what else comes must not wait until it is done with that for good.
TEST_F(FabricWatchTest, TheServicePollsWhereWorkersOnlyLook) {
  FabricWatch watch([] { return 0.0; }, [] {});
  watch.start(endpoints_, true, 1);
  watch.note_look();
  EXPECT_FALSE(service_arms(watch));
  EXPECT_EQ(endpoint_.polls, 1);
  watch.note_look();
  watch.poll();
  EXPECT_FALSE(service_arms(watch));
  EXPECT_EQ(endpoint_.polls, 2) << "only the worker's own";
}

// A worker that looks for messages by other means than to poll here: its peers need not ring, and the service thread
// leaves the fabric to it.
TEST_F(FabricWatchTest, WhoSaysThatItLooksHasTheWatchTakenFromTheService) {
  FabricWatch watch([] { return 0.0; }, [] {});
  watch.start(endpoints_, true, 1);
  ASSERT_TRUE(service_arms(watch));
  ASSERT_FALSE(watch.arm(0)) << "the service has it";
  ASSERT_TRUE(watch.note_look());
  watch.end_watch();
  EXPECT_FALSE(watch.note_look()) << "nobody has it any more";
  EXPECT_FALSE(service_arms(watch)) << "a worker has looked since";
  EXPECT_TRUE(watch.arm(0));
  watch.disarm(0);
  EXPECT_TRUE(service_arms(watch));
  watch.disarm(FabricWatch::service);
}

// A worker that sleeps may have the watch, too, where the process has several.
TEST_F(FabricWatchTest, WhoPollsTakesTheWatchFromAWorkerThatSleeps) {
  FabricWatch watch([] { return 0.0; }, [] {});
  watch.start(endpoints_, true, 1);
  ASSERT_TRUE(watch.arm(0));
  ASSERT_FALSE(watch.arm(1)) << "another one has it";
  watch.poll();
  EXPECT_TRUE(watch.arm(1));
  FabricWatch::Searcher(watch, 2, true).poll();
  EXPECT_TRUE(watch.arm(0)) << "who searches took it";
}

// What comes to a process is most likely for who waits for it: another worker that took it would have to hand it on.
TEST_F(FabricWatchTest, WhoSearchesLeavesTheFabricToWhoWaits) {
  FabricWatch watch([] { return 0.0; }, [] {});
  watch.start(endpoints_, true, 1);
  endpoint_.something_comes = true;
  FabricWatch::Searcher searcher(watch, 1, false);
  EXPECT_TRUE(searcher.poll());
  for (int i = 0; i < 1000; ++i) {
    watch.note_look();
    const int polls = endpoint_.polls;
    EXPECT_FALSE(searcher.poll());
    EXPECT_TRUE(searcher.gives_way_to_who_waits());
    EXPECT_EQ(endpoint_.polls, polls);
  }
  int looks = 0;
  while (!searcher.poll() && looks < 1000) ++looks;
  EXPECT_GT(looks, 1) << "who waits may compute for a moment only";
  EXPECT_LT(looks, 1000) << "nobody polls any more";
  EXPECT_FALSE(searcher.gives_way_to_who_waits());
}

TEST_F(FabricWatchTest, OneOfThoseWhoSearchPolls) {
  FabricWatch watch([] { return 0.0; }, [] {});
  watch.start(endpoints_, true, 1);
  endpoint_.something_comes = true;
  auto first = std::make_unique<FabricWatch::Searcher>(watch, 0, false);
  FabricWatch::Searcher second(watch, 1, false);
  const auto polls_after_a_while = [](FabricWatch::Searcher& searcher) {
    for (int i = 0; i < 1000; ++i) searcher.poll();
    return searcher.poll();
  };
  EXPECT_TRUE(polls_after_a_while(*first));
  EXPECT_FALSE(polls_after_a_while(second));
  EXPECT_FALSE(second.gives_way_to_who_waits());
  FabricWatch::Searcher has_worked(watch, 2, true);
  EXPECT_TRUE(has_worked.poll()) << "what comes is most likely for what it did";
  EXPECT_FALSE(polls_after_a_while(*first));
  {
    const FabricWatch::Searcher has_worked_last(watch, 3, true);
    EXPECT_FALSE(polls_after_a_while(has_worked));
  }
  EXPECT_TRUE(second.poll()) << "whose search is over leaves it to others";
  EXPECT_FALSE(polls_after_a_while(*first));
  first.reset();
  EXPECT_TRUE(polls_after_a_while(second)) << "it was not the one that polled";
}

// However many search and sleep, the service thread knows that somebody is at it.
TEST_F(FabricWatchTest, PollsOfThoseWhoSearchCountForTheService) {
  FabricWatch watch([] { return 0.0; }, [] {});
  watch.start(endpoints_, true, 1);
  FabricWatch::Searcher(watch, 0, true).poll();
  EXPECT_FALSE(service_arms(watch));
  EXPECT_TRUE(service_arms(watch)) << "nobody has polled since";
}

// What comes while one worker computes should not wait for that where others have nothing to do, though it has polled
// all the time before.
TEST_F(FabricWatchTest, TicksAreFrequentWhereTheyDisplaceNobody) {
  for (const bool has_cores : {false, true}) {
    FabricWatch watch([] { return 0.0; }, [] {});
    watch.start(endpoints_, has_cores, 1);
    for (int i = 0; i < 100; ++i) tick_after_look(watch, true);
    const auto tick = [&](bool workers_sleep) { return watch.tick_of_service(false, workers_sleep).value().tv_nsec; };
    EXPECT_LE(10 * tick(true), tick(false));
  }
  FabricWatch crowded([] { return 0.0; }, [] {});
  crowded.start(endpoints_, false, 2);
  EXPECT_EQ(crowded.tick_of_service(false, true).value().tv_nsec, tick(2).tv_nsec) << "others want their cores";
}

// The one that had it may have been woken by another one's ring.
TEST_F(FabricWatchTest, SaysWhetherOneStillHadTheWatch) {
  FabricWatch watch([] { return 0.0; }, [] {});
  watch.start(endpoints_, true, 1);
  ASSERT_TRUE(watch.arm(0));
  EXPECT_TRUE(watch.disarm(0));
  ASSERT_TRUE(watch.arm(0));
  watch.poll();
  EXPECT_FALSE(watch.disarm(0));
}

TEST_F(FabricWatchTest, CountsWhatPeersWereGivenToDo) {
  FabricWatch watch([] { return 0.0; }, [] {});
  watch.start(endpoints_, false, 1);
  EXPECT_EQ(watch.requests(), 0U);
  endpoint_.send(1, fabric::MessageType{}, {}, {});
  EXPECT_EQ(watch.requests(), 1U);
}

}  // namespace
}  // namespace stretto
