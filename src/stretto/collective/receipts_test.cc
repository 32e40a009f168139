#include "stretto/collective/receipts.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

namespace stretto {
namespace {

TEST(Receipt, IsEndedOnce) {
  fabric::Segment segment(1U << 20U, false);
  Receipts receipts(segment);
  receipts.take_memory();
  const Receipt lenders = receipts.issue(3);
  const Receipt readers(segment.pointer(receipts.offset(3)), lenders.number());
  EXPECT_FALSE(lenders.is_signed());
  EXPECT_TRUE(readers.end());
  EXPECT_TRUE(lenders.is_signed());
  EXPECT_FALSE(lenders.end()) << "it was signed, so that no message is to be waited for";

  const Receipt next = receipts.issue(3);
  EXPECT_TRUE(next.end()) << "who lent has taken it back";
  EXPECT_FALSE(Receipt(segment.pointer(receipts.offset(3)), next.number()).end()) << "so the reader sends a message";
}

TEST(Receipt, OfACallThatIsOverDoesNotCountForAnother) {
  fabric::Segment segment(1U << 20U, false);
  Receipts receipts(segment);
  receipts.take_memory();
  const Receipt before = receipts.issue(0);
  const Receipt now = receipts.issue(0);
  EXPECT_FALSE(before.end());
  EXPECT_FALSE(now.is_signed());
  EXPECT_TRUE(now.end());
}

TEST(Receipt, NoneIsNeverSigned) {
  EXPECT_FALSE(Receipt(nullptr, 0));
  EXPECT_FALSE(Receipt(nullptr, 7).end());
}

TEST(Receipts, LieInLinesOfTheirOwn) {
  fabric::Segment segment(1U << 20U, false);
  Receipts receipts(segment);
  receipts.take_memory();
  for (std::size_t which = 0; which < Receipts::most; ++which) {
    EXPECT_EQ(receipts.offset(which) % 64, 0U);
    EXPECT_EQ(receipts.offset(which) - receipts.offset(0), which * 64);
    EXPECT_EQ(receipts.issue(which).number(), which + 1);
  }
  for (std::uint32_t which = 0; which < Receipts::most; ++which) {
    EXPECT_FALSE(Receipt(segment.pointer(receipts.offset(which)), which + 1).is_signed());
  }
  receipts.take_memory();
  EXPECT_EQ(segment.bytes_in_use(), receipts.bytes()) << "once";
}

TEST(Receipts, AreNoneWhereThereIsNoMemory) {
  fabric::Segment segment(4096, false);
  segment.allocate(segment.capacity());
  Receipts receipts(segment);
  EXPECT_EQ(receipts.count(), 0U);
  receipts.take_memory();
  EXPECT_EQ(receipts.count(), 0U);
  EXPECT_EQ(receipts.bytes(), 0U);
}

}  // namespace
}  // namespace stretto
