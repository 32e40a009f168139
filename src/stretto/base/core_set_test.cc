#include "stretto/base/core_set.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <cerrno>
#include <cstddef>

namespace stretto {
namespace {

int fails_with(int reason) {
  errno = reason;
  return -1;
}

TEST(CoreSet, MachinesMayHaveAnyNumberOfCores) {
  const CoreSet set = CoreSet::usable([](pid_t, std::size_t bytes, cpu_set_t* cores) {
    if (bytes < CPU_ALLOC_SIZE(8192)) return fails_with(EINVAL);
    for (const std::size_t core : {7U, 8191U}) CPU_SET_S(core, bytes, cores);
    return 0;
  });
  EXPECT_EQ(set.count(), 2U);
  EXPECT_TRUE(set.has(7));
  EXPECT_TRUE(set.has(8191));
  EXPECT_FALSE(set.has(8190));
  EXPECT_FALSE(set.has(set.most()));
}

TEST(CoreSet, NoCoresAreKnownWhereTheSystemDoesNotTell) {
  EXPECT_EQ(CoreSet::usable([](pid_t, std::size_t, cpu_set_t*) { return fails_with(EPERM); }).count(), 0U);
  EXPECT_EQ(CoreSet::usable([](pid_t, std::size_t, cpu_set_t*) { return fails_with(EINVAL); }).count(), 0U);
}

TEST(CoreSet, HasTheCoresThatTheSystemTellsOf) {
  cpu_set_t told;
  if (sched_getaffinity(0, sizeof told, &told) != 0) GTEST_SKIP() << "more cores than fit into a cpu_set_t";
  const CoreSet set = CoreSet::usable();
  EXPECT_EQ(set.count(), static_cast<std::size_t>(CPU_COUNT(&told)));
  for (std::size_t core = 0; core < CPU_SETSIZE; ++core) EXPECT_EQ(set.has(core), CPU_ISSET(core, &told) != 0) << core;
}

}  // namespace
}  // namespace stretto
