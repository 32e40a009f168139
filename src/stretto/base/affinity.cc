#include "stretto/base/affinity.h"

#include <sched.h>

#include <algorithm>

namespace stretto {

namespace {

// Empty where the system does not tell.
cpu_set_t usable_set() noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) CPU_ZERO(&set);
  return set;
}

}  // namespace

unsigned usable_cores() noexcept {
  const cpu_set_t usable = usable_set();
  return static_cast<unsigned>(std::max(1, CPU_COUNT(&usable)));
}

void bind_thread_to_cores(std::size_t first, std::size_t count) noexcept {
  const cpu_set_t usable = usable_set();
  const std::size_t usable_count = usable_cores();
  cpu_set_t mine;
  CPU_ZERO(&mine);
  std::size_t index = 0;
  for (std::size_t core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &usable)) continue;
    const std::size_t after_first = (index++ + usable_count - first % usable_count) % usable_count;
    if (after_first < count) CPU_SET(core, &mine);
  }
  if (CPU_COUNT(&mine) > 0) sched_setaffinity(0, sizeof mine, &mine);
}

}  // namespace stretto
