#include "stretto/collective/step_states.h"

#include <gtest/gtest.h>

#include <vector>

#include "stretto/schedule/algorithm.h"
#include "stretto/schedule/materialize.h"

namespace stretto {
namespace {

// All that may start now, in the order in which they do.
std::vector<std::uint32_t> started(StepStates& states) {
  std::vector<std::uint32_t> steps;
  for (std::uint32_t step = states.start_next(); step != StepStates::none; step = states.start_next()) {
    steps.push_back(step);
  }
  return steps;
}

// A binomial tree of eight: its largest subtree is listed first.
TEST(StepStates, WhatMayStartDoesInTheOrderOfTheSchedule) {
  const schedule::Algorithm& tree = schedule::find_algorithm("binomial_broadcast");
  const schedule::Shape shape{.operation = schedule::Operation::broadcast, .size = 8};
  const auto may_start = [](std::uint32_t) { return StepStates::State::waiting; };

  const schedule::Schedule root = schedule::materialize(tree, shape, 0);
  const StepStates::Beginning at_root(root, 3, may_start);
  StepStates states;
  states.reset(at_root);
  states.begin(at_root);
  EXPECT_EQ(started(states), (std::vector<std::uint32_t>{0, 1, 2, 3}));

  const schedule::Schedule inner = schedule::materialize(tree, shape, 4);
  const StepStates::Beginning at_inner(inner, 3, may_start);
  StepStates inner_states;
  inner_states.reset(at_inner);
  inner_states.begin(at_inner);
  EXPECT_EQ(started(inner_states), (std::vector<std::uint32_t>{0}));
  inner_states.complete(0, inner);
  EXPECT_EQ(started(inner_states), (std::vector<std::uint32_t>{1, 2}));
}

TEST(StepStates, OneStepCanBeTakenIfItsTurnHasCome) {
  const schedule::Algorithm& flat = schedule::find_algorithm("linear_broadcast");
  const schedule::Schedule root =
      schedule::materialize(flat, {.operation = schedule::Operation::broadcast, .size = 4}, 0);
  const StepStates::Beginning beginning(root, 3, [](std::uint32_t) { return StepStates::State::waiting; });
  StepStates states;
  states.reset(beginning);
  EXPECT_FALSE(states.start_if_next(0)) << "before it begins";
  states.begin(beginning);
  EXPECT_FALSE(states.start_if_next(1));
  EXPECT_TRUE(states.start_if_next(0));
  EXPECT_FALSE(states.start_if_next(0));
  EXPECT_TRUE(states.start_if_next(1));
  EXPECT_EQ(states.of(1), StepStates::State::started);
  EXPECT_EQ(started(states), (std::vector<std::uint32_t>{2, 3}));
  EXPECT_FALSE(states.start_if_next(3));
}

}  // namespace
}  // namespace stretto
