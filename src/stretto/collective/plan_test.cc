#include "stretto/collective/plan.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "stretto/schedule/test_support.h"

namespace stretto {
namespace {

using schedule::Operation;
using schedule::Rank;

TEST(Plan, FindsTheStepOfAMessage) {
  const schedule::Shape shape{.operation = Operation::allreduce, .size = 5};
  for (Rank me = 0; me < shape.size; ++me) {
    const Plan plan(schedule::find_algorithm("recursive_doubling"), shape, me);
    StepStates states;
    states.reset(plan.beginning());
    states.begin(plan.beginning());
    std::set<std::uint32_t> first_steps;
    for (std::uint32_t step = states.start_next(); step != Plan::none; step = states.start_next()) {
      first_steps.insert(step);
    }
    for (std::uint32_t step = 0; step < plan.steps().size(); ++step) {
      const schedule::Step& each = plan.steps()[step];
      EXPECT_EQ(first_steps.contains(step), each.dependency_count == 0);
      if (each.kind == schedule::StepKind::receive) {
        EXPECT_EQ(plan.receive_step(each.peer, each.tag), step);
      }
      if (each.kind == schedule::StepKind::send) {
        EXPECT_EQ(plan.send_step(each.peer, each.tag), step);
      }
      if (each.is_message()) {
        EXPECT_EQ(plan.peers()[plan.index_of_peer(each.peer)], each.peer);
      }
    }
    EXPECT_EQ(plan.receive_step(me, 0), Plan::none);
    EXPECT_EQ(plan.send_step(0, 99), Plan::none);
  }
}

}  // namespace
}  // namespace stretto
