#include "stretto/base/shown.h"

#include <gtest/gtest.h>

namespace stretto {
namespace {

TEST(Shown, IsFitForAMessage) {
  EXPECT_EQ(shown("a\nb\x80"), "\"a?b?\"");
  EXPECT_EQ(shown(std::string(40, 'x')), "\"" + std::string(40, 'x') + "\"");
  EXPECT_EQ(shown(std::string(41, 'x')), "\"" + std::string(40, 'x') + "...\"");
}

}  // namespace
}  // namespace stretto
