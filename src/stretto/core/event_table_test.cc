#include "stretto/core/event_table.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include "stretto/core/test_support.h"

namespace stretto {
namespace {

using test::a_cause;
using test::Probe;

TEST(EventTable, AnEventTriggersOnceAndStaysTriggered) {
  EventTable table(3);
  const Event event = table.create();
  EXPECT_EQ(event.owner(), 3U);
  EXPECT_EQ(event.generation(), 1U);
  EXPECT_FALSE(event.is_barrier());
  EXPECT_EQ(table.query(event), EventState::untriggered);
  EXPECT_TRUE(table.trigger(event));
  EXPECT_EQ(table.query(event), EventState::triggered);
  EXPECT_FALSE(table.trigger(event));
  EXPECT_FALSE(table.trigger(event, a_cause(ErrorCode::poisoned)));
  EXPECT_EQ(table.query(event), EventState::triggered);
}

struct OrderedProbe : Waiter {
  OrderedProbe(std::vector<int>& fired_in, int its_number) noexcept
      : Waiter(&OrderedProbe::note), order(fired_in), number(its_number) {}
  static void note(Waiter* waiter, const Cause&) noexcept {
    auto* const probe = static_cast<OrderedProbe*>(waiter);
    probe->order.push_back(probe->number);
  }
  std::vector<int>& order;
  int number;
};

TEST(EventTable, WaitersFireInTheOrderInWhichTheyRegistered) {
  EventTable table(0);
  const Event event = table.create();
  std::vector<int> order;
  std::vector<arena::Owned<OrderedProbe>> probes;
  std::vector<int> expected;
  for (int i = 0; i < 1000; ++i) {
    probes.push_back(arena::make_owned<OrderedProbe>(order, i));
    EXPECT_EQ(table.subscribe(event, probes.back().get()), EventState::untriggered);
    expected.push_back(i);
  }
  table.trigger(event);
  EXPECT_EQ(order, expected);
}

// The paper's figure 3: three events whose untriggered intervals do not overlap share one slot.
TEST(EventTable, ASlotStandsForOneUntriggeredEventAndAllItsPredecessors) {
  EventTable table(0);
  std::vector<Event> past;
  for (std::uint32_t generation = 1; generation <= 3; ++generation) {
    const Event event = table.create();
    EXPECT_EQ(event.slot(), 0U);
    EXPECT_EQ(event.generation(), generation);
    for (const Event earlier : past) EXPECT_EQ(table.query(earlier), EventState::triggered);
    EXPECT_EQ(table.query(event), EventState::untriggered);
    const auto probe = arena::make_owned<Probe>();
    for (const Event earlier : past) EXPECT_EQ(table.subscribe(earlier, probe.get()), EventState::triggered);
    EXPECT_EQ(table.subscribe(event, probe.get()), EventState::untriggered);
    EXPECT_EQ(probe->fired, 0);
    table.trigger(event);
    EXPECT_EQ(probe->fired, 1);
    past.push_back(event);
  }
  for (const Event earlier : past) EXPECT_EQ(table.query(earlier), EventState::triggered);
}

/// Two events of one slot, of which the first has triggered.
std::pair<Event, Event> two_of_a_slot(EventTable& table) {
  const Event first = table.create();
  table.trigger(first);
  const Event second = table.create();
  EXPECT_EQ(second.slot(), first.slot());
  return {first, second};
}

TEST(EventTable, APoisonedGenerationIsItsSlotsLast) {
  EventTable table(0);
  const auto [first, second] = two_of_a_slot(table);
  const auto probe = arena::make_owned<Probe>();
  table.subscribe(second, probe.get());
  EXPECT_TRUE(table.trigger(second, a_cause(ErrorCode::io, "disk")));
  EXPECT_EQ(probe->fired, 1);
  EXPECT_EQ(probe->cause->message(), "disk");
  EXPECT_EQ(table.query(first), EventState::triggered);
  EXPECT_EQ(table.query(second), EventState::poisoned);
  EXPECT_EQ(table.cause_of(second)->code(), ErrorCode::io);
  EXPECT_EQ(table.cause_of(first), nullptr);
  EXPECT_EQ(table.subscribe(second, probe.get()), EventState::poisoned);
  EXPECT_FALSE(table.trigger(second));
  EXPECT_EQ(table.query(second), EventState::poisoned);
  for (int i = 0; i < 1000; ++i) EXPECT_NE(table.create().slot(), second.slot());
}

TEST(EventTable, TriggeringAndRenewingIsBothInOneSlot) {
  EventTable table(2);
  const Event first = table.create();
  std::vector<int> order;
  const auto probe = arena::make_owned<OrderedProbe>(order, 1);
  EXPECT_EQ(table.subscribe(first, probe.get()), EventState::untriggered);
  const Event second = table.trigger_and_renew(first);
  EXPECT_EQ(order, (std::vector<int>{1}));
  EXPECT_EQ(second, Event(2, first.slot(), first.generation() + 1));
  EXPECT_EQ(table.query(first), EventState::triggered);
  EXPECT_EQ(table.query(second), EventState::untriggered);
  EXPECT_NE(table.create().slot(), second.slot());  // it is nobody else's

  EXPECT_EQ(table.trigger_and_renew(first), no_event);
  EXPECT_EQ(table.query(second), EventState::untriggered);
  EXPECT_TRUE(table.trigger(second, a_cause(ErrorCode::poisoned)));
  EXPECT_EQ(table.trigger_and_renew(second), no_event);
  EXPECT_EQ(table.query(second), EventState::poisoned);
}

TEST(EventTable, WhatIsDiscardedIsCreatedAgain) {
  EventTable table(0);
  const Event event = table.trigger_and_renew(table.create());
  table.discard(event);
  EXPECT_EQ(table.create(), event);
}

TEST(EventTable, ASlotsLastGenerationIsNotRenewed) {
  EventTable table(0);
  table.set_first_generation(Event::max_generation);
  const Event last = table.create();
  EXPECT_EQ(table.trigger_and_renew(last), no_event);
  EXPECT_EQ(table.query(last), EventState::triggered);
}

TEST(EventTable, AUsedUpSlotRetires) {
  EventTable table(0);
  table.set_first_generation(Event::max_generation - 1);
  const Event last_but_one = table.create();
  table.trigger(last_but_one);
  const Event last = table.create();
  ASSERT_EQ(last.slot(), last_but_one.slot());
  ASSERT_EQ(last.generation(), Event::max_generation);
  EXPECT_EQ(table.query(last_but_one), EventState::triggered);
  EXPECT_EQ(table.query(last), EventState::untriggered);
  table.trigger(last);
  EXPECT_EQ(table.query(last), EventState::triggered);
  EXPECT_EQ(table.query(last_but_one), EventState::triggered);
  const Event next = table.create();
  EXPECT_NE(next.slot(), last.slot());
  EXPECT_EQ(next.generation(), Event::max_generation - 1);
}

TEST(EventTable, WhollyRetiredPagesStillKnowTheirEvents) {
  EventTable table(0);
  table.set_first_generation(Event::max_generation);
  std::vector<Event> events;
  for (int i = 0; i < 2000; ++i) {  // four pages of 512 slots, less a few
    events.push_back(table.create());
    table.trigger(events.back());
  }
  const auto probe = arena::make_owned<Probe>();
  for (const Event event : events) {
    EXPECT_EQ(table.query(event), EventState::triggered);
    EXPECT_EQ(table.subscribe(event, probe.get()), EventState::triggered);
    EXPECT_FALSE(table.trigger(event));
    EXPECT_TRUE(table.was_created(event));
  }
  EXPECT_EQ(probe->fired, 0);
  EXPECT_EQ(table.create().generation(), Event::max_generation);
}

TEST(EventTable, StorageFollowsUntriggeredEvents) {
  EventTable table(0);
  for (std::uint64_t i = 0; i < test::scaled(10'000'000); ++i) table.trigger(table.create());
  EXPECT_LE(table.slots_used(), 64U);
}

TEST(EventTable, RunningOutOfEventsIsAnErrorThatPasses) {
  EventTable table(7);
  std::vector<Event> events;
  const std::optional<Error> error = test::error_of([&] {
    for (;;) events.push_back(table.create());
  });
  EXPECT_EQ(error->code(), ErrorCode::out_of_resources);
  EXPECT_NE(error->message().find("8388608"), std::string::npos) << error->message();
  EXPECT_EQ(events.size(), std::size_t{Event::first_barrier_slot});
  table.trigger(events[1000]);
  const Event again = table.create();
  EXPECT_EQ(again.slot(), events[1000].slot());
  table.trigger(events[2000], a_cause(ErrorCode::io));
  const std::optional<Error> later = test::error_of([&] { table.create(); });
  EXPECT_EQ(later->code(), ErrorCode::out_of_resources);
  EXPECT_NE(later->message().find(" 1 are poisoned"), std::string::npos) << later->message();
}

TEST(EventTable, OnlyWhatWasCreatedCounts) {
  EventTable table(0);
  const Event event = table.create();
  EXPECT_TRUE(table.was_created(event));
  EXPECT_FALSE(table.was_created({0, event.slot(), 2}));
  EXPECT_FALSE(table.was_created({0, 1'000'000, 1}));
}

// Of slots that are free, too: a peer that triggers what has yet to be created must not free the slot twice.
TEST(EventTable, WhatASlotHoldsNextIsNotThereYet) {
  EventTable table(0);
  const Event event = table.create();
  const Event next(0, event.slot(), event.generation() + 1);
  const Event neighbour(0, event.slot() + 1, 1);
  table.trigger(event);
  for (const Event early : {next, neighbour}) {
    EXPECT_FALSE(table.was_created(early));
    EXPECT_FALSE(table.trigger(early));
    EXPECT_FALSE(table.trigger(early, a_cause(ErrorCode::io)));
  }
  EXPECT_EQ(table.create(), next);
  EXPECT_TRUE(table.was_created(next));
  EXPECT_EQ(table.query(next), EventState::untriggered);
  table.discard(next);
  EXPECT_FALSE(table.was_created(next));
  EXPECT_EQ(table.create(), next);
  const Event renewed = table.trigger_and_renew(next);
  EXPECT_TRUE(table.was_created(renewed));
  EXPECT_EQ(table.query(renewed), EventState::untriggered);
}

TEST(EventTable, ShutdownPoisonsWhatIsAwaitedAndNothingElse) {
  EventTable table(0);
  const Event awaited = table.create();
  const Event ignored = table.create();
  const auto probe = arena::make_owned<Probe>();
  table.subscribe(awaited, probe.get());
  table.poison_awaited(a_cause(ErrorCode::cancelled));
  EXPECT_EQ(test::code_of_cause(probe->cause), "cancelled");
  EXPECT_EQ(table.query(awaited), EventState::poisoned);
  EXPECT_EQ(table.query(ignored), EventState::untriggered);
  EXPECT_FALSE(table.trigger(awaited));  // an operation that finishes afterwards
  EXPECT_EQ(table.query(awaited), EventState::poisoned);
  EXPECT_TRUE(table.trigger(ignored));
}

TEST(EventTable, WhatEndsByItselfIsPoisonedOnlyOnRequest) {
  EventTable table(0);
  const Event task = table.create(Ends::by_itself);
  const Event user = table.create();
  const Event late = table.create();
  table.set_ends_by_itself(late);
  std::vector<arena::Owned<Probe>> probes;
  for (const Event event : {task, user, late}) {
    table.subscribe(event, probes.emplace_back(arena::make_owned<Probe>()).get());
  }
  EXPECT_TRUE(table.poison_awaited(a_cause(ErrorCode::cancelled)));
  EXPECT_FALSE(table.poison_awaited(a_cause(ErrorCode::cancelled)));
  EXPECT_EQ(table.query(task), EventState::untriggered);
  EXPECT_EQ(table.query(user), EventState::poisoned);
  EXPECT_EQ(table.query(late), EventState::untriggered);
  table.trigger(late);
  EXPECT_TRUE(table.poison_awaited(a_cause(ErrorCode::cancelled), Ends::by_itself));
  EXPECT_EQ(table.query(task), EventState::poisoned);
  EXPECT_EQ(table.query(late), EventState::triggered);
}

TEST(EventTable, WhatHasTriggeredIsNotMarkedToEndByItself) {
  EventTable table(0);
  const auto [event, next] = two_of_a_slot(table);
  EXPECT_FALSE(table.set_ends_by_itself(event));
  EXPECT_EQ(table.ends(next), Ends::when_told);
  EXPECT_TRUE(table.set_ends_by_itself(next));
  EXPECT_EQ(table.ends(next), Ends::by_itself);
}

TEST(EventTable, ASlotsNextEventEndsAsItIsCreatedTo) {
  EventTable table(0);
  for (const Ends ends : {Ends::by_itself, Ends::when_told, Ends::by_itself}) {
    const Event event = table.create(ends);
    EXPECT_EQ(event.slot(), 0U);
    EXPECT_EQ(table.ends(event), ends);
    const Event next = table.trigger_and_renew(event);
    EXPECT_EQ(table.ends(next), ends);
    table.trigger(next);
  }
}

TEST(EventTable, WhatNobodyWaitsForMayBeTriggeredAlone) {
  for (const std::uint32_t generation : {1U, Event::max_generation}) {
    EventTable table(0);
    table.set_first_generation(generation);
    const Event ignored = table.create();
    EXPECT_TRUE(table.trigger_unawaited(ignored));
    EXPECT_FALSE(table.trigger_unawaited(ignored));
    EXPECT_EQ(table.query(ignored), EventState::triggered);
    const Event awaited = table.create();
    const auto probe = arena::make_owned<Probe>();
    table.subscribe(awaited, probe.get());
    EXPECT_FALSE(table.trigger_unawaited(awaited));
    EXPECT_EQ(probe->fired, 0);
    EXPECT_TRUE(table.trigger(awaited));
    EXPECT_FALSE(table.trigger_unawaited(awaited));
  }
}

struct SharedProbe : Waiter {
  SharedProbe() noexcept : Waiter(&SharedProbe::note) {}
  static void note(Waiter* waiter, const Cause&) noexcept { ++static_cast<SharedProbe*>(waiter)->fired; }
  std::atomic<int> fired{0};
};

TEST(EventTable, EveryWaiterFiresOnceWhateverTheThreadsDo) {
  constexpr std::size_t threads = 4;
  constexpr std::size_t events_of_thread = 50;
  EventTable table(0);
  for (std::uint64_t round = 0; round < test::scaled(300); ++round) {
    std::vector<std::atomic<std::uint64_t>> published(threads * events_of_thread);
    std::vector<std::vector<arena::Owned<SharedProbe>>> probes(threads);
    std::vector<std::vector<EventState>> states(threads);
    std::vector<std::thread> workers;
    for (std::size_t me = 0; me < threads; ++me) {
      workers.emplace_back([&, me] {
        // Each creates its own, waits for everybody's, and triggers its own in between.
        for (std::size_t i = 0; i < events_of_thread; ++i) {
          published[me * events_of_thread + i].store(table.create().bits());
        }
        for (std::size_t i = 0; i < published.size(); ++i) {
          while (published[i].load() == 0) std::this_thread::yield();
          probes[me].push_back(arena::make_owned<SharedProbe>());
          states[me].push_back(table.subscribe(Event::from_bits(published[i].load()), probes[me].back().get()));
          if (i % threads == 0) {
            table.trigger(Event::from_bits(published[me * events_of_thread + i / threads].load()));
          }
        }
      });
    }
    for (std::thread& worker : workers) worker.join();
    for (std::size_t me = 0; me < threads; ++me) {
      for (std::size_t i = 0; i < published.size(); ++i) {
        ASSERT_EQ(probes[me][i]->fired.load(), states[me][i] == EventState::untriggered ? 1 : 0);
      }
    }
  }
  EXPECT_LE(table.slots_used(), 64U * 8 + threads * events_of_thread);
}

TEST(EventTable, OfTwoThreadsThatTriggerOneWins) {
  EventTable table(0);
  for (std::uint64_t round = 0; round < test::scaled(2000); ++round) {
    const Event event = table.create();
    std::atomic<int> winners{0};
    std::thread poisoner([&] { winners += table.trigger(event, a_cause(ErrorCode::io)) ? 1 : 0; });
    winners += table.trigger(event) ? 1 : 0;
    poisoner.join();
    ASSERT_EQ(winners.load(), 1);
    ASSERT_NE(table.query(event), EventState::untriggered);
    ASSERT_EQ(table.query(event) == EventState::poisoned, table.cause_of(event) != nullptr);
  }
}

}  // namespace
}  // namespace stretto
