#include "stretto/collective/group.h"

#include <gtest/gtest.h>

#include "stretto/base/error.h"
#include "stretto/collective/test_support.h"

namespace stretto {
namespace {

TEST(Group, RanksFollowTheList) {
  const Group group{5, 2, 9};
  EXPECT_EQ(group.size(), 3U);
  EXPECT_EQ(group.node(0), 5U);
  EXPECT_EQ(group.rank_of(5), 0U);
  EXPECT_EQ(group.rank_of(2), 1U);
  EXPECT_EQ(group.rank_of(9), 2U);
  EXPECT_EQ(group.rank_of(3), group.size());
  EXPECT_TRUE(group.contains(9));
  EXPECT_FALSE(group.contains(0));
}

TEST(Group, RunsOfNodesAnswerLikeAllOthers) {
  const Group run{4, 5, 6, 7};
  for (NodeId node = 0; node < 12; ++node) {
    EXPECT_EQ(run.rank_of(node), node >= 4 && node <= 7 ? node - 4 : 4) << node;
  }
  // Looks like a run by its ends only.
  const Group shuffled{4, 6, 5, 7};
  for (NodeId node = 0; node < 12; ++node) {
    const Rank rank = shuffled.rank_of(node);
    EXPECT_TRUE(rank == 4 ? node < 4 || node > 7 : shuffled.node(rank) == node);
  }
}

TEST(Group, EqualityAndHashAreOfTheOrderedList) {
  EXPECT_EQ(Group({1, 2, 3}), Group(std::vector<NodeId>{1, 2, 3}));
  EXPECT_FALSE(Group({1, 2, 3}) == Group({1, 3, 2}));
  EXPECT_EQ(Group({1, 2, 3}).hash(), Group({1, 2, 3}).hash());
  EXPECT_NE(Group({1, 2, 3}).hash(), Group({1, 3, 2}).hash());
  EXPECT_NE(Group({1, 2}).hash(), Group({1, 2, 3}).hash());
}

TEST(Group, RandomGroupsFindEveryMember) {
  Random random(9);
  for (int i = 0; i < 200; ++i) {
    const std::uint32_t nodes = 1 + static_cast<std::uint32_t>(random.below(80));
    const Group group = test::random_group(random, nodes, 1 + static_cast<std::uint32_t>(random.below(nodes)));
    std::uint32_t members = 0;
    for (NodeId node = 0; node < nodes; ++node) {
      if (!group.contains(node)) continue;
      ++members;
      EXPECT_EQ(group.node(group.rank_of(node)), node);
    }
    EXPECT_EQ(members, group.size());
  }
}

TEST(Group, EmptyAndRepeatedAreRefused) {
  EXPECT_THROW(Group(std::vector<NodeId>{}), Error);
  try {
    const Group group{3, 1, 3};
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "invalid_argument: node 3 is in the group twice");
  }
}

}  // namespace
}  // namespace stretto
