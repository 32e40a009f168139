#pragma once

#include <cstddef>

namespace stretto {

/// How many cores the calling thread may run on; at least 1.
unsigned usable_cores() noexcept;

/// Keeps the calling thread, and those that it starts later, on `count` of the cores that it may use: the `first`-th of
/// them and those after it, counted round. Does nothing where the system does not tell its cores.
void bind_thread_to_cores(std::size_t first, std::size_t count) noexcept;

}  // namespace stretto
