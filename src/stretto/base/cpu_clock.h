#pragma once

#include <cstdint>

namespace stretto {

/// Nanoseconds of processor time that the calling thread has used so far.
///
/// Unlike the time on the wall they do not count what others do with the processor meanwhile; nor do they count sleep,
/// waiting for a disk, or the work of other threads.
std::int64_t thread_cpu_nanoseconds() noexcept;

}  // namespace stretto
