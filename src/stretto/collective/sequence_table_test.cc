#include "stretto/collective/sequence_table.h"

#include <gtest/gtest.h>

#include <map>

#include "stretto/base/random.h"
#include "stretto/collective/test_support.h"

namespace stretto {
namespace {

struct Entry {
  std::uint32_t sequence = 0;
  std::uint64_t value = 0;
};

// Against a map, with numbers that meet in few places of the table.
TEST(SequenceTable, HoldsWhatAMapHoldsSeeds) {
  for (const std::uint64_t seed : test::seeds(100)) {
    Random random(seed);
    const std::uint32_t spread = 1U << random.below(20);
    SequenceTable<Entry> table;
    std::map<std::uint32_t, std::uint64_t> expected;
    for (int i = 0; i < 500; ++i) {
      const auto sequence = static_cast<std::uint32_t>(random.below(64) * spread);
      Entry* const found = table.find(sequence);
      ASSERT_EQ(found != nullptr, expected.contains(sequence)) << "seed " << seed;
      if (found != nullptr) {
        ASSERT_EQ(found->value, expected[sequence]) << "seed " << seed;
        table.remove(sequence);
        expected.erase(sequence);
      } else {
        table.find_or_add(sequence).value = expected[sequence] = random.below(1000);
      }
      ASSERT_EQ(table.size(), expected.size()) << "seed " << seed;
    }
    table.remove(~0U);  // is not there
    std::map<std::uint32_t, std::uint64_t> held;
    table.for_each([&](const Entry& entry) { held[entry.sequence] = entry.value; });
    EXPECT_EQ(held, expected) << "seed " << seed;
  }
}

// The first of many that leaves does not make all others move.
TEST(SequenceTable, WhoLiesWhereItWantsStaysThere) {
  SequenceTable<Entry> table;
  for (std::uint32_t sequence = 0; sequence < 500; ++sequence) table.find_or_add(sequence);
  const Entry* const last = table.find(499);
  for (std::uint32_t sequence = 0; sequence < 499; ++sequence) {
    table.remove(sequence);
    ASSERT_EQ(table.find(499), last);
  }
  // One that could not lie where it wants moves up when it can.
  table.find_or_add(499 + 1024);
  table.find_or_add(499 + 2048).value = 7;
  table.remove(499);
  EXPECT_EQ(table.find(499 + 1024), last);
  EXPECT_EQ(table.find(499 + 2048)->value, 7U);
}

TEST(SequenceTable, RoomThatWasMadeIsThere) {
  SequenceTable<Entry> table;
  EXPECT_FALSE(table.has_room(1));
  table.find_or_add(0);
  table.make_room(100);
  const Entry* const first = table.find(0);
  for (std::uint32_t sequence = 1; sequence <= 100; ++sequence) {
    ASSERT_TRUE(table.has_room(1));
    table.find_or_add(sequence);
  }
  EXPECT_EQ(table.find(0), first) << "it had to grow";
}

}  // namespace
}  // namespace stretto
