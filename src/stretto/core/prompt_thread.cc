#include "stretto/core/prompt_thread.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace stretto {

namespace {

// As in <linux/sched/types.h>, which clashes with the C library's <sched.h>.
struct SchedulingAttributes {
  std::uint32_t size = 0;
  std::uint32_t policy = 0;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime = 0;  // of an ordinary thread: its slice in nanoseconds
  std::uint64_t deadline = 0;
  std::uint64_t period = 0;
};

constexpr std::uint64_t least_slice_nanoseconds = 100'000;

}  // namespace

void prefer_prompt_wake_ups() noexcept {
  SchedulingAttributes attributes;
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return;
  attributes.runtime = least_slice_nanoseconds;
  syscall(SYS_sched_setattr, 0, &attributes, 0);
  prctl(PR_SET_TIMERSLACK, 1UL);
}

}  // namespace stretto
