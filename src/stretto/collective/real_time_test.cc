#include <gtest/gtest.h>

#include <string>

#include "stretto/collective/program_runs.h"
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
    RuntimeOptions options = test::options_for(GetParam().of(program.nodes), workers);
    options.staging_bytes = std::size_t{8} << (10 + seed % 6);  // through which large data pass once, or many times
    options.check_calls = seed % 5 == 0;                        // all call in one place
    Runtime runtime(options);
    test::ProgramRuns runs(program, runtime);
    runtime.run([&](Node& node) -> Task<> {
      const std::string complaints = co_await runs.of(node.id()).run(false);
      EXPECT_EQ(complaints, "") << test::replay(seed);
    });
    if (testing::Test::HasFailure()) break;
  }
}

}  // namespace
}  // namespace stretto
