#include "stretto/collective/plan.h"

#include <gtest/gtest.h>

namespace stretto {
namespace {

using schedule::Operation;
using schedule::Rank;

std::string_view chosen(Operation operation, Rank size, std::size_t bytes, bool crowded) {
  return choose_algorithm({.operation = operation, .size = size}, bytes, crowded).name();
}

TEST(Plan, CrowdedNodesExchangeSmallVectorsThroughOneOfThem) {
  EXPECT_EQ(chosen(Operation::allreduce, 16, 8, false), "recursive_doubling");
  EXPECT_EQ(chosen(Operation::allreduce, 16, 8, true), "linear_allreduce");
  EXPECT_EQ(chosen(Operation::allreduce, 16, 1 << 20, true), "recursive_doubling");
  EXPECT_EQ(chosen(Operation::allreduce, 2, 8, true), "recursive_doubling");
  EXPECT_EQ(chosen(Operation::barrier, 16, 0, false), "dissemination_barrier");
  EXPECT_EQ(chosen(Operation::barrier, 16, 0, true), "linear_barrier");
}

TEST(Plan, WhatIsChosenSupportsTheShape) {
  for (const Operation operation :
       {Operation::barrier, Operation::broadcast, Operation::reduce, Operation::allreduce, Operation::allgather}) {
    for (Rank size = 1; size <= 17; ++size) {
      for (const bool crowded : {false, true}) {
        const schedule::Shape shape{.operation = operation, .size = size};
        EXPECT_TRUE(choose_algorithm(shape, 8, crowded).supports(shape)) << schedule::describe(shape);
      }
    }
  }
}

TEST(Plan, FindsTheStepOfAMessage) {
  const schedule::Shape shape{.operation = Operation::allreduce, .size = 5};
  for (Rank me = 0; me < shape.size; ++me) {
    const Plan plan(schedule::find_algorithm("recursive_doubling"), shape, me);
    std::size_t without_dependencies = 0;
    for (std::uint32_t step = 0; step < plan.steps().size(); ++step) {
      const schedule::Step& each = plan.steps()[step];
      without_dependencies += each.dependency_count == 0 ? 1 : 0;
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
    EXPECT_EQ(plan.first_steps().size(), without_dependencies);
    EXPECT_EQ(plan.receive_step(me, 0), Plan::none);
    EXPECT_EQ(plan.send_step(0, 99), Plan::none);
  }
}

}  // namespace
}  // namespace stretto
