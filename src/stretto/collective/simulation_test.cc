#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "stretto/collective/program_simulation.h"
#include "stretto/collective/test_support.h"

// Random programs of events and collectives on simulated machines that delay, reorder and kill.
namespace stretto {
namespace {

using schedule::Operation;
using test::disorder;
using test::Instruction;
using test::Program;
using test::replay;
using test::Result;
using test::simulate;
using Operator = Instruction::Operator;
using Start = Instruction::Start;

TEST(Simulation, RandomProgramsOfEventsAndCollectivesSeeds) {
  for (const std::uint64_t seed : test::seeds(1000)) {
    const Program program = test::random_program(seed, 1, 7, 24);
    const Result result = simulate(program, disorder(seed, program.nodes));
    ASSERT_EQ(result.complaints, "") << replay(seed);
    if (seed % 10 != 0) continue;
    EXPECT_EQ(simulate(program, disorder(seed, program.nodes)).trace_hash, result.trace_hash)
        << "not the same twice: " << replay(seed);
  }
}

// The groups of the small runs.
const Group five{0, 1, 2, 3, 4};
const Group three{4, 1, 3};

// A small run with operations on vectors, small and large, deferred and not, over two groups.
Program small_program() {
  return {5,
          77,
          {
              {Operation::barrier, five, 0, 0, 0, Start::at_once, 0, 0, 0},
              {Operation::allreduce, five, 0, 2, 0, Start::after_earlier, 0, 0, 0},
              {Operation::allreduce, three, 0, 1500, 0, Start::after_user_event, 0, 2, 1e-6},
              {Operation::broadcast, five, 1, 900, 2, Start::at_once, 0, 0, 0},
              {Operation::allreduce, three, 1, 3, 0, Start::at_once, 0, 0, 0, Operator::of_user},
              {Operation::reduce, five, 2, 4, 3, Start::after_merge, 1, 1, 0},
              {Operation::allgather, three, 2, 3, 0, Start::after_earlier, 2, 0, 0},
              {Operation::allgather, five, 0, 600, 0, Start::at_once, 0, 0, 0},
          }};
}

// The same with scans, a general reduce, and operations on blocks.
Program small_program_of_blocks() {
  return {5,
          78,
          {
              {Operation::scatter, five, 0, 2, 1, Start::at_once, 0, 0, 0},
              {Operation::scan, five, 0, 3, 0, Start::after_earlier, 0, 0, 0},
              {Operation::reduce_scatter, three, 0, 600, 0, Start::after_user_event, 0, 2, 1e-6},
              {Operation::general_reduce, five, 1, 900, 2, Start::at_once, 0, 0, 0},
              {Operation::exscan, three, 1, 700, 0, Start::at_once, 0, 0, 0},
              {Operation::gather, five, 2, 800, 3, Start::after_merge, 1, 1, 0},
              {Operation::all_to_all, three, 2, 600, 0, Start::after_earlier, 2, 0, 0},
              {Operation::general_reduce, five, 0, 1, 4, Start::at_once, 0, 0, 0},
          }};
}

// The same by other ways to call: in place, by tasks, by schedules that are named, with auxiliaries that are used.
Program small_program_of_other_calls() {
  Program program{5,
                  79,
                  {
                      {Operation::allreduce, three, 0, 2, 0, Start::at_once, 0, 0, 0, Operator::sum, {0, 2}},
                      {Operation::allreduce, five, 0, 3, 0, Start::after_earlier, 0, 0, 0, Operator::as_task},
                      {Operation::reduce, five, 1, 700, 2, Start::after_user_event, 0, 2, 1e-6, Operator::as_task},
                      {Operation::allreduce, three, 0, 900, 0, Start::at_once, 0, 0, 0, Operator::of_user, {2}},
                      {Operation::reduce_scatter, five, 1, 2, 0, Start::after_earlier, 2, 0, 0, Operator::as_task},
                      {Operation::exscan, three, 2, 3, 0, Start::after_merge, 1, 1, 0, Operator::of_user},
                      {Operation::scatter, five, 2, 600, 4, Start::at_once, 0, 0, 0},
                      {Operation::general_reduce, five, 0, 5, 2, Start::at_once, 0, 0, 0, Operator::as_task},
                  }};
  for (Instruction& each : program.instructions) {
    each.in_place = ~std::uint64_t{0};
    each.algorithm = 1;
  }
  return program;
}

// Whatever computes, user operators too, takes time when it is measured, and the same time when that is replayed.
TEST(Simulation, AMeasuredRunIsReplayed) {
  const std::string file = testing::TempDir() + "stretto_simulation_test_" + std::to_string(getpid());
  const Result recorded = simulate(small_program(), ",record=" + file);
  EXPECT_EQ(recorded.complaints, "");
  EXPECT_GT(recorded.seconds, simulate(small_program(), "").seconds);
  for (int twice = 0; twice < 2; ++twice) {
    const Result replayed = simulate(small_program(), ",replay=" + file);
    EXPECT_EQ(replayed.complaints, "");
    EXPECT_EQ(replayed.trace_hash, recorded.trace_hash);
    EXPECT_EQ(replayed.seconds, recorded.seconds);
  }
  std::filesystem::remove(file);
}

// Each message of the run takes each node along. Everybody who lives sees each event trigger, with the right value or
// poisoned by peer_lost, soon.
void kill_at_every_message(const Program& program, const std::string& more = "") {
  constexpr double detection = 20e-6;
  const std::string machine = ",seed=4,jitter=1us,reorder=0.2,detection=20us" + more;
  const Result whole = simulate(program, machine);
  ASSERT_EQ(whole.complaints, "");
  ASSERT_GT(whole.messages, 50U);
  std::size_t clean = 0;
  std::size_t lost = 0;
  for (std::uint64_t index = 0; index < whole.messages; ++index) {
    for (NodeId victim = 0; victim < program.nodes; ++victim) {
      const std::string kill = ",kill=" + std::to_string(victim) + "#" + std::to_string(index);
      const Result result = simulate(program, machine + kill);
      ASSERT_EQ(result.complaints, "") << "sim:5" << machine << kill;
      ASSERT_LT(result.seconds, whole.seconds + 2 * detection) << "sim:5" << machine << kill;
      clean += result.clean;
      lost += result.lost;
    }
  }
  // Both outcomes do occur, or this test would show nothing.
  EXPECT_GT(clean, 1000U);
  EXPECT_GT(lost, 1000U);
}

TEST(Simulation, AKillAtEveryMessageIndex) { kill_at_every_message(small_program()); }
TEST(Simulation, AKillAtEveryMessageIndexOfOperationsOnBlocks) { kill_at_every_message(small_program_of_blocks()); }
TEST(Simulation, AKillAtEveryMessageIndexOfOtherCalls) { kill_at_every_message(small_program_of_other_calls()); }

TEST(Simulation, AKillAtEveryMessageIndexOfSchedulesByHosts) { kill_at_every_message(small_program(), ",hosts=2"); }

// Whichever message takes them along.
void kill_two(const Program& program, std::uint64_t seed) {
  const std::string machine = disorder(seed, program.nodes);
  const Result whole = simulate(program, machine);
  ASSERT_EQ(whole.complaints, "") << machine << "\n" << replay(seed);
  Random random(seed);
  std::string kills;
  for (int i = 0; i < 2 && whole.messages > 0; ++i) {
    kills +=
        ",kill=" + std::to_string(random.below(program.nodes)) + "#" + std::to_string(random.below(whole.messages));
  }
  const Result result = simulate(program, machine + kills);
  ASSERT_EQ(result.complaints, "") << machine << kills << "\n" << replay(seed);
}

// In which tasks of an operator had not begun when their node died.
TEST(Simulation, OperatorsOfTheDeadTouchNothing) {
  for (const std::uint64_t seed : {356U, 399U}) {
    ASSERT_NO_FATAL_FAILURE(kill_two(test::random_program(seed, 3, 7, 20), seed));
  }
}

TEST(Simulation, TwoKillsAtRandomMessagesSeeds) {
  for (const std::uint64_t seed : test::seeds(200)) {
    ASSERT_NO_FATAL_FAILURE(kill_two(test::random_program(seed, 3, 7, 20), seed));
  }
}

// Of several pieces: what comes over wires from several is asked for in turn.
TEST(Simulation, TwoKillsAmongLargeDataSeeds) {
  for (const std::uint64_t seed : test::seeds(30)) {
    ASSERT_NO_FATAL_FAILURE(kill_two(test::random_program(seed, 3, 7, 12, 50'000), seed));
  }
}

// A collective among nodes of which one was lost before its call fails at once, and others go on.
TEST(Simulation, AGroupWithALostMemberFailsAndOthersWork) {
  Runtime runtime(test::options_for("sim:4,kill=3@1us,detection=5us"));
  runtime.run([](Node& node) -> Task<> {
    if (node.id() == 3) co_return;
    node.charge(50e-6);
    const std::string said = co_await test::outcome(barrier(node, Group::all(node)));
    EXPECT_EQ(said.rfind("peer_lost: ", 0), 0U) << said;
    EXPECT_NE(said.find("node 3"), std::string::npos) << said;
    EXPECT_NE(said.find("killed"), std::string::npos) << "not why: " << said;
    const Group living{0, 1, 2};
    const int total = co_await allreduce(node, living, 1, sum);
    EXPECT_EQ(total, 3);
  });
}

// Two members that lose each other, though both live: the others hear of it from them, or would wait for ever.
TEST(Simulation, ABrokenConnectionEndsTheCollectiveForAllMembers) {
  for (const std::uint32_t nodes : {3U, 8U, 13U}) {
    for (const std::size_t count : {1U, 3000U}) {
      test::run_on("sim:" + std::to_string(nodes), [count](Node& node) -> Task<> {
        const Group all = Group::all(node);
        std::vector<int> data(count, 1);
        const Event done = allreduce(node, all, data, data, sum);
        if (node.id() == 0) {
          fabric::Endpoint& endpoint = node.endpoint();
          endpoint.context().enter([&] { endpoint.lose(1, Error(ErrorCode::bad_input, "said the test")); });
        }
        const std::string said = co_await test::outcome(done);
        // What had left before the break may be enough for some.
        if (said.empty()) {
          EXPECT_EQ(data, std::vector<int>(count, static_cast<int>(all.size())));
        } else {
          EXPECT_EQ(said.rfind("peer_lost: ", 0), 0U) << "node " << node.id() << ": " << said;
        }
        EXPECT_FALSE(said.empty() && node.id() == 0);
      });
    }
  }
}

}  // namespace
}  // namespace stretto
