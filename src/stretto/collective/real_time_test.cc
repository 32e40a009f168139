#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "stretto/collective/random_program.h"
#include "stretto/collective/test_support.h"

// The random programs of the simulations, by threads that share memory: kinds of memory, large data and calls that are
// alike meet as they come.
namespace stretto {
namespace {

class RealTime : public testing::TestWithParam<test::FabricKind> {};

INSTANTIATE_TEST_SUITE_P(Fabrics, RealTime,
                         testing::Values(test::fabric_kinds[0], test::fabric_kinds[1], test::fabric_kinds[2]),
                         test::name_of_kind);

TEST_P(RealTime, RandomProgramsOfEventsAndCollectivesSeeds) {
  for (const std::uint64_t seed : test::seeds(60)) {
    const test::Program program = test::random_program(seed, 1, 7, 24, 20'000);
    const unsigned workers = 1 + static_cast<unsigned>(seed % 3);
    Runtime runtime(test::options_for(GetParam().of(program.nodes), workers));
    std::vector<UserEvent> user_events;
    for (const test::Instruction& instruction : program.instructions) {
      user_events.push_back(runtime.nodes()[instruction.trigger_node]->create_user_event());
    }
    // A node that triggers others' events may do so after its own part.
    std::vector<std::unique_ptr<test::ProgramRun>> runs;
    for (const auto& node : runtime.nodes()) {
      runs.push_back(std::make_unique<test::ProgramRun>(program, *node, user_events, test::Sabotage::none));
    }
    runtime.run([&](Node& node) -> Task<> {
      const std::string complaints = co_await runs[node.id()]->run(false);
      EXPECT_EQ(complaints, "") << test::replay(seed);
    });
    if (testing::Test::HasFailure()) break;
  }
}

}  // namespace
}  // namespace stretto
