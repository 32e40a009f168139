#include "stretto/fabric/cluster/occupancy.h"

#include <gtest/gtest.h>

#include <vector>

namespace stretto::fabric::cluster {
namespace {

void expect_fullest(const std::vector<Whereabouts>& nodes, std::uint32_t count, std::uint32_t cores) {
  const Occupancy fullest = fullest_machine(nodes);
  EXPECT_EQ(fullest.nodes, count);
  EXPECT_EQ(fullest.cores, cores);
}

TEST(Occupancy, IsThatOfTheFullestMachine) {
  expect_fullest({{"a", 8}}, 1, 8);
  expect_fullest({{"a", 8}, {"b", 8}, {"b", 8}}, 2, 8);
  // More nodes, but for more cores.
  expect_fullest({{"a", 2}, {"b", 8}, {"b", 8}, {"b", 8}}, 1, 2);
  // Interleaved.
  expect_fullest({{"a", 4}, {"b", 4}, {"a", 4}, {"b", 4}, {"b", 4}}, 3, 4);
}

TEST(Occupancy, IsThatOfTheFirstNodesMachineAmongEquals) {
  expect_fullest({{"z", 2}, {"a", 4}, {"a", 4}}, 1, 2);
  expect_fullest({{"a", 4}, {"z", 2}, {"a", 4}}, 2, 4);
}

TEST(Occupancy, TakesNobodysWordForNoCores) {
  expect_fullest({{"a", 0}, {"a", 0}}, 2, 1);
  expect_fullest({{"a", 0}, {"a", 3}}, 2, 3);
}

}  // namespace
}  // namespace stretto::fabric::cluster
