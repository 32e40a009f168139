#include "stretto/schedule/hosts.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "stretto/schedule/shape.h"
#include "stretto/schedule/test_support.h"

namespace stretto::schedule {
namespace {

std::vector<Rank> members(const Hosts& hosts, std::uint32_t host) {
  return {hosts.members(host).begin(), hosts.members(host).end()};
}

using Names = std::vector<std::uint32_t>;
using Ranks = std::vector<Rank>;

TEST(Hosts, AreNumberedInTheOrderOfTheirFirstRanks) {
  const Hosts hosts(Names{40, 7, 40, 7, 7, 0});
  EXPECT_EQ(hosts.ranks(), 6U);
  EXPECT_EQ(hosts.count(), 3U);
  EXPECT_EQ(members(hosts, 0), (Ranks{0, 2}));
  EXPECT_EQ(members(hosts, 1), (Ranks{1, 3, 4}));
  EXPECT_EQ(members(hosts, 2), (Ranks{5}));
  EXPECT_EQ(hosts.fewest(), 1U);
  EXPECT_EQ(hosts.most(), 3U);
  for (Rank rank = 0; rank < hosts.ranks(); ++rank) EXPECT_EQ(hosts.members(hosts.of(rank))[hosts.place(rank)], rank);
  EXPECT_EQ(hosts, Hosts(Names{0, 1, 0, 1, 1, 2}));
  EXPECT_NE(hosts, Hosts(Names{0, 1, 0, 1, 2, 2}));
}

TEST(Hosts, AreFilledEvenly) {
  EXPECT_EQ(Hosts::even(7, 3), Hosts(Names{0, 0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(Hosts::even(3, 3), Hosts(Names{0, 1, 2}));
  EXPECT_EQ(Hosts::even(3, 1), Hosts(Names{9, 9, 9}));
}

TEST(Hosts, KnowTheirOrder) {
  const auto order = [](const Names& names) {
    const Hosts hosts(names);
    return std::pair(hosts.are_in_order(), hosts.are_aligned());
  };
  EXPECT_EQ(order({0, 1, 0, 1}), std::pair(false, false));
  EXPECT_EQ(order({0, 0, 1, 1, 2, 2}), std::pair(true, true));
  EXPECT_EQ(order({0, 0, 1, 1, 2}), std::pair(true, true));
  EXPECT_EQ(order({0, 0, 1, 2, 2}), std::pair(true, false));
  EXPECT_EQ(order({0, 1, 1}), std::pair(true, false));
  EXPECT_EQ(order({0, 0, 0, 1, 1, 1}), std::pair(true, false)) << "three are no node of the canonical tree";
  EXPECT_EQ(order({0, 0, 0}), std::pair(true, true)) << "all are";
}

TEST(Hosts, AreNestedWhereLinksDiffer) {
  EXPECT_TRUE(Hosts::even(3, 2).are_nested());
  EXPECT_FALSE(Hosts::even(3, 1).are_nested());
  EXPECT_FALSE(Hosts::even(3, 3).are_nested());
}

TEST(Hosts, OfTheFirstRanks) {
  const Hosts hosts(Names{3, 1, 1, 2});
  EXPECT_EQ(hosts.first(4), hosts);
  EXPECT_EQ(hosts.first(3), Hosts(Names{0, 1, 1}));
  EXPECT_EQ(hosts.first(3).count(), 2U);
}

TEST(Hosts, HaveAnOrderThatGoesByTheirRanksOnly) {
  const Hosts unknown;
  EXPECT_FALSE(unknown.are_known());
  EXPECT_EQ(unknown, Hosts());
  std::vector<Hosts> all = test::placements(9);
  all.push_back(unknown);
  std::sort(all.begin(), all.end());
  EXPECT_FALSE(all.front().are_known());
  for (std::size_t i = 1; i < all.size(); ++i) EXPECT_LT(all[i - 1], all[i]);
  Shape shape{.operation = Operation::allreduce, .size = 4, .hosts = Hosts::even(4, 2)};
  EXPECT_EQ(defect_of(shape), "");
  EXPECT_EQ(describe(shape), "allreduce of 4 ranks, on 2 hosts");
  EXPECT_NE(shape, (Shape{.operation = Operation::allreduce, .size = 4}));
  shape.size = 5;
  EXPECT_EQ(defect_of(shape), "the hosts are those of 4 ranks, not of 5");
}

}  // namespace
}  // namespace stretto::schedule
