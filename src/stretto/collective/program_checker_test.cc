#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/collective/program_simulation.h"

// What random programs are made of, and that their checker sees whatever a node does wrong.
namespace stretto {
namespace {

using schedule::Operation;
using test::Instruction;
using test::Program;
using test::Sabotage;

// What a call has that others have not.
std::set<std::string> ways_of(const Instruction& call) {
  const std::string name(schedule::name_of(call.operation));
  std::set<std::string> ways;
  if (schedule::is_reduction(call.operation)) {
    ways.insert(name + " by operator " + std::to_string(static_cast<int>(call.op)));
  }
  if (call.has_list()) ways.insert(name + " of counts");
  if (call.named({}).segments > 1) ways.insert(name + " in segments");
  if (!call.auxiliaries.empty()) ways.insert(name + " with auxiliaries");
  for (const NodeId node : call.group.nodes()) {
    if (call.is_in_place_at(node)) ways.insert(name + " in place");
  }
  return ways;
}

TEST(ProgramChecker, ProgramsCallInEveryWay) {
  std::set<std::string> found;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    const Program program = test::random_program(seed, 1, 7, 24);
    for (const Instruction& call : program.instructions) found.merge(ways_of(call));
  }
  std::set<std::string> ways{"allreduce with auxiliaries"};
  const auto expect = [&ways](std::initializer_list<const char*> names, const std::string& way) {
    for (const std::string name : names) ways.insert(name + way);
  };
  for (const char* const op : {"0", "1", "2"}) {
    expect({"reduce", "allreduce", "reduce_scatter", "scan", "exscan", "general_reduce"},
           std::string(" by operator ") + op);
  }
  expect({"allgather", "gather", "scatter", "reduce_scatter", "all_to_all"}, " of counts");
  expect({"broadcast", "reduce", "allreduce", "scan", "exscan"}, " in segments");
  expect({"broadcast", "reduce", "allreduce", "allgather", "gather", "scatter", "reduce_scatter", "all_to_all", "scan",
          "exscan", "general_reduce"},
         " in place");
  EXPECT_EQ(found, ways);
}

// --- Sabotage, always of node 2 -------------------------------------------------------------------------------------

constexpr NodeId saboteur = 2;

// At once, of five elements; rank 2 is the root.
Instruction call_of(Operation operation, const Group& group, Instruction::Operator op = Instruction::Operator::sum) {
  return {operation, group, 0, 5, 2, Instruction::Start::at_once, 0, 0, 0, op};
}

// Each of the calls, apart and in place.
std::vector<Instruction> both_ways(std::vector<Instruction> calls) {
  const std::size_t count = calls.size();
  for (std::size_t i = 0; i < count; ++i) {
    calls.push_back(calls[i]);
    calls.back().in_place = ~std::uint64_t{0};
  }
  return calls;
}

// In a program of that call alone, whatever the machine does.
void expect_seen(Sabotage sabotage, const std::vector<Instruction>& calls) {
  for (const Instruction& call : calls) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      const Program program{5, seed, {call}};
      const std::string machine = test::disorder(seed);
      EXPECT_EQ(test::simulate(program, machine).complaints, "") << machine;
      EXPECT_NE(test::simulate(program, machine, sabotage, saboteur).complaints, "")
          << "sabotage " << static_cast<int>(sabotage) << " of a " << schedule::name_of(call.operation)
          << " by operator " << static_cast<int>(call.op) << (call.in_place != 0 ? ", in place" : "") << machine;
    }
  }
}

TEST(ProgramChecker, SeesAWrongElementInEveryOperation) {
  std::vector<Instruction> calls;
  for (const Operation operation :
       {Operation::broadcast, Operation::allgather, Operation::gather, Operation::scatter, Operation::all_to_all}) {
    calls.push_back(call_of(operation, {0, 1, 2, 3, 4}));
  }
  for (const Operation operation : {Operation::reduce, Operation::allreduce, Operation::reduce_scatter, Operation::scan,
                                    Operation::exscan, Operation::general_reduce}) {
    for (const auto op : {Instruction::Operator::sum, Instruction::Operator::of_user, Instruction::Operator::as_task}) {
      calls.push_back(call_of(operation, {0, 1, 2, 3, 4}, op));
    }
  }
  expect_seen(Sabotage::wrong_input, both_ways(calls));
}

TEST(ProgramChecker, SeesAWrongOperator) {
  expect_seen(Sabotage::wrong_operator,
              both_ways({call_of(Operation::reduce, {0, 1, 2, 3, 4}, Instruction::Operator::of_user),
                         call_of(Operation::reduce, {0, 1, 2, 3, 4}, Instruction::Operator::as_task)}));
}

TEST(ProgramChecker, SeesAnotherNumberOfSegments) {
  Instruction call = call_of(Operation::broadcast, {0, 1, 2, 3, 4});
  call.segments = 1;
  while (call.named({}).name != "chain_broadcast") ++call.algorithm;
  expect_seen(Sabotage::other_segments, {call});
}

// Apart, or where only a part of it is the output.
TEST(ProgramChecker, SeesThatAnInputWasWritten) {
  const Group all{0, 1, 2, 3, 4};
  std::vector<Instruction> calls =
      both_ways({call_of(Operation::scatter, all), call_of(Operation::reduce_scatter, all)});
  for (const Operation operation : {Operation::reduce, Operation::allreduce, Operation::gather, Operation::allgather,
                                    Operation::all_to_all, Operation::scan, Operation::exscan}) {
    calls.push_back(call_of(operation, all));
  }
  expect_seen(Sabotage::written_input, calls);
}

TEST(ProgramChecker, SeesThatWhoGetsNothingWasWrittenTo) {
  Instruction helped = call_of(Operation::allreduce, {0, 1, 3, 4});
  helped.auxiliaries = {saboteur};
  expect_seen(Sabotage::written_output, both_ways({helped, call_of(Operation::exscan, {saboteur, 0, 1, 3, 4})}));
}

// Two calls that match each other, so that only their values tell them apart.
TEST(ProgramChecker, SeesWrongOrders) {
  for (const Sabotage sabotage : {Sabotage::calls_in_wrong_order, Sabotage::early_trigger}) {
    std::size_t seen = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      Program program = test::random_program(seed, 4, 7, 8);
      std::vector<NodeId> all;
      for (NodeId node = 0; node < program.nodes; ++node) all.push_back(node);
      for (std::size_t i = 0; i < 2; ++i) program.instructions[i] = call_of(Operation::allreduce, Group(all));
      seen += test::simulate(program, test::disorder(seed), sabotage, saboteur).complaints.empty() ? 0U : 1U;
    }
    // Now and then what is asked for too early has come already.
    EXPECT_GE(seen, sabotage == Sabotage::early_trigger ? 10U : 20U) << "sabotage " << static_cast<int>(sabotage);
  }
}

}  // namespace
}  // namespace stretto
