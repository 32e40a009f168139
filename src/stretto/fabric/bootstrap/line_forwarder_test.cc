#include "stretto/fabric/bootstrap/line_forwarder.h"

#include <gtest/gtest.h>

namespace stretto::fabric {
namespace {

TEST(LineForwarder, HoldsBackALineUntilItIsWhole) {
  LineForwarder forwarder("");
  EXPECT_EQ(forwarder.feed("on"), "");
  EXPECT_EQ(forwarder.feed("e\ntwo\nth"), "one\ntwo\n");
  EXPECT_EQ(forwarder.finish(), "th");
  EXPECT_EQ(forwarder.finish(), "");
}

TEST(LineForwarder, TagsEachLine) {
  LineForwarder forwarder("[3] ");
  EXPECT_EQ(forwarder.feed("a\n\nb"), "[3] a\n[3] \n");
  EXPECT_EQ(forwarder.finish(), "[3] b\n");
}

TEST(LineForwarder, PassesOnAnEndlessLineInPieces) {
  LineForwarder forwarder("");
  const std::string text(2 * LineForwarder::max_line_bytes + 10, 'x');
  std::string passed = forwarder.feed(text);
  EXPECT_EQ(passed.size(), 2 * LineForwarder::max_line_bytes);
  passed += forwarder.finish();
  EXPECT_TRUE(passed == text);
  LineForwarder tagged("[0] ");
  const std::string out = tagged.feed(text);
  EXPECT_EQ(out.size(), 2 * (LineForwarder::max_line_bytes + 5));
}

}  // namespace
}  // namespace stretto::fabric
