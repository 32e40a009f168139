#include "stretto/fabric/cluster/resting_memory.h"

#include <gtest/gtest.h>

namespace stretto::fabric::cluster {
namespace {

constexpr std::size_t cache = std::size_t{1} << 20U;

TEST(RestingMemory, IsTwoCachesWhereEachNodeHasACore) {
  EXPECT_EQ(resting_bytes({1, 1}, cache), 2 * cache);
  EXPECT_EQ(resting_bytes({2, 2}, cache), 2 * cache);
  EXPECT_EQ(resting_bytes({3, 64}, cache), 2 * cache);
}

// Of all nodes of a host together it gets less, the more of them share its cores.
TEST(RestingMemory, IsLittleWhereNodesTakeTurns) {
  std::size_t all = 2 * resting_bytes({2, 2}, cache);
  for (std::uint32_t nodes = 4; nodes <= 1024; nodes *= 2) {
    const std::size_t now = nodes * resting_bytes({nodes, 2}, cache);
    EXPECT_LT(now, all) << nodes;
    all = now;
  }
  EXPECT_EQ(resting_bytes({3, 2}, cache), resting_bytes({4, 2}, cache));
  EXPECT_EQ(resting_bytes({5, 0}, cache), resting_bytes({5, 1}, cache));
}

}  // namespace
}  // namespace stretto::fabric::cluster
