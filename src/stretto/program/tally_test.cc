#include "stretto/program/tally.h"

#include <gtest/gtest.h>

#include <vector>

namespace stretto::program {
namespace {

TEST(Tally, OfNothingIsEmpty) { EXPECT_EQ(Tally::of({}).count, 0U); }

TEST(Tally, KeepsTheExtremesAndTheMean) {
  const Tally tally = Tally::of(std::vector<double>{3, 1, 2});
  EXPECT_EQ(tally.count, 3U);
  EXPECT_EQ(tally.minimum, 1);
  EXPECT_EQ(tally.maximum, 3);
  EXPECT_EQ(tally.mean(), 2);
}

TEST(Tally, CombinesAsIfAllHadBeenOne) {
  Tally first;
  for (const double seconds : {3.0, 1.0}) first.add(seconds);
  const Tally second = Tally::of(std::vector<double>{2, 7, 5});
  for (const Tally& both : {CombineTallies()(first, second), CombineTallies()(second, first)}) {
    EXPECT_EQ(both.count, 5U);
    EXPECT_EQ(both.minimum, 1);
    EXPECT_EQ(both.maximum, 7);
    EXPECT_DOUBLE_EQ(both.mean(), 3.6);
  }
}

TEST(Tally, ATablesColumnsLieBelowEachOther) {
  EXPECT_EQ(table_head(), "                           minimum          mean       maximum\n");
  EXPECT_EQ(table_row("one iteration", Tally{1e-6, 3e-3, 4e-3, 2}),
            "  one iteration               1 us          2 ms          3 ms\n");
}

}  // namespace
}  // namespace stretto::program
