#pragma once

#include <cstddef>

namespace stretto {

/// How many cores the calling thread may run on; at least 1.
unsigned usable_cores() noexcept;

/// Keeps all threads that this process has now, and those that they start later, on one of the cores that the calling
/// thread may use: the `index`-th of them, counted round. As MPI's launchers bind processes. Does nothing where the
/// system does not tell its cores.
void bind_process_to_core(std::size_t index);

}  // namespace stretto
