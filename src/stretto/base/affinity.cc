#include "stretto/base/affinity.h"

#include <sched.h>

#include <algorithm>
#include <filesystem>
#include <string>

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

void bind_process_to_core(std::size_t index) {
  const cpu_set_t usable = usable_set();
  std::size_t left = index % usable_cores();
  for (std::size_t core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &usable) || left-- > 0) continue;
    cpu_set_t mine;
    CPU_ZERO(&mine);
    CPU_SET(core, &mine);
    for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
      sched_setaffinity(std::stoi(thread.path().filename()), sizeof mine, &mine);
    }
    return;
  }
}

}  // namespace stretto
