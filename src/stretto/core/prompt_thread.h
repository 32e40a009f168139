#pragma once

namespace stretto {

/// Asks the kernel to run the calling thread soon after it wakes up, even where another thread computes on its core:
/// it gives up long time slices in return. For a thread that mostly sleeps. A hint: kernels before 6.12 know no slices
/// of threads, and preempt for a sleeper by themselves.
void prefer_prompt_wake_ups() noexcept;

}  // namespace stretto
