#pragma once

#include <memory>

#include "stretto/fabric/bootstrap/bootstrap.h"
#include "stretto/fabric/bootstrap/launcher_choice.h"

namespace stretto::fabric {

/// Joins the job of a PMIx launcher (Slurm, PRRTE, Open MPI's `mpirun`), which need not be a job of MPI.
///
/// At most one at a time in a process: the PMIx library keeps one connection. Deaths are not relayed: those launchers
/// end a job whose rank died, by default. REQUIRES: choice.launcher is pmix. Error(not_supported): the launcher is
/// announced but cannot be reached.
std::unique_ptr<Bootstrap> join_pmix(const LauncherChoice& choice, const Environment& environment);

}  // namespace stretto::fabric
