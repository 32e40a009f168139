#include "stretto/collective/plan.h"

#include <gtest/gtest.h>

#include <vector>

#include "stretto/schedule/test_support.h"

namespace stretto {
namespace {

using schedule::Operation;
using schedule::Rank;

std::string_view chosen(Operation operation, Rank size, const Setting& setting) {
  return choose({.operation = operation, .size = size}, setting).algorithm->name();
}

TEST(Plan, CrowdedNodesExchangeSmallVectorsThroughOneOfThem) {
  EXPECT_EQ(chosen(Operation::allreduce, 16, {.bytes = 8}), "recursive_doubling");
  EXPECT_EQ(chosen(Operation::allreduce, 16, {.bytes = 8, .crowded = true}), "linear_allreduce");
  EXPECT_EQ(chosen(Operation::allreduce, 2, {.bytes = 8, .crowded = true}), "recursive_doubling");
  EXPECT_EQ(chosen(Operation::barrier, 16, {}), "dissemination_barrier");
  EXPECT_EQ(chosen(Operation::barrier, 16, {.crowded = true}), "linear_barrier");
}

TEST(Plan, NodesThatShareMemoryReduceLargeVectorsInPlace) {
  EXPECT_EQ(chosen(Operation::allreduce, 4, {.bytes = 1 << 20, .shared_memory = true}), "direct_allreduce");
  EXPECT_EQ(chosen(Operation::allreduce, 4, {.bytes = 1024, .shared_memory = true}), "recursive_doubling");
}

TEST(Plan, OverWiresLargeVectorsAreCut) {
  EXPECT_EQ(chosen(Operation::allreduce, 4, {.bytes = 1 << 20}), "ring_allreduce");
  EXPECT_EQ(chosen(Operation::allreduce, 4, {.bytes = 1024}), "recursive_doubling");
  EXPECT_EQ(chosen(Operation::allreduce, 2, {.bytes = 1 << 20}), "recursive_doubling");
}

// All that `size` ranks may ask for, but for roots.
std::vector<schedule::Shape> shapes_of(Rank size) {
  std::vector<schedule::Shape> shapes;
  for (const Operation operation :
       {Operation::barrier, Operation::broadcast, Operation::reduce, Operation::allreduce, Operation::allgather,
        Operation::gather, Operation::scatter, Operation::reduce_scatter, Operation::all_to_all, Operation::scan,
        Operation::exscan, Operation::general_reduce}) {
    for (const bool commutative : {true, false}) {
      if (!commutative && !schedule::is_reduction(operation)) continue;
      for (const schedule::Shape& shape :
           schedule::test::with_roles({.operation = operation, .size = size, .commutative = commutative})) {
        if (schedule::defect_of(shape).empty()) shapes.push_back(shape);
      }
    }
  }
  return shapes;
}

TEST(Plan, WhatIsChosenSupportsTheShape) {
  for (Rank size = 1; size <= 17; ++size) {
    for (const schedule::Shape& shape : shapes_of(size)) {
      for (const std::size_t bytes : {std::size_t{8}, std::size_t{1} << 20U}) {
        for (const bool crowded : {false, true}) {
          for (const bool shared_memory : {false, true}) {
            const Choice choice = choose(shape, {.bytes = bytes, .crowded = crowded, .shared_memory = shared_memory});
            EXPECT_EQ(choice.algorithm->refusal(choice.shape), "") << schedule::describe(choice.shape);
          }
        }
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
