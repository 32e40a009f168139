#include "stretto/collective/reduce_groups.h"

#include <gtest/gtest.h>

#include <string>

#include "stretto/base/error.h"

namespace stretto {
namespace {

TEST(ReduceGroups, OrdersItsMembersByWhatTheyDo) {
  const ReduceGroups groups(Group{7, 1, 4, 2}, Group{2, 9, 7, 5});
  EXPECT_EQ(groups.members(), (Group{7, 2, 1, 4, 9, 5}));
  EXPECT_EQ(groups.participants(), 4U);
  EXPECT_EQ(groups.inner_receivers(), 2U);
  for (const NodeId node : {7U, 1U, 4U, 2U}) EXPECT_TRUE(groups.participates(node)) << node;
  for (const NodeId node : {9U, 5U, 0U, 100U}) EXPECT_FALSE(groups.participates(node)) << node;
  for (const NodeId node : {2U, 9U, 7U, 5U}) EXPECT_TRUE(groups.receives(node)) << node;
  for (const NodeId node : {1U, 4U, 0U, 100U}) EXPECT_FALSE(groups.receives(node)) << node;
}

// The Aspen paper's Fig. 4.
TEST(ReduceGroups, HasThePapersExample) {
  const ReduceGroups groups(Group{1, 2, 3, 4, 5, 6, 7, 8}, Group{1, 2, 9, 10, 11});
  EXPECT_EQ(groups.members(), (Group{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(groups.participants(), 8U);
  EXPECT_EQ(groups.inner_receivers(), 2U);
}

TEST(ReduceGroups, MayBeOneGroupOrTwoThatAreApart) {
  const ReduceGroups one(Group{3, 1, 2}, Group{2, 3, 1});
  EXPECT_EQ(one.members(), (Group{3, 1, 2}));
  EXPECT_EQ(one.inner_receivers(), 3U);
  const ReduceGroups apart(Group{3, 1}, Group{0, 2});
  EXPECT_EQ(apart.members(), (Group{3, 1, 0, 2}));
  EXPECT_EQ(apart.inner_receivers(), 0U);
  const ReduceGroups alone(Group{3}, Group{3});
  EXPECT_EQ(alone.members(), Group{3});
  EXPECT_TRUE(alone.participates(3) && alone.receives(3));
}

TEST(ReduceGroups, RefusesAnOrderThatAnOperatorNeeds) {
  const ReduceGroups in_order(Group{1, 2, 3}, Group{1, 2, 9});
  EXPECT_NO_THROW(in_order.require_order(false));
  EXPECT_NO_THROW(ReduceGroups(Group{1, 2, 3}, Group{9}).require_order(false));
  const ReduceGroups out_of_order(Group{1, 2, 3}, Group{2, 9});
  EXPECT_NO_THROW(out_of_order.require_order(true));
  try {
    out_of_order.require_order(false);
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_EQ(error.message(),
              "reduce: an operator that does not commute needs participants that receive to come before those that "
              "don't; reorder them, or say that it commutes (static constexpr bool commutative = true)");
  }
}

}  // namespace
}  // namespace stretto
