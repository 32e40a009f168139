#include "stretto/collective/exposures.h"

#include <gtest/gtest.h>

namespace stretto {
namespace {

constexpr auto nothing_came = [](NodeId) { return std::uint64_t{0}; };

TEST(Exposures, SharedMemoryIsTouchedUntilThePeerSaysThatItIsOff) {
  Exposures exposures;
  exposures.note_shared(3);
  exposures.note_shared(3);
  exposures.note_shared(5);
  exposures.limit(3, 0);
  exposures.forget_past(nothing_came);
  EXPECT_EQ(exposures.peers(), (std::vector<NodeId>{3, 5}));
  EXPECT_FALSE(exposures.release(4, 0));
  EXPECT_TRUE(exposures.release(3, 0));
  EXPECT_FALSE(exposures.release(3, 0));
  EXPECT_EQ(exposures.peers(), (std::vector<NodeId>{5}));
  exposures.forget(5);
  EXPECT_TRUE(exposures.empty());
}

TEST(Exposures, PiecesOverAWireAreWaitedFor) {
  Exposures exposures;
  exposures.note_pieces(2, 4);
  exposures.note_pieces(2, 3);
  std::uint64_t come = 6;
  const auto forget_past = [&] { exposures.forget_past([&](NodeId) { return come; }); };
  forget_past();
  EXPECT_EQ(exposures.peers(), (std::vector<NodeId>{2})) << "6 of 7 have come";
  EXPECT_TRUE(exposures.release(2, ~std::uint64_t{0}));  // as many as it was asked for
  forget_past();
  EXPECT_FALSE(exposures.empty());
  exposures.limit(2, 6);
  forget_past();
  EXPECT_TRUE(exposures.empty());

  exposures.note_pieces(2, 7);
  EXPECT_TRUE(exposures.release(2, 5));
  come = 5;
  forget_past();
  EXPECT_TRUE(exposures.empty());
}

TEST(Exposures, WhatIsTakenBackIsNotAmongThePiecesThatWerePut) {
  Exposures exposures;
  exposures.note_pieces(2, 4);
  exposures.note_pieces(2, 3);
  exposures.limit(2, 4);
  exposures.take_back(2, 3);  // after that, as before it
  exposures.take_back(9, 1);
  std::uint64_t come = 3;
  const auto forget_past = [&] { exposures.forget_past([&](NodeId) { return come; }); };
  forget_past();
  EXPECT_EQ(exposures.peers(), (std::vector<NodeId>{2})) << "3 of 4 have come";
  come = 4;
  forget_past();
  EXPECT_TRUE(exposures.empty());
}

}  // namespace
}  // namespace stretto
