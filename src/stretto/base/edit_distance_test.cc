#include "stretto/base/edit_distance.h"

#include <gtest/gtest.h>

#include <array>

namespace stretto {
namespace {

TEST(EditDistance, CountsEdits) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("fabric", "fabric"), 0U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("abc", ""), 3U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(edit_distance("workers", "workrs"), 1U);
  EXPECT_EQ(edit_distance("workers", "wrokers"), 1U) << "a swap of neighbours is one edit";
  EXPECT_EQ(edit_distance("ca", "abc"), 3U) << "no edit inside of swapped characters";
}

TEST(NearestName, FindsWhatWasMeant) {
  const std::array<std::string_view, 3> names{"STRETTO_FABRIC", "STRETTO_WORKERS", "STRETTO_LOG"};
  EXPECT_EQ(nearest_name("STRETTO_FABRICS", names), "STRETTO_FABRIC");
  EXPECT_EQ(nearest_name("STRETTO_WROKER", names), "STRETTO_WORKERS");
  EXPECT_EQ(nearest_name("STRETTO_LOG", names), "STRETTO_LOG");
}

TEST(NearestName, IsSilentWhenNothingIsNear) {
  const std::array<std::string_view, 2> names{"ring", "dissemination"};
  EXPECT_EQ(nearest_name("recursive_doubling", names), "");
  EXPECT_EQ(nearest_name("anything", {}), "");
}

TEST(NearestName, TakesTheFirstOfEquals) {
  const std::array<std::string_view, 2> names{"cat", "car"};
  EXPECT_EQ(nearest_name("cab", names), "cat");
}

}  // namespace
}  // namespace stretto
