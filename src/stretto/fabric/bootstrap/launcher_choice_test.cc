#include "stretto/fabric/bootstrap/launcher_choice.h"

#include <gtest/gtest.h>

#include "stretto/base/error.h"

namespace stretto::fabric {
namespace {

struct Accepted {
  const char* name;
  Environment environment;
  Launcher launcher;
  NodeId rank = 0;
  std::uint32_t size = 1;
};

struct Refused {
  const char* name;
  Environment environment;
  ErrorCode code;
  const char* words;  // that the message must hold
};

Environment ours(const char* rank = "2", const char* size = "4") {
  return {{"STRETTO_JOB_ENDPOINT", "127.0.0.1:5"},
          {"STRETTO_JOB_RANK", rank},
          {"STRETTO_JOB_SIZE", size},
          {"STRETTO_JOB_SECRET_FD", "7"}};
}

Environment with(Environment base, const Environment& more) {
  for (const auto& [name, value] : more) base.insert_or_assign(name, value);
  return base;
}

Environment without(Environment base, const char* name) {
  base.erase(name);
  return base;
}

const Environment pmix{{"PMIX_RANK", "1"}, {"PMIX_NAMESPACE", "job"}};

class AcceptedEnvironment : public testing::TestWithParam<Accepted> {};

TEST_P(AcceptedEnvironment, IsUnderstood) {
  const LauncherChoice choice = choose_launcher(GetParam().environment);
  EXPECT_EQ(choice.launcher, GetParam().launcher);
  EXPECT_EQ(choice.rank, GetParam().rank);
  EXPECT_EQ(choice.size, GetParam().size);
}

INSTANTIATE_TEST_SUITE_P(
    LauncherChoice, AcceptedEnvironment,
    testing::Values(Accepted{"Nobody", {{"HOME", "/root"}}, Launcher::none},
                    Accepted{"Ours", ours(), Launcher::rendezvous, 2, 4},
                    Accepted{"OursOfOne", ours("0", "1"), Launcher::rendezvous, 0, 1},
                    Accepted{"OursInsideOfPmix", with(ours(), pmix), Launcher::rendezvous, 2, 4},
                    Accepted{"OursInsideOfSlurm", with(ours(), {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "9"}}),
                             Launcher::rendezvous, 2, 4},
                    Accepted{"EmptyCountsAsUnset", {{"STRETTO_JOB_RANK", ""}, {"PMI_RANK", ""}}, Launcher::none},
                    Accepted{"Pmix", pmix, Launcher::pmix, 1},
                    Accepted{"OpenMpiWithPmix", with(pmix, {{"OMPI_COMM_WORLD_SIZE", "8"}}), Launcher::pmix, 1},
                    Accepted{"SlurmWithPmix", with(pmix, {{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "8"}}),
                             Launcher::pmix, 1},
                    Accepted{"HydraOfOne", {{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}}, Launcher::none},
                    Accepted{"OpenMpiOfOne", {{"OMPI_COMM_WORLD_SIZE", "1"}}, Launcher::none},
                    Accepted{"SlurmOfOne", {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}}, Launcher::none},
                    Accepted{"SlurmStepOfOne",
                             {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}, {"SLURM_STEP_NUM_TASKS", "1"}},
                             Launcher::none},
                    Accepted{"SlurmBatchScript", {{"SLURM_PROCID", "0"}}, Launcher::none}),
    [](const auto& instance) { return instance.param.name; });

class RefusedEnvironment : public testing::TestWithParam<Refused> {};

TEST_P(RefusedEnvironment, IsExplained) {
  try {
    choose_launcher(GetParam().environment);
    FAIL() << "a job of size 1 in silence";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), GetParam().code) << error.what();
    EXPECT_NE(error.message().find(GetParam().words), std::string::npos) << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(
    LauncherChoice, RefusedEnvironment,
    testing::Values(
        Refused{"NoEndpoint", without(ours(), "STRETTO_JOB_ENDPOINT"), ErrorCode::bad_input, "STRETTO_JOB_ENDPOINT"},
        Refused{"NoRank", without(ours(), "STRETTO_JOB_RANK"), ErrorCode::bad_input, "STRETTO_JOB_RANK"},
        Refused{"NoSize", without(ours(), "STRETTO_JOB_SIZE"), ErrorCode::bad_input, "STRETTO_JOB_SIZE"},
        Refused{"NoSecret", without(ours(), "STRETTO_JOB_SECRET_FD"), ErrorCode::bad_input, "STRETTO_JOB_SECRET_FD"},
        Refused{"RankIsNoNumber", ours("two"), ErrorCode::bad_input, "STRETTO_JOB_RANK"},
        Refused{"RankIsNegative", ours("-1"), ErrorCode::bad_input, "STRETTO_JOB_RANK"},
        Refused{"RankWithARest", ours("1x"), ErrorCode::bad_input, "STRETTO_JOB_RANK"},
        Refused{"RankOutOfRange", ours("4"), ErrorCode::bad_input, "STRETTO_JOB_SIZE"},
        Refused{"SizeOfNothing", ours("0", "0"), ErrorCode::bad_input, "STRETTO_JOB_SIZE"},
        Refused{"SizeTooLarge", ours("0", "65537"), ErrorCode::bad_input, "STRETTO_JOB_SIZE"},
        Refused{"PmixRankAlone", without(pmix, "PMIX_NAMESPACE"), ErrorCode::bad_input, "PMIX_NAMESPACE"},
        Refused{"PmixNamespaceAlone", without(pmix, "PMIX_RANK"), ErrorCode::bad_input, "PMIX_RANK"},
        Refused{"PmixRankIsNoNumber", with(pmix, {{"PMIX_RANK", "?"}}), ErrorCode::bad_input, "PMIX_RANK"},
        Refused{"Hydra", {{"PMI_RANK", "0"}, {"PMI_SIZE", "4"}}, ErrorCode::not_supported, "stretto run"},
        Refused{"HydraIsNamed", {{"PMI_RANK", "0"}, {"PMI_SIZE", "4"}}, ErrorCode::not_supported, "hydra has no PMIx"},
        Refused{"HydraOfUnknownSize", {{"PMI_RANK", "0"}}, ErrorCode::not_supported, "unknown number"},
        Refused{"HydraInSlurmOfOne",
                {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}, {"PMI_RANK", "0"}, {"PMI_SIZE", "4"}},
                ErrorCode::not_supported,
                "hydra"},
        Refused{"HydraSizeIsNoNumber", {{"PMI_SIZE", "many"}}, ErrorCode::bad_input, "PMI_SIZE"},
        Refused{"OpenMpiWithoutPmix", {{"OMPI_COMM_WORLD_SIZE", "2"}}, ErrorCode::not_supported, "Open MPI"},
        Refused{"Slurm", {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"}}, ErrorCode::not_supported, "srun --mpi=pmix"},
        Refused{"SlurmOfUnknownSize", {{"SLURM_PROCID", "3"}}, ErrorCode::not_supported, "unknown number"},
        Refused{
            "SlurmStep", {{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "2"}}, ErrorCode::not_supported, "2 ranks"}),
    [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace stretto::fabric
