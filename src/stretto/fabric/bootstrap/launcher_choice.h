#pragma once

#include <cstdint>
#include <string>

#include "stretto/base/ids.h"
#include "stretto/fabric/bootstrap/environment.h"

namespace stretto::fabric {

/// Who started this process, as far as joining its job goes.
enum class Launcher : std::uint8_t {
  none,        ///< nobody announces peers: a job of this process alone
  rendezvous,  ///< `stretto run`
  pmix,        ///< Slurm (`srun --mpi=pmix`), PRRTE, Open MPI's `mpirun`
};

struct LauncherChoice {
  Launcher launcher = Launcher::none;
  NodeId rank = 0;
  std::uint32_t size = 1;  ///< of the rendezvous; PMIx tells its size only after the connection
  std::string endpoint;    ///< of the rendezvous: HOST:PORT or [IPv6]:PORT
  int secret_descriptor = -1;
};

/// Decides from the environment alone; a pure function.
///
/// In this order: `STRETTO_JOB_*` (all of them or it is an error), `PMIX_RANK` with `PMIX_NAMESPACE`, then those
/// launchers that announce ranks in a way that Stretto can't follow: MPICH's hydra (`PMI_*`), Open MPI without PMIx
/// (`OMPI_COMM_WORLD_SIZE`), Slurm without PMIx (`SLURM_PROCID`). Those are accepted as a job of one when they announce
/// exactly one rank, and are an Error(not_supported) with the remedy otherwise: a job must never silently become
/// several jobs of size 1. Error(bad_input): a variable that isn't what it must be.
LauncherChoice choose_launcher(const Environment& environment);

}  // namespace stretto::fabric
