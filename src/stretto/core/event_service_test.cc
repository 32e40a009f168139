#include "stretto/core/event_service.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "stretto/core/cause.h"
#include "stretto/core/test_support.h"
#include "stretto/fabric/sim/sim_fabric.h"

namespace stretto {
namespace {

using test::code_of;
using test::code_of_cause;
using test::options_for;
using test::run_on;
using test::scaled;

NodeId number(Node& node) { return node.id(); }

std::uint64_t messages_of(Runtime& runtime) { return static_cast<fabric::SimFabric&>(runtime.fabric()).messages(); }

TEST(EventService, TenMillionEventsInSequenceKeepOneSlotBusy) {
  run_on("local:1", [](Node& node) {
    for (std::uint64_t i = 0; i < scaled(10'000'000); ++i) node.create_user_event().trigger();
    EXPECT_LE(node.events().table().slots_used(), 1000U);
  });
}

// The paper's figure 3 between two nodes: one slot, three events, asked for before and after at the other node.
TEST(EventService, ASlotsEventsSeenFromAnotherNode) {
  for (const char* const fabric : {"local:2", "sim:2,reorder=0.5,seed=3"}) {
    Runtime runtime(options_for(fabric, 1));  // one worker: one cache of slots
    Node& owner = *runtime.nodes()[0];
    const UserEvent seen = runtime.nodes()[1]->create_user_event();
    runtime.run([&owner, seen](Node& node) -> Task<> {
      if (node.id() != 1) {
        co_await seen;
        co_return;
      }
      const UserEvent first = owner.create_user_event();
      EXPECT_FALSE(node.has_triggered(first));
      owner.trigger(first);
      const UserEvent second = owner.create_user_event();
      EXPECT_EQ(second.slot(), first.slot());
      EXPECT_EQ(second.generation(), first.generation() + 1);
      EXPECT_FALSE(node.has_triggered(second));
      EXPECT_TRUE(node.has_triggered(first));  // the later one proves it
      owner.trigger(second);
      co_await second;
      EXPECT_TRUE(node.has_triggered(second));
      const UserEvent third = owner.create_user_event();
      EXPECT_EQ(third.generation(), first.generation() + 2);
      owner.trigger(third);
      co_await third;  // a late subscription
      EXPECT_TRUE(node.has_triggered(third));
      EXPECT_TRUE(node.has_triggered(first));
      node.trigger(seen);
    });
  }
}

TEST(EventService, MessagesAreCountedExactly) {
  for (const std::uint32_t nodes : {2U, 5U, 16U}) {
    for (const NodeId triggerer : {NodeId{0}, nodes - 1}) {
      Runtime runtime(options_for("sim:" + std::to_string(nodes)));
      const UserEvent event = runtime.nodes()[0]->create_user_event();
      std::atomic<int> fired{0};
      runtime.run([&, triggerer](Node& node) -> Task<> {
        std::vector<Event> waiters;
        for (int i = 0; i < 20; ++i) waiters.push_back(node.spawn([&fired] { ++fired; }, SpawnOptions().after(event)));
        if (node.id() == triggerer) {
          node.charge(1e-3);  // all subscriptions have come
          node.trigger(event);
        }
        for (const Event waiter : waiters) co_await waiter;
      });
      EXPECT_EQ(fired.load(), static_cast<int>(20 * nodes));
      EXPECT_EQ(messages_of(runtime), 2 * nodes - 2) << "triggered at " << triggerer;
    }
  }
}

TEST(EventService, AThousandWaitersOnOneEvent) {
  for (const char* const fabric : {"local:1", "local:3", "sim:3"}) {
    Runtime runtime(options_for(fabric));
    const UserEvent event = runtime.nodes()[0]->create_user_event();
    std::atomic<int> fired{0};
    runtime.run([&](Node& node) -> Task<> {
      std::vector<Event> waiters;
      for (int i = 0; i < 1000; ++i) waiters.push_back(node.spawn([&fired] { ++fired; }, SpawnOptions().after(event)));
      if (node.id() == node.size() - 1) node.trigger(event);
      co_await node.merge(waiters);
    });
    EXPECT_EQ(fired.load(), static_cast<int>(1000 * runtime.nodes().size()));
  }
}

TEST(EventService, TriggeringTwiceIsAnError) {
  run_on("local:1", [](Node& node) {
    const UserEvent event = node.create_user_event();
    event.trigger();
    EXPECT_EQ(code_of([&] { event.trigger(); }), "invalid_state");
    EXPECT_EQ(code_of([&] { event.poison(Error(ErrorCode::io, "late")); }), "invalid_state");
    const UserEvent next = node.create_user_event();
    EXPECT_EQ(next.slot(), event.slot());
    EXPECT_EQ(code_of([&] { event.trigger(node.create_user_event()); }), "invalid_state");
    EXPECT_EQ(node.events().table().ends(next), Ends::when_told);
    EXPECT_TRUE(event.has_triggered());
    EXPECT_EQ(node.cause_of(event), nullptr);
  });
  Runtime runtime(options_for("local:2"));
  const UserEvent remote = runtime.nodes()[0]->create_user_event();
  runtime.run([&](Node& node) {
    if (node.id() != 1) return;
    remote.trigger();
    EXPECT_EQ(code_of([&] { remote.trigger(); }), "invalid_state");
  });
}

TEST(EventService, WhatIsNoUserEventCannotBeTriggered) {
  run_on("local:1", [](Node& node) {
    EXPECT_EQ(code_of([&] { UserEvent().trigger(); }), "invalid_argument");
    EXPECT_EQ(code_of([&] { UserEvent(Event(0, Event::first_barrier_slot, 1)).trigger(); }), "invalid_argument");
    EXPECT_EQ(code_of([&] { UserEvent(Event(9, 1, 1)).trigger(); }), "invalid_argument");
    const UserEvent mine = node.create_user_event();
    EXPECT_EQ(code_of([&] { mine.trigger(Event(9, 1, 1)); }), "invalid_argument");
    EXPECT_FALSE(mine.has_triggered());
  });
}

TEST(EventService, EventsOfNodesThatDoNotExistAreRefusedEverywhere) {
  run_on("local:1", [](Node& node) -> Task<> {
    const Event alien(5, 1, 1);
    EXPECT_EQ(code_of([&] { node.has_triggered(alien); }), "invalid_argument");
    EXPECT_EQ(code_of([&] { node.merge({alien, node.create_user_event()}); }), "invalid_argument");
    EXPECT_EQ(code_of([&] { node.time_of(alien); }), "invalid_argument");
    EXPECT_EQ(code_of([&] { node.spawn([] {}, SpawnOptions().after(alien)); }), "invalid_argument");
    EXPECT_EQ(code_of([&] { node.wait(alien); }), "invalid_argument");
    std::string awaited = "none";
    try {
      co_await alien;
    } catch (const Error& error) {
      awaited = std::string(name_of(error.code()));
    }
    EXPECT_EQ(awaited, "invalid_argument");
    co_await node.spawn([] {});  // the task still suspends and resumes as it should
  });
}

TEST(EventService, EventsThatNobodyMadeAreRefusedAndHarmNoOther) {
  run_on("local:2", [](Node& node) -> Task<> {
    const UserEvent mine = node.create_user_event();
    const UserEvent fake(Event(node.id(), mine.slot() + 1, 0));
    const UserEvent far(Event(1 - node.id(), mine.slot() + 1, 0));
    for (const UserEvent none : {fake, far}) {
      EXPECT_EQ(code_of([&] { none.trigger(); }), "invalid_argument");
      EXPECT_EQ(code_of([&] { none.poison(Error(ErrorCode::io, "on purpose")); }), "invalid_argument");
      EXPECT_EQ(code_of([&] { node.has_triggered(none); }), "invalid_argument");
      EXPECT_EQ(code_of([&] { node.wait(none); }), "invalid_argument");
      EXPECT_EQ(code_of([&] { node.merge({none, mine}); }), "invalid_argument");
      EXPECT_EQ(code_of([&] { mine.trigger(none); }), "invalid_argument");
      EXPECT_EQ(code_of([&] { node.spawn([] {}, SpawnOptions().after(none)); }), "invalid_argument");
    }
    std::set<Event> later;
    for (int i = 0; i < 200; ++i) later.insert(node.create_user_event());
    EXPECT_EQ(later.size(), 200U);
    node.trigger(mine);
    co_await mine;
  });
}

// Only the other node knows. Who waits is told, and nobody is blamed.
TEST(EventService, WhatAnotherNodeNeverMadeIsAnErrorToWhoWaits) {
  for (const char* const fabric : {"local:2", "sim:2"}) {
    run_on(fabric, [](Node& node) {
      const NodeId other = 1 - node.id();
      for (const Event none : {Event(other, 1'000'000, 1), Event(other, Event::first_barrier_slot + 99, 1)}) {
        EXPECT_EQ(code_of([&] { node.wait(none); }), "invalid_argument");
        EXPECT_EQ(code_of_cause(node.cause_of(none)), "invalid_argument");
      }
      EXPECT_FALSE(node.endpoint().lost(other));
      EXPECT_EQ(node.spawn_on<number>(other, SpawnOptions()).get(), other);
    });
  }
}

// Who waits for a task may take back what that uses. A peer that says that it is over lies.
TEST(EventService, WhatEndsByItselfIsNoPeersToTrigger) {
  for (const bool is_poisoned : {false, true}) {
    Runtime runtime(options_for("sim:2"));
    fabric::Endpoint& liar = runtime.nodes()[1]->endpoint();
    runtime.run([&](Node& node) -> Task<> {
      if (node.id() == 1) co_return;
      const UserEvent begin = node.create_user_event();
      const Event task = node.spawn([] {}, SpawnOptions().after(begin));
      const Cause cause = is_poisoned ? test::a_cause(ErrorCode::io) : nullptr;
      liar.context().enter([&] {
        liar.send(0, fabric::MessageType::event_trigger, bytes_of(trigger_header(task, cause)), text_of(cause));
      });
      node.charge(1e-3);  // until it has come
      EXPECT_FALSE(node.has_triggered(task));
      EXPECT_TRUE(node.endpoint().lost(1));
      node.trigger(begin);
      co_await task;
    });
  }
}

TEST(EventService, TheTimeOfNoEventTakesNone) {
  run_on("local:1", [](Node& node) {
    node.create_user_event();
    const std::uint32_t slots = node.events().table().slots_used();
    for (int i = 0; i < 1000; ++i) EXPECT_EQ(code_of([&] { node.time_of(Event(5, 1, 1)); }), "invalid_argument");
    EXPECT_EQ(node.events().table().slots_used(), slots);
  });
}

TEST(EventService, AUserEventMayFollowAnother) {
  for (const char* const fabric : {"local:2", "sim:2"}) {
    Runtime runtime(options_for(fabric));
    const UserEvent source = runtime.nodes()[0]->create_user_event();
    const UserEvent follower = runtime.nodes()[1]->create_user_event();
    const UserEvent failing = runtime.nodes()[0]->create_user_event();
    runtime.run([&](Node& node) -> Task<> {
      if (node.id() == 0) {
        node.trigger(follower, source);
        node.trigger(failing, follower);
        node.poison(source, Error(ErrorCode::io, "the source is dry"));
      }
      std::string message;
      try {
        co_await failing;
      } catch (const Error& error) {
        message = error.message();
      }
      EXPECT_EQ(message, "the source is dry");
    });
  }
}

TEST(EventService, MergesOfNothingOneAndWhatIsOver) {
  run_on("local:1", [](Node& node) -> Task<> {
    EXPECT_FALSE(node.merge({}).exists());
    EXPECT_FALSE(node.merge({no_event, no_event}).exists());
    const UserEvent pending = node.create_user_event();
    const UserEvent over = node.create_user_event();
    over.trigger();
    EXPECT_EQ(node.merge({pending}), pending);
    EXPECT_EQ(node.merge({over, no_event, pending, over}), pending);
    EXPECT_FALSE(node.merge({over, over}).exists());
    const UserEvent failed = node.create_user_event();
    failed.poison(Error(ErrorCode::io, "broken"));
    EXPECT_EQ(node.merge({pending, failed}), failed);
    pending.trigger();
    co_return;
  });
}

TEST(EventService, AMergeTriggersAfterItsLastInput) {
  for (const std::size_t count : {std::size_t{2}, std::size_t{16}, std::size_t{1000}, std::size_t{10000}}) {
    run_on("local:1", [count](Node& node) {
      std::vector<UserEvent> inputs(count);
      for (UserEvent& input : inputs) input = node.create_user_event();
      std::vector<Event> list(inputs.begin(), inputs.end());
      list.insert(list.end(), inputs.begin(), inputs.begin() + 2);  // twice the same
      list.push_back(no_event);
      const Event merged = node.merge(list);
      const Event only_once = node.merge(list);
      EXPECT_NE(merged, only_once);
      for (std::size_t i = count; i-- > 0;) {
        EXPECT_FALSE(merged.has_triggered());
        inputs[i].trigger();
      }
      EXPECT_TRUE(merged.has_triggered());
      EXPECT_TRUE(only_once.has_triggered());
      EXPECT_EQ(node.cause_of(merged), nullptr);
    });
  }
}

TEST(EventService, AMergeIsPoisonedByItsFirstFailedInputAtOnce) {
  run_on("local:1", [](Node& node) {
    for (const std::size_t count : {std::size_t{2}, std::size_t{5000}}) {
      std::vector<UserEvent> inputs(count);
      for (UserEvent& input : inputs) input = node.create_user_event();
      const Event merged = node.merge(std::vector<Event>(inputs.begin(), inputs.end()));
      inputs[count / 2].poison(Error(ErrorCode::io, "first"));
      EXPECT_EQ(code_of_cause(node.cause_of(merged)), "io");
      inputs[0].poison(Error(ErrorCode::mismatch, "second"));
      EXPECT_EQ(node.cause_of(merged)->message(), "first");
      for (const UserEvent input : inputs) {
        if (!input.has_triggered()) input.trigger();
      }
      EXPECT_EQ(code_of_cause(node.cause_of(merged)), "io");
    }
  });
}

TEST(EventService, MergesTakeEventsOfAllNodes) {
  for (const char* const fabric : {"local:4", "sim:4,jitter=5us,reorder=0.3"}) {
    Runtime runtime(options_for(fabric));
    std::vector<UserEvent> clean;
    std::vector<UserEvent> failing;
    for (const auto& node : runtime.nodes()) {
      clean.push_back(node->create_user_event());
      failing.push_back(node->create_user_event());
    }
    runtime.run([&](Node& node) -> Task<> {
      const Event all = node.merge(std::vector<Event>(clean.begin(), clean.end()));
      const Event with_failure = node.merge(std::vector<Event>(failing.begin(), failing.end()));
      const NodeId next = (node.id() + 1) % node.size();
      node.trigger(clean[next]);
      if (next == 2) {
        node.poison(failing[next], Error(ErrorCode::io, "input two"));
      } else {
        node.trigger(failing[next]);
      }
      co_await all;
      for (const UserEvent event : clean) EXPECT_TRUE(node.has_triggered(event));
      std::string message;
      try {
        co_await with_failure;
      } catch (const Error& error) {
        message = error.message();
      }
      EXPECT_EQ(message, "input two");
    });
  }
}

TEST(EventService, MergesThatTheirInputsRaceWithTriggerOnce) {
  Runtime runtime(options_for("local:1"));
  Node& node = *runtime.nodes()[0];
  for (std::uint64_t round = 0; round < scaled(2000); ++round) {
    std::vector<UserEvent> inputs(32);
    for (UserEvent& input : inputs) input = node.create_user_event();
    std::thread triggerer([&] {
      for (const UserEvent input : inputs) node.trigger(input);
    });
    const Event merged = node.merge(std::vector<Event>(inputs.begin(), inputs.end()));
    node.wait(merged);
    triggerer.join();
    for (const UserEvent input : inputs) ASSERT_TRUE(node.has_triggered(input));
  }
  EXPECT_LE(node.events().table().slots_used(), 1024U);
}

TEST(EventService, AChainOfAnyLengthNeedsNoStack) {
  run_on("local:1", [](Node& node) {
    const UserEvent first = node.create_user_event();
    Event last = first;
    for (std::uint64_t i = 0; i < scaled(1'000'000); ++i) {
      const UserEvent next = node.create_user_event();
      node.trigger(next, last);
      last = next;
    }
    first.trigger();
    EXPECT_TRUE(last.has_triggered());
  });
}

TEST(EventService, TheTimeOfAnEventIsWhenItTriggered) {
  Runtime runtime(options_for("sim:2,latency=10us,overhead=0"));
  const UserEvent event = runtime.nodes()[0]->create_user_event();
  const UserEvent failed = runtime.nodes()[0]->create_user_event();
  runtime.run([&](Node& node) -> Task<> {
    const Future<double> when = node.time_of(event);
    const Future<double> when_failed = node.time_of(failed);
    if (node.id() == 0) {
      node.charge(1e-3);
      node.trigger(event);
      node.charge(1e-3);
      node.poison(failed, Error(ErrorCode::io, "on purpose"));
    }
    const double expected = node.id() == 0 ? 1e-3 : 1.01e-3;  // seen by the other node one latency later
    EXPECT_NEAR(co_await when, expected, 1e-8);
    EXPECT_NEAR(co_await when_failed, expected + 1e-3, 1e-8);
    EXPECT_LE(co_await node.time_of(no_event), node.now());
  });
}

TEST(EventService, NothingWaitsAfterTheShutdown) {
  Runtime runtime(options_for("local:2"));
  Node& node = *runtime.nodes()[0];
  const UserEvent awaited = node.create_user_event();
  const UserEvent remote = runtime.nodes()[1]->create_user_event();
  const Event merged = node.merge({awaited, remote});
  std::vector<std::thread> threads;
  std::atomic<int> cancelled{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      const Event mine = i % 2 == 0 ? Event(awaited) : merged;
      cancelled += code_of([&] { node.wait(mine); }) == "cancelled" ? 1 : 0;
      node.events().shut_down(test::a_cause(ErrorCode::cancelled));  // any number of times, from any thread
    });
  }
  node.events().shut_down(test::a_cause(ErrorCode::cancelled));
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(cancelled.load(), 4);
  EXPECT_EQ(code_of([&] { node.trigger(awaited); }), "none");  // that it was poisoned is nobody's second trigger
  EXPECT_EQ(code_of([&] { node.wait(remote); }), "cancelled");
}

// Only when the task is over; a merge of it, when all is.
TEST(EventService, WhatEndsByItselfDoesSoAfterTheShutdown) {
  Runtime runtime(options_for("sim:1"));
  Node& node = *runtime.nodes()[0];
  EventService& events = node.events();
  const Event task = events.create(Ends::by_itself);
  const Event ignored = events.create(Ends::by_itself);
  const UserEvent told = node.create_user_event();
  const UserEvent after_task = node.create_user_event();
  node.trigger(after_task, task);
  const Event merged = node.merge({told, task});
  std::vector<arena::Owned<test::Probe>> probes;
  const auto subscribe = [&](Event event) {
    Cause cause;
    test::Probe* const probe = probes.emplace_back(arena::make_owned<test::Probe>()).get();
    EXPECT_EQ(events.subscribe(event, probe, &cause), EventState::untriggered);
    EXPECT_EQ(cause, nullptr);
  };
  for (const Event event : {Event(after_task), merged}) subscribe(event);
  events.shut_down(test::a_cause(ErrorCode::cancelled));
  EXPECT_EQ(code_of_cause(node.cause_of(told)), "cancelled");
  for (const Event event : {task, node.merge({told, task}), node.merge({task, told})}) subscribe(event);
  for (const auto& probe : probes) EXPECT_EQ(probe->fired, 0);
  events.complete(task);
  events.complete(ignored);
  for (const auto& probe : probes) EXPECT_EQ(code_of_cause(probe->cause), "cancelled");
  EXPECT_EQ(code_of_cause(node.cause_of(ignored)), "none");
  Cause cause;
  EXPECT_EQ(events.subscribe(ignored, probes.front().get(), &cause), EventState::poisoned);
  EXPECT_EQ(code_of_cause(node.cause_of(node.merge({told, task}))), "cancelled");
}

TEST(EventService, WhatEndsByItselfMayBePoisonedInTheEnd) {
  Runtime runtime(options_for("sim:1"));
  Node& node = *runtime.nodes()[0];
  const Event task = node.events().create(Ends::by_itself);
  const UserEvent after_task = node.create_user_event();
  node.trigger(after_task, task);
  node.events().shut_down(test::a_cause(ErrorCode::cancelled));
  EXPECT_TRUE(node.events().poison_rest());
  EXPECT_FALSE(node.events().poison_rest());
  EXPECT_EQ(code_of_cause(node.cause_of(task)), "cancelled");
  EXPECT_EQ(code_of_cause(node.cause_of(after_task)), "cancelled");
}

TEST(EventService, NobodyWaitsForEverWhoSubscribesDuringTheShutdown) {
  for (std::uint64_t round = 0; round < scaled(400); ++round) {
    Runtime runtime(options_for("local:1", 1));
    Node& node = *runtime.nodes()[0];
    const UserEvent never = node.create_user_event();
    std::thread waiter([&] { EXPECT_EQ(code_of([&] { node.wait(never); }), "cancelled"); });
    node.events().shut_down(test::a_cause(ErrorCode::cancelled));
    waiter.join();
  }
}

}  // namespace
}  // namespace stretto
