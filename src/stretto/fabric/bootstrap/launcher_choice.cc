#include "stretto/fabric/bootstrap/launcher_choice.h"

#include <charconv>
#include <optional>
#include <string_view>

#include "stretto/base/error.h"

namespace stretto::fabric {
namespace {

constexpr std::string_view use_our_launcher = "start it with `stretto run -n N APP`";

/// An empty value counts as not set, as for every setting of Stretto.
const std::string* find(const Environment& environment, std::string_view name) {
  const auto found = environment.find(name);
  return found == environment.end() || found->second.empty() ? nullptr : &found->second;
}

[[noreturn]] void refuse(std::string_view name, std::string_view value, std::string_view remedy) {
  throw Error(ErrorCode::bad_input,
              std::string(name) + "=\"" + std::string(value) + "\" in the environment: " + std::string(remedy));
}

/// The number in variable `name`, at most `limit`; nothing if it is not set.
std::optional<std::uint32_t> number(const Environment& environment, std::string_view name, std::uint32_t limit) {
  const std::string* text = find(environment, name);
  if (text == nullptr) return std::nullopt;
  std::uint32_t value = 0;
  const char* end = text->data() + text->size();
  const auto [stop, failure] = std::from_chars(text->data(), end, value);
  if (failure == std::errc{} && stop == end && value <= limit) return value;
  refuse(name, *text, "it must be a number from 0 to " + std::to_string(limit) + "; a launcher sets it, nobody else");
}

std::optional<LauncherChoice> rendezvous_choice(const Environment& environment) {
  const std::string* endpoint = find(environment, "STRETTO_JOB_ENDPOINT");
  const auto rank = number(environment, "STRETTO_JOB_RANK", max_nodes - 1);
  const auto size = number(environment, "STRETTO_JOB_SIZE", max_nodes);
  const auto secret = number(environment, "STRETTO_JOB_SECRET_FD", 1U << 20U);
  if (endpoint == nullptr && !rank && !size && !secret) return std::nullopt;
  const char* missing = endpoint == nullptr ? "STRETTO_JOB_ENDPOINT"
                        : !rank             ? "STRETTO_JOB_RANK"
                        : !size             ? "STRETTO_JOB_SIZE"
                        : !secret           ? "STRETTO_JOB_SECRET_FD"
                                            : nullptr;
  if (missing != nullptr) {
    throw Error(ErrorCode::bad_input, std::string(missing) + " is missing beside the other STRETTO_JOB_* variables: " +
                                          "`stretto run` sets all of them; unset them all to run alone");
  }
  if (*size == 0 || *rank >= *size) {
    refuse("STRETTO_JOB_RANK", std::to_string(*rank),
           "it must be below STRETTO_JOB_SIZE, which is " + std::to_string(*size));
  }
  return LauncherChoice{Launcher::rendezvous, *rank, *size, *endpoint, static_cast<int>(*secret)};
}

std::optional<LauncherChoice> pmix_choice(const Environment& environment) {
  const std::string* name = find(environment, "PMIX_NAMESPACE");
  const auto rank = number(environment, "PMIX_RANK", max_nodes - 1);
  if (name == nullptr && !rank) return std::nullopt;
  if (name == nullptr || !rank) {
    throw Error(ErrorCode::bad_input, std::string(rank ? "PMIX_NAMESPACE" : "PMIX_RANK") +
                                          " is missing beside the other PMIX_* variables: the launcher announces a job "
                                          "that cannot be reached; " +
                                          std::string(use_our_launcher));
  }
  LauncherChoice choice;
  choice.launcher = Launcher::pmix;
  choice.rank = *rank;
  return choice;
}

/// The size that `launcher` announced without a means to reach the ranks: one is fine, more (or unknown) is not.
void admit_only_one(std::string_view launcher, std::optional<std::uint32_t> size, std::string_view remedy) {
  if (size == 1U) return;
  throw Error(ErrorCode::not_supported, std::string(launcher) + " announces " +
                                            (size ? std::to_string(*size) : std::string("an unknown number of")) +
                                            " ranks but offers no PMIx, so this process cannot reach them: " +
                                            std::string(remedy) + std::string(use_our_launcher));
}

/// Every kind is looked at: an `mpiexec` inside of a Slurm batch job announces ranks of which Slurm knows nothing.
void refuse_unreachable_ranks(const Environment& environment) {
  constexpr std::uint32_t any = ~0U;
  if (find(environment, "OMPI_COMM_WORLD_SIZE") != nullptr) {
    admit_only_one("Open MPI (OMPI_COMM_WORLD_SIZE)", number(environment, "OMPI_COMM_WORLD_SIZE", any),
                   "use an Open MPI built with PMIx (4.0 or newer), or ");
  }
  if (const auto rank = number(environment, "SLURM_PROCID", any)) {
    auto size = number(environment, "SLURM_STEP_NUM_TASKS", any);
    if (!size) size = number(environment, "SLURM_NTASKS", any);
    if (!size && *rank == 0) size = 1;  // a batch script for which no number of tasks was asked
    admit_only_one("Slurm (SLURM_PROCID)", size, "use `srun --mpi=pmix`, or ");
  }
  if (find(environment, "PMI_RANK") != nullptr || find(environment, "PMI_SIZE") != nullptr) {
    admit_only_one("A launcher of MPICH's kind (PMI_RANK, PMI_SIZE)", number(environment, "PMI_SIZE", any),
                   "MPICH's hydra has no PMIx; use a PMIx launcher, or ");
  }
}

}  // namespace

LauncherChoice choose_launcher(const Environment& environment) {
  if (const auto choice = rendezvous_choice(environment)) return *choice;
  if (const auto choice = pmix_choice(environment)) return *choice;
  refuse_unreachable_ranks(environment);
  return {};
}

}  // namespace stretto::fabric
