#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "stretto/collective/program_runs.h"
#include "stretto/fabric/sim/sim_fabric.h"

// Random programs of events and collectives on simulated machines that delay, reorder and kill.
namespace stretto {
namespace {

using test::Instruction;
using test::Program;
using test::replay;
using test::Sabotage;

struct Result {
  std::string complaints;
  std::uint64_t trace_hash = 0;
  std::uint64_t messages = 0;
  double seconds = 0;  // virtual
  std::size_t clean = 0;
  std::size_t lost = 0;
};

// Runs `program` on a simulated machine with further `options`. `saboteur` is the node that does the sabotage.
Result simulate(const Program& program, const std::string& options, Sabotage sabotage = Sabotage::none,
                NodeId saboteur = 0) {
  Result result;
  RuntimeOptions runtime_options = test::options_for("sim:" + std::to_string(program.nodes) + options);
  runtime_options.staging_bytes = std::size_t{8} << (10 + program.salt % 8);
  Runtime runtime(runtime_options);
  auto& fabric = static_cast<fabric::SimFabric&>(runtime.fabric());
  const bool deaths = options.find("kill=") != std::string::npos;
  test::ProgramRuns runs(program, runtime, sabotage, saboteur);
  try {
    runtime.run([&](Node& node) -> Task<> {
      const std::string complaints = co_await runs.of(node.id()).run(deaths);
      if (fabric.alive(node.id())) result.complaints += complaints;
    });
  } catch (const Error& error) {
    result.complaints += std::string("the run ended with ") + error.what() + "\n";
  }
  for (const auto& node : runtime.nodes()) {
    if (!fabric.alive(node->id())) continue;
    result.clean += runs.of(node->id()).clean();
    result.lost += runs.of(node->id()).lost();
  }
  result.trace_hash = fabric.timeline().trace_hash();
  result.messages = fabric.messages();
  result.seconds = fabric::to_seconds(fabric.timeline().now());
  return result;
}

// A machine whose disorder also follows from the seed. Where it is told how many nodes there are, they may share hosts.
std::string disorder(std::uint64_t seed, std::uint32_t nodes = 1) {
  Random random(seed * 31 + 7);
  std::string options = ",seed=" + std::to_string(seed);
  if (random.below(4) != 0) options += ",jitter=" + std::to_string(random.below(5000)) + "ns";
  if (random.below(3) != 0) options += ",reorder=0." + std::to_string(random.below(9));
  if (random.below(3) != 0) options += ",delay=50us,delay_probability=0.0" + std::to_string(random.below(10));
  if (random.below(2) != 0) options += ",gap=400ns,task=300ns";
  if (random.below(2) != 0) options += random.below(2) == 0 ? ",early=0.01" : ",early=0.5";
  if (random.below(2) != 0) options += ",peer_pointer=segments";
  if (nodes > 1 && random.below(2) != 0) options += ",hosts=" + std::to_string(1 + random.below(nodes - 1));
  return options;
}

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

TEST(Simulation, TheCheckerSeesEverySabotage) {
  for (const Sabotage sabotage : {Sabotage::wrong_input, Sabotage::calls_in_wrong_order, Sabotage::early_trigger}) {
    std::size_t seen = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      Program program = test::random_program(seed, 4, 7, 8);
      std::vector<NodeId> all;
      for (NodeId node = 0; node < program.nodes; ++node) all.push_back(node);
      // Two calls that match each other, so that only their values tell them apart.
      for (std::size_t i = 0; i < 2; ++i) {
        program.instructions[i] = {Instruction::Kind::allreduce, Group(all), 0, 5, 0,
                                   Instruction::Start::at_once,  0,          0, 0};
      }
      seen += simulate(program, disorder(seed), sabotage, 2).complaints.empty() ? 0U : 1U;
    }
    // Now and then what is asked for too early has come already.
    EXPECT_GE(seen, sabotage == Sabotage::early_trigger ? 10U : 20U) << "sabotage " << static_cast<int>(sabotage);
  }
}

// A small run with operations on vectors, small and large, deferred and not, over two groups.
Program small_program() {
  using Kind = Instruction::Kind;
  using Start = Instruction::Start;
  const Group all{0, 1, 2, 3, 4};
  const Group some{4, 1, 3};
  return {5,
          77,
          {
              {Kind::barrier, all, 0, 0, 0, Start::at_once, 0, 0, 0},
              {Kind::allreduce, all, 0, 2, 0, Start::after_earlier, 0, 0, 0},
              {Kind::allreduce, some, 0, 1500, 0, Start::after_user_event, 0, 2, 1e-6},
              {Kind::broadcast, all, 1, 900, 2, Start::at_once, 0, 0, 0},
              {Kind::user_allreduce, some, 1, 3, 0, Start::at_once, 0, 0, 0},
              {Kind::reduce, all, 2, 4, 3, Start::after_merge, 1, 1, 0},
              {Kind::allgather, some, 2, 3, 0, Start::after_earlier, 2, 0, 0},
              {Kind::allgather, all, 0, 600, 0, Start::at_once, 0, 0, 0},
          }};
}

// The same with scans, a general reduce, and operations on blocks.
Program small_program_of_blocks() {
  using Kind = Instruction::Kind;
  using Start = Instruction::Start;
  const Group all{0, 1, 2, 3, 4};
  const Group some{4, 1, 3};
  return {5,
          78,
          {
              {Kind::scatter, all, 0, 2, 1, Start::at_once, 0, 0, 0},
              {Kind::scan, all, 0, 3, 0, Start::after_earlier, 0, 0, 0},
              {Kind::reduce_scatter, some, 0, 600, 0, Start::after_user_event, 0, 2, 1e-6},
              {Kind::general_reduce, all, 1, 900, 2, Start::at_once, 0, 0, 0},
              {Kind::exscan, some, 1, 700, 0, Start::at_once, 0, 0, 0},
              {Kind::gather, all, 2, 800, 3, Start::after_merge, 1, 1, 0},
              {Kind::all_to_all, some, 2, 600, 0, Start::after_earlier, 2, 0, 0},
              {Kind::general_reduce, all, 0, 1, 4, Start::at_once, 0, 0, 0},
          }};
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
