#include "stretto/collective/selector.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "stretto/base/error.h"
#include "stretto/collective/collective.h"
#include "stretto/core/test_support.h"

namespace stretto {
namespace {

using schedule::Link;
using schedule::Operation;

Surroundings crowded_host() {
  Surroundings here;
  here.occupancy = {16, 2};
  here.one_process = false;
  return here;
}

TEST(Selector, ChoosesWhatScheduleSelects) {
  const Surroundings here = crowded_host();
  Selector selector(here);
  for (const Operation operation : {Operation::barrier, Operation::allreduce, Operation::allgather}) {
    for (const std::size_t bytes : {std::size_t{64}, std::size_t{1} << 20U}) {
      schedule::Request request;
      request.shape = {.operation = operation, .size = 16};
      request.bytes = schedule::cuts_vector(operation) ? bytes : bytes / 16;
      request.placement = {Link::host, 16, 2};
      const schedule::Candidate expected = select(request, schedule::built_in_costs());
      // The second time it remembers.
      for (int time = 0; time < 2; ++time) {
        const Choice choice = selector.choose(request.shape, bytes, true, Link::host);
        EXPECT_EQ(choice.algorithm, expected.algorithm);
        EXPECT_EQ(choice.shape, expected.shape);
      }
    }
  }
}

TEST(Selector, WhatDiffersIsChosenApart) {
  const Surroundings here = crowded_host();
  Selector selector(here);
  const schedule::Shape shape{.operation = Operation::allreduce, .size = 16};
  schedule::Shape ordered = shape;
  ordered.commutative = false;
  EXPECT_NE(selector.choose(shape, 8, true, Link::host).algorithm,
            selector.choose(shape, 1 << 20U, true, Link::host).algorithm);
  EXPECT_EQ(selector.choose(ordered, 1 << 24U, true, Link::wire).shape.commutative, false);
  EXPECT_EQ(selector.choose(shape, 1 << 24U, true, Link::wire).shape.commutative, true);
}

TEST(Selector, GoesByTheTuningAndByTheSimulatedMachine) {
  // A network on which bytes cost nothing and messages much, and its opposite.
  schedule::CostTable table;
  table.of(Link::wire) = {.latency = 1e-3, .overhead = 1e-3};
  Surroundings here;
  here.tuning = {to_json(table), "a test"};
  Selector by_messages(here);
  table.of(Link::wire) = {.latency = 1e-12, .overhead = 1e-12, .byte_time = 1e-6};
  Surroundings there;
  there.tuning = {to_json(table), "a test"};
  Selector by_bytes(there);
  const schedule::Shape shape{.operation = Operation::allreduce, .size = 16};
  EXPECT_EQ(by_messages.choose(shape, 1 << 20U, true, Link::wire).shape.blocks, 1U);
  EXPECT_GE(by_bytes.choose(shape, 1 << 20U, true, Link::wire).shape.blocks, 16U);

  fabric::SimOptions machine;
  machine.latency = 5e-6;
  machine.seconds_per_byte = 3e-9;
  here.simulated = &machine;
  EXPECT_EQ(costs_of(here).of(Link::wire).latency, 5e-6);
  EXPECT_EQ(costs_of(here).of(Link::wire).byte_time, 3e-9);
}

TEST(Selector, ABadTableIsOneClearErrorAtTheStart) {
  RuntimeOptions options = test::options_for("local:3");
  options.tuning = {"{]", "tuned.json"};
  const std::optional<Error> error = test::error_of([&] { Runtime runtime(options); });
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->code(), ErrorCode::bad_input);
  EXPECT_NE(error->message().find("tuned.json"), std::string::npos) << error->message();
}

TEST(Selector, NodesOfAProcessShareIt) {
  test::run_on("local:4", [](Node& node) {
    const Group all = Group::all(node);
    EXPECT_EQ(CollectiveService::of(node).link_of(all), Link::local);
    auto address = reinterpret_cast<std::uintptr_t>(&CollectiveService::of(node).selector());
    std::vector<std::uintptr_t> addresses(all.size());
    allgather(node, all, std::span<const std::uintptr_t>(&address, 1), addresses).wait();
    for (const std::uintptr_t each : addresses) EXPECT_EQ(each, address);
  });
  test::run_on("sim:3",
               [](Node& node) { EXPECT_EQ(CollectiveService::of(node).link_of(Group::all(node)), Link::wire); });
}

// A caller's number of segments is another schedule, with the same result.
TEST(Selector, SegmentsMayBeNamed) {
  test::run_on("local:5", [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    const std::vector<std::uint64_t> mine(10'000, node.id());
    for (const std::uint32_t segments : {1U, 3U, 8U}) {
      std::vector<std::uint64_t> sums(mine.size());
      const CollectiveOptions options = CollectiveOptions().algorithm("ring_allreduce", segments);
      co_await allreduce(node, all, mine, sums, sum, options);
      EXPECT_EQ(sums, std::vector<std::uint64_t>(mine.size(), 10));
    }
    const CollectiveOptions too_many = CollectiveOptions().algorithm("recursive_doubling", 2);
    std::vector<std::uint64_t> sums(mine.size());
    EXPECT_THROW(allreduce(node, all, mine, sums, sum, too_many), Error);
  });
}

}  // namespace
}  // namespace stretto
