#include "stretto/base/cpu_clock.h"

#include <ctime>

namespace stretto {

std::int64_t thread_cpu_nanoseconds() noexcept {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);  // fails for no thread that asks about itself
  return std::int64_t{used.tv_sec} * 1'000'000'000 + used.tv_nsec;
}

}  // namespace stretto
