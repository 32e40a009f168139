#include "stretto/core/phase_barrier.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "stretto/core/barrier_service.h"
#include "stretto/core/test_support.h"

namespace stretto {
namespace {

using test::code_of;
using test::code_of_cause;
using test::options_for;
using test::scaled;

std::vector<NodeId> all_of(Runtime& runtime) {
  std::vector<NodeId> nodes;
  for (const auto& node : runtime.nodes()) nodes.push_back(node->id());
  return nodes;
}

PhaseBarrier create_at(Runtime& runtime, NodeId owner, std::uint32_t arrivals) {
  return runtime.nodes()[owner]->barriers().create(arrivals, all_of(runtime));
}

TEST(PhaseBarrier, NobodyIsAheadByMoreThanAPhase) {
  for (const char* const fabric : {"local:1", "local:7", "sim:7,reorder=0.3,jitter=2us"}) {
    Runtime runtime(options_for(fabric));
    const auto nodes = static_cast<std::uint32_t>(runtime.nodes().size());
    const PhaseBarrier first = create_at(runtime, nodes / 2, nodes);
    const std::uint64_t phases = scaled(2000) / nodes;
    std::vector<std::atomic<std::uint64_t>> arrived(phases);
    runtime.run([&](Node& node) -> Task<> {
      PhaseBarrier barrier = first;
      for (std::uint64_t phase = 0; phase < phases; ++phase, barrier = barrier.next()) {
        ++arrived[phase];
        node.barriers().arrive(barrier);
        co_await barrier.event();
        EXPECT_EQ(arrived[phase].load(), nodes);
      }
    });
  }
}

TEST(PhaseBarrier, ArrivalsMayComeAheadAndManyAtATime) {
  for (const char* const fabric : {"local:2", "sim:2,reorder=0.5"}) {
    Runtime runtime(options_for(fabric));
    const PhaseBarrier first = create_at(runtime, 0, 10);
    runtime.run([first](Node& node) -> Task<> {
      const PhaseBarrier second = first.next();
      const PhaseBarrier third = second.next();
      for (const PhaseBarrier phase : {third, second, first}) {
        node.barriers().arrive(phase, 3);
        node.barriers().arrive(phase, 2);
        node.barriers().arrive(phase, 0);
      }
      co_await third.event();  // asked for before the others
      EXPECT_TRUE(node.has_triggered(first.event()));
      co_await first.event();
      co_await second.event();
    });
  }
}

// A node that asks for a late phase first must still hear of the early one.
TEST(PhaseBarrier, PhasesMayBeAwaitedInAnyOrder) {
  for (const char* const fabric : {"local:2", "sim:2"}) {
    Runtime runtime(options_for(fabric));
    const PhaseBarrier first = create_at(runtime, 0, 1);
    runtime.run([first](Node& node) -> Task<> {
      const PhaseBarrier second = first.next();
      if (node.id() == 1) {
        const Event late = node.spawn([] {}, SpawnOptions().after(second.event()));
        co_await first.event();
        node.barriers().arrive(second);
        co_await late;
      } else {
        node.barriers().arrive(first);
        co_await second.event();
      }
    });
  }
}

TEST(PhaseBarrier, ArrivalsMayBeDeferred) {
  for (const char* const fabric : {"local:2", "sim:2"}) {
    Runtime runtime(options_for(fabric));
    const PhaseBarrier barrier = create_at(runtime, 1, 2);
    const UserEvent gate = runtime.nodes()[0]->create_user_event();
    runtime.run([&](Node& node) -> Task<> {
      node.barriers().arrive(barrier, 1, gate);
      if (node.id() == 0) {
        EXPECT_FALSE(node.has_triggered(barrier.event()));
        node.trigger(gate);
      }
      co_await barrier.event();
    });
  }
}

TEST(PhaseBarrier, AnArrivalThatNeverComesPoisonsThisAndLaterPhases) {
  for (const char* const fabric : {"local:3", "sim:3,reorder=0.3"}) {
    Runtime runtime(options_for(fabric));
    const PhaseBarrier first = create_at(runtime, 0, 3);
    const UserEvent broken = runtime.nodes()[1]->create_user_event();
    runtime.run([&](Node& node) {
      node.barriers().arrive(first);
      EXPECT_EQ(code_of([&] { node.wait(first.event()); }), "none");
      const PhaseBarrier second = first.next();
      node.barriers().arrive(second, 1, node.id() == 1 ? Event(broken) : no_event);
      if (node.id() == 1) node.poison(broken, Error(ErrorCode::io, "a disk"));
      EXPECT_EQ(code_of([&] { node.wait(second.next().event()); }), "io");
      EXPECT_EQ(code_of([&] { node.wait(second.event()); }), "io");
      EXPECT_EQ(code_of([&] { node.wait(first.event()); }), "none");
    });
  }
}

TEST(PhaseBarrier, TooManyArrivalsPoisonTheBarrierAndNobodyIsBlamed) {
  for (const NodeId owner : {NodeId{0}, NodeId{1}}) {
    Runtime runtime(options_for("sim:2"));
    const PhaseBarrier barrier = create_at(runtime, owner, 2);
    runtime.run([&](Node& node) {
      if (node.id() == 0) node.barriers().arrive(barrier, 3);
      EXPECT_EQ(code_of([&] { node.wait(barrier.event()); }), "invalid_state");
      EXPECT_FALSE(node.endpoint().lost(1 - node.id()));
    });
  }
}

TEST(PhaseBarrier, OneThatIsUsedUpLeavesItsNeighbourAlone) {
  Runtime runtime(options_for("sim:3"));
  BarrierService& barriers = runtime.nodes()[0]->barriers();
  const std::vector<NodeId> participants{0, 2};
  barriers.set_first_phase(Event::max_generation);
  PhaseBarrier last = barriers.create(1, participants);
  if (last.event().slot() % 2 != 0) last = barriers.create(1, participants);
  barriers.set_first_phase(1);
  const PhaseBarrier neighbour = barriers.create(1, std::vector<NodeId>{0});
  runtime.run([&](Node& node) {
    if (node.id() == 1) {
      EXPECT_EQ(code_of([&] { node.wait(neighbour.event()); }), "none");
    } else if (node.id() == 0) {
      node.charge(1);  // until node 1 has asked
      node.barriers().arrive(last);
      node.wait(last.event());
      node.barriers().arrive(last);  // once too often
      node.endpoint().context().enter([&] { node.endpoint().lose(2, Error(ErrorCode::io, "on purpose")); });
      node.charge(1);
      node.barriers().arrive(neighbour);
    }
  });
}

TEST(PhaseBarrier, MisuseIsAnError) {
  Runtime runtime(options_for("local:2"));
  BarrierService& barriers = runtime.nodes()[0]->barriers();
  const std::vector<NodeId> unknown{0, 7};
  EXPECT_EQ(code_of([&] { barriers.create(0, {}); }), "invalid_argument");
  EXPECT_EQ(code_of([&] { barriers.create(1, unknown); }), "invalid_argument");
  EXPECT_EQ(code_of([&] { barriers.arrive(PhaseBarrier()); }), "invalid_argument");
  EXPECT_EQ(code_of([&] { barriers.arrive(PhaseBarrier(Event(0, 5, 1))); }), "invalid_argument");
  EXPECT_EQ(code_of([&] { barriers.arrive(PhaseBarrier(Event(0, Event::first_barrier_slot + 99, 1))); }),
            "invalid_argument");
  EXPECT_EQ(code_of([&] { barriers.arrive(PhaseBarrier(Event(9, Event::first_barrier_slot, 1))); }),
            "invalid_argument");
  EXPECT_EQ(code_of([&] { barriers.arrive(PhaseBarrier(Event(0, Event::first_barrier_slot, 0))); }),
            "invalid_argument");
  EXPECT_EQ(code_of([&] { barriers.arrive(PhaseBarrier(Event(1, Event::first_barrier_slot, 0))); }),
            "invalid_argument");
  EXPECT_EQ(code_of([] { PhaseBarrier(Event(0, Event::first_barrier_slot, Event::max_generation)).next(); }),
            "out_of_resources");
  EXPECT_EQ(code_of([] { PhaseBarrier().next(); }), "invalid_state");
  EXPECT_EQ(code_of([] { PhaseBarrier(Event(0, 5, 1)).next(); }), "invalid_state");
  const Event never_created(0, Event::first_barrier_slot + 99, 1);
  EXPECT_EQ(code_of([&] { runtime.nodes()[0]->wait(never_created); }), "invalid_argument");
  EXPECT_EQ(code_of([&] { runtime.nodes()[0]->has_triggered(never_created); }), "invalid_argument");
}

// Only its node knows: who waits for it is told, and who arrives is not blamed.
TEST(PhaseBarrier, OneThatAnotherNodeNeverCreatedIsAnErrorToWhoWaits) {
  for (const char* const fabric : {"local:2", "sim:2"}) {
    Runtime runtime(options_for(fabric));
    const PhaseBarrier barrier = create_at(runtime, 0, 2);
    runtime.run([&](Node& node) {
      const NodeId other = 1 - node.id();
      const PhaseBarrier none(Event(other, Event::first_barrier_slot + 99, 1));
      node.barriers().arrive(none);
      EXPECT_EQ(code_of([&] { node.wait(none.event()); }), "invalid_argument");
      EXPECT_EQ(code_of([&] { node.wait(none.next().event()); }), "invalid_argument");
      node.barriers().arrive(barrier);
      EXPECT_EQ(code_of([&] { node.wait(barrier.event()); }), "none");
      EXPECT_FALSE(node.endpoint().lost(other));
    });
  }
}

TEST(PhaseBarrier, ADeadParticipantOrOwnerPoisonsWhatIsNotOver) {
  for (const NodeId victim : {NodeId{0}, NodeId{2}}) {  // the owner, a participant
    for (std::uint64_t index = 0; index < 40; ++index) {
      Runtime runtime(options_for("sim:3,kill=" + std::to_string(victim) + "#" + std::to_string(index)));
      const PhaseBarrier first = create_at(runtime, 0, 3);
      runtime.run([&, victim](Node& node) {
        PhaseBarrier barrier = first;
        bool poisoned = false;
        for (int phase = 0; phase < 5; ++phase, barrier = barrier.next()) {
          node.barriers().arrive(barrier);
          const std::string outcome = code_of([&] { node.wait(barrier.event()); });
          if (node.id() == victim) continue;
          EXPECT_TRUE(outcome == "none" || outcome == "peer_lost") << outcome;
          EXPECT_FALSE(poisoned && outcome == "none") << "a phase after a poisoned one";
          poisoned = poisoned || outcome == "peer_lost";
        }
        EXPECT_LT(node.id() == victim ? 0.0 : node.now(), 1e-3);
      });
    }
  }
}

TEST(PhaseBarrier, OneWithALostParticipantIsPoisonedFromTheStart) {
  Runtime runtime(options_for("sim:2,kill=1@1us"));
  runtime.run([](Node& node) {
    if (node.id() == 1) return;
    node.charge(1e-3);
    const std::vector<NodeId> both{0, 1};
    const PhaseBarrier barrier = node.barriers().create(2, both);
    EXPECT_EQ(code_of_cause(node.cause_of(barrier.event())), "peer_lost");
  });
}

}  // namespace
}  // namespace stretto
