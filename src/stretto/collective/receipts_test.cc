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
  const Receipt lenders = receipts.issue(3);
  const Receipt readers(segment.pointer(receipts.offset(3)), lenders.number());
  EXPECT_FALSE(lenders.is_signed());
  EXPECT_TRUE(readers.sign());
  EXPECT_TRUE(lenders.is_signed());
  EXPECT_FALSE(lenders.sign()) << "it was signed, so that no message is to be waited for";

  const Receipt next = receipts.issue(3);
  EXPECT_TRUE(next.sign()) << "who lent has taken it back";
  EXPECT_FALSE(Receipt(segment.pointer(receipts.offset(3)), next.number()).sign()) << "so the reader sends a message";
}

TEST(Receipt, OfACallThatIsOverDoesNotCountForAnother) {
  fabric::Segment segment(1U << 20U, false);
  Receipts receipts(segment);
  const Receipt before = receipts.issue(0);
  const Receipt now = receipts.issue(0);
  EXPECT_FALSE(before.sign());
  EXPECT_FALSE(now.is_signed());
  EXPECT_TRUE(now.sign());
}

TEST(Receipt, NoneIsNeverSigned) {
  EXPECT_FALSE(Receipt(nullptr, 0));
  EXPECT_FALSE(Receipt(nullptr, 7).sign());
}

TEST(Receipts, LieInLinesOfTheirOwn) {
  fabric::Segment segment(1U << 20U, false);
  Receipts receipts(segment);
  for (std::size_t which = 0; which < Receipts::most; ++which) {
    EXPECT_EQ(receipts.offset(which) % 64, 0U);
    EXPECT_EQ(receipts.offset(which) - receipts.offset(0), which * 64);
    EXPECT_EQ(receipts.issue(which).number(), which + 1);
  }
  for (std::size_t which = 0; which < Receipts::most; ++which) {
    EXPECT_FALSE(Receipt(segment.pointer(receipts.offset(which)), which + 1).is_signed());
  }
  EXPECT_EQ(segment.bytes_in_use(), Receipts::bytes);
}

}  // namespace
}  // namespace stretto
