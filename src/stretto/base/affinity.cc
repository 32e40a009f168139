#include "stretto/base/affinity.h"

#include <algorithm>

#include "stretto/base/core_set.h"

namespace stretto {

unsigned usable_cores() noexcept { return static_cast<unsigned>(std::max<std::size_t>(1, CoreSet::usable().count())); }

void bind_thread_to_cores(std::size_t first, std::size_t count) noexcept {
  const CoreSet usable = CoreSet::usable();
  const std::size_t usable_count = usable.count();
  CoreSet mine(usable.most());
  std::size_t index = 0;
  for (std::size_t core = 0; core < usable.most(); ++core) {
    if (!usable.has(core)) continue;
    const std::size_t after_first = (index++ + usable_count - first % usable_count) % usable_count;
    if (after_first < count) mine.add(core);
  }
  if (mine.count() > 0) mine.bind_thread();
}

}  // namespace stretto
