#include "stretto/base/affinity.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <thread>
#include <vector>

#include "stretto/base/core_set.h"

namespace stretto {
namespace {

std::vector<std::size_t> usable() {
  const CoreSet set = CoreSet::usable();
  std::vector<std::size_t> cores;
  for (std::size_t core = 0; core < set.most(); ++core) {
    if (set.has(core)) cores.push_back(core);
  }
  return cores;
}

TEST(Affinity, AThreadIsKeptOnSomeCoresWithThoseItStarts) {
  const std::vector<std::size_t> all = usable();
  ASSERT_EQ(all.size(), usable_cores());
  for (std::size_t first = 0; first <= all.size(); ++first) {
    std::thread([&] {
      bind_thread_to_cores(first, 1);
      EXPECT_EQ(usable(), (std::vector<std::size_t>{all[first % all.size()]})) << first;
      std::thread([] { EXPECT_EQ(usable_cores(), 1U); }).join();
    }).join();
  }
  EXPECT_EQ(usable(), all);
}

TEST(Affinity, CoresAreCountedRound) {
  const std::vector<std::size_t> all = usable();
  for (std::size_t count = 1; count <= all.size() + 1; ++count) {
    std::thread([&] {
      bind_thread_to_cores(all.size() - 1, count);
      const std::vector<std::size_t> mine = usable();
      EXPECT_EQ(mine.size(), std::min(count, all.size()));
      EXPECT_EQ(mine.back(), all.back());
      EXPECT_EQ(mine.front(), count == 1 ? all.back() : all.front());
    }).join();
  }
}

TEST(Affinity, NoCoresAreNone) {
  std::thread([] {
    const std::vector<std::size_t> all = usable();
    bind_thread_to_cores(0, 0);
    EXPECT_EQ(usable(), all);
  }).join();
}

}  // namespace
}  // namespace stretto
