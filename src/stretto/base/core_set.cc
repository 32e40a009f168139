#include "stretto/base/core_set.h"

#include <cerrno>

namespace stretto {

CoreSet::CoreSet(std::size_t most) noexcept : set_(CPU_ALLOC(most)), bytes_(set_ ? CPU_ALLOC_SIZE(most) : 0) {
  if (bytes_ > 0) CPU_ZERO_S(bytes_, set_.get());
}

CoreSet CoreSet::usable(Query query) noexcept {
  constexpr std::size_t most_asked_for = std::size_t{1} << 20U;
  for (std::size_t most = CPU_SETSIZE; most <= most_asked_for; most *= 2) {
    CoreSet set(most);
    if (query(0, set.bytes_, set.set_.get()) == 0) return set;
    if (errno != EINVAL) break;
  }
  return CoreSet(0);
}

std::size_t CoreSet::count() const noexcept { return static_cast<std::size_t>(CPU_COUNT_S(bytes_, set_.get())); }

bool CoreSet::has(std::size_t core) const noexcept { return CPU_ISSET_S(core, bytes_, set_.get()) != 0; }

void CoreSet::add(std::size_t core) noexcept { CPU_SET_S(core, bytes_, set_.get()); }

void CoreSet::bind_thread() const noexcept { sched_setaffinity(0, bytes_, set_.get()); }

}  // namespace stretto
