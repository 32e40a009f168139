#include "stretto/collective/streams.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace stretto {
namespace {

TEST(Streams, StayWhereTheyAre) {
  Streams streams;
  std::vector<Stream*> made;
  for (std::uint64_t id = 0; id < 1000; ++id) made.push_back(&streams.of(id * 7));
  for (std::uint64_t id = 0; id < 1000; ++id) {
    EXPECT_EQ(&streams.of(id * 7), made[id]);
    EXPECT_EQ(made[id]->id(), id * 7);
  }
}

TEST(Streams, AreKnownIfTheyWereAskedForLately) {
  Streams streams;
  EXPECT_EQ(streams.recent(0), nullptr);
  Stream& zero = streams.of(0);
  EXPECT_EQ(streams.recent(0), &zero);
  EXPECT_EQ(streams.recent(1U << 20U), nullptr) << "which would lie in the same place";
}

TEST(Streams, BeginTheirNumbersWhereTheyAreTold) {
  Streams streams;
  EXPECT_EQ(streams.of(1).next_sequence(), 0U);
  streams.number_from(7);
  EXPECT_EQ(streams.of(1).next_sequence(), 0U);
  EXPECT_EQ(streams.of(2).next_sequence(), 7U);
}

}  // namespace
}  // namespace stretto
