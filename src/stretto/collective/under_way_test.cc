#include "stretto/collective/under_way.h"

#include <gtest/gtest.h>

#include <vector>

namespace stretto {
namespace {

struct Numbered : UnderWay::Member {
  explicit Numbered(int its_number) : number(its_number) {}
  int number;
};

int number_of(const UnderWay::Member& member) { return static_cast<const Numbered&>(member).number; }

class UnderWayTest : public testing::Test {
 protected:
  UnderWayTest() {
    for (Numbered* const each : {&one_, &two_, &three_}) list_.add(*each);
  }
  std::vector<int> visited() {
    std::vector<int> numbers;
    list_.for_each([&](const UnderWay::Member& member) { numbers.push_back(number_of(member)); });
    return numbers;
  }

  UnderWay list_;
  Numbered one_{1};
  Numbered two_{2};
  Numbered three_{3};
};

TEST_F(UnderWayTest, ListsWhatWasAddedInThatOrder) {
  EXPECT_EQ(visited(), (std::vector{1, 2, 3}));
  list_.remove(two_);
  EXPECT_EQ(visited(), (std::vector{1, 3}));
  list_.add(two_);
  EXPECT_EQ(visited(), (std::vector{1, 3, 2}));
  for (Numbered* const each : {&one_, &two_, &three_}) list_.remove(*each);
  EXPECT_TRUE(list_.empty());
}

TEST_F(UnderWayTest, LeavesOutWhatIsRemovedMeanwhile) {
  std::vector<int> numbers;
  list_.for_each([&](const UnderWay::Member& member) {
    numbers.push_back(number_of(member));
    if (&member != &one_) return;
    list_.remove(one_);
    list_.remove(two_);
  });
  EXPECT_EQ(numbers, (std::vector{1, 3}));
}

TEST_F(UnderWayTest, LeavesOutWhatAVisitWithinAVisitRemoves) {
  std::vector<int> numbers;
  list_.for_each([&](const UnderWay::Member& member) {
    numbers.push_back(number_of(member));
    list_.for_each([&](UnderWay::Member& other) {
      if (&other != &member) list_.remove(other);
    });
  });
  EXPECT_EQ(numbers, std::vector{1});
  EXPECT_EQ(visited(), std::vector{1});
}

}  // namespace
}  // namespace stretto
