#include "stretto/collective/selector.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "stretto/base/error.h"
#include "stretto/collective/collective.h"
#include "stretto/core/segment_array.h"
#include "stretto/core/test_support.h"
#include "stretto/fabric/spec.h"

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

fabric::SimOptions machine_of(const std::string& spec) { return fabric::parse_spec(spec).sim; }

TEST(Selector, InsideAHostOfASimulatedMachineNothingGoesByAWire) {
  const fabric::SimOptions one = machine_of("sim:8,hosts=1,inside_latency=3us,inside_overhead=2us");
  Surroundings here;
  here.simulated = &one;
  EXPECT_FALSE(placement_of(here, Link::host).maps);
  EXPECT_EQ(costs_of(here).of(Link::host).latency, 3e-6);
  EXPECT_EQ(costs_of(here).of(Link::host).announcement, 2e-6);
  for (const char* const machine : {"sim:6,hosts=3", "sim:6,hosts=3,peer_pointer=segments"}) {
    test::run_on(machine, [machine](Node& node) {
      const CollectiveService& service = CollectiveService::of(node);
      EXPECT_EQ(service.link_of(Group{4, 5}), Link::host) << machine;
      EXPECT_NE(service.link_of(Group{3, 4}), Link::host) << machine;
    });
  }
  test::run_on("sim:2,hosts=1",
               [](Node& node) { EXPECT_EQ(CollectiveService::of(node).link_of(Group::all(node)), Link::host); });
}

TEST(Selector, WhereSimulatedNodesReachSegmentsLargeDataTakeNoTime) {
  const fabric::SimOptions machine = machine_of("sim:8,hosts=2,latency=5us,peer_pointer=segments");
  Surroundings here;
  here.simulated = &machine;
  EXPECT_TRUE(placement_of(here, Link::local).maps);
  const schedule::CostTable table = costs_of(here);
  EXPECT_EQ(table.of(Link::local).latency, machine.latency);
  EXPECT_EQ(table.of(Link::host).latency, machine.inside_latency);
  for (const Link link : {Link::local, Link::host}) {
    EXPECT_EQ(table.of(link).byte_time, 0);
    EXPECT_GT(table.of(link).inline_time, 0);
    EXPECT_EQ(table.of(link).reduction_time, 0);
    EXPECT_EQ(table.origin(link), "the simulated machine's");
  }
}

/// Virtual seconds until the last node is through with a call in segment memory, by the named algorithm, or (no name)
/// as it is chosen.
double seconds_of(const std::string& machine, Operation operation, std::size_t bytes, std::string_view name = {},
                  std::uint32_t segments = 1) {
  Runtime runtime(test::options_for(machine));
  double end = 0;
  runtime.run([&](Node& node) -> Task<> {
    const Group all = Group::all(node);
    SegmentArray<std::uint64_t> input(node, bytes / sizeof(std::uint64_t));
    SegmentArray<std::uint64_t> output(node, input.size());
    std::fill(input.begin(), input.end(), node.id());
    const std::span<const std::uint64_t> mine(input.data(), input.size());
    const std::span<std::uint64_t> made(output.data(), output.size());
    const CollectiveOptions options = CollectiveOptions().algorithm(name, segments);
    switch (operation) {
      case Operation::broadcast: co_await broadcast(node, all, made, 0, options); break;
      case Operation::reduce: co_await reduce(node, all, mine, made, sum, 0, options); break;
      case Operation::scan: co_await scan(node, all, mine, made, sum, options); break;
      default: co_await allreduce(node, all, mine, made, sum, options);
    }
    end = std::max(end, node.now());
  });
  return end;
}

struct SimulatedCall {
  std::string machine;
  Operation operation;
  std::size_t bytes;
};

// Or two per cent more: of what is granted in place, LogGP knows nothing.
TEST(Selector, WhatIsChosenTakesTheLeastVirtualTimeInsideAHostAndInPlace) {
  const std::string inside = "sim:8,hosts=1";
  const std::string in_place = "sim:8,peer_pointer=segments";
  const std::string in_place_of_16 = "sim:16,peer_pointer=segments";
  const std::string inside_in_place = "sim:8,hosts=1,peer_pointer=segments";
  for (const auto& [machine, operation, bytes] : {
           SimulatedCall{inside, Operation::allreduce, 64 << 10U},
           {in_place, Operation::broadcast, 8},
           {in_place, Operation::reduce, 1024},
           {in_place_of_16, Operation::allreduce, 16 << 10U},
           {in_place_of_16, Operation::allreduce, 1 << 20U},
           {in_place, Operation::scan, 64 << 10U},
           {in_place, Operation::scan, 1 << 20U},
           {inside_in_place, Operation::allreduce, 1 << 20U},
       }) {
    const double chosen = seconds_of(machine, operation, bytes);
    schedule::Request request;
    request.shape = {.operation = operation, .size = machine_of(machine).nodes};
    request.bytes = bytes;
    for (const schedule::Candidate& each : rank_candidates(request, schedule::built_in_costs())) {
      const double seconds = seconds_of(machine, operation, bytes, each.algorithm->name(), each.segments);
      EXPECT_LE(chosen, 1.02 * seconds) << machine << ", " << bytes << " bytes: " << each.algorithm->name() << ", "
                                        << each.segments;
    }
  }
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
