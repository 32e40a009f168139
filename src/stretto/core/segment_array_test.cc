#include "stretto/core/segment_array.h"

#include <gtest/gtest.h>

#include <limits>

#include "stretto/core/test_support.h"

namespace stretto {
namespace {

TEST(SegmentArray, TooManyElementsAreRefused) {
  test::run_on("local:1", [](Node& node) {
    const std::size_t before = node.endpoint().segment().bytes_in_use();
    for (const std::size_t count : {std::size_t{1} << 40U, std::size_t{1} << 61U, (std::size_t{1} << 61U) + 1,
                                    std::numeric_limits<std::size_t>::max()}) {
      EXPECT_EQ(test::code_of([&] { SegmentArray<double>(node, count); }), "out_of_resources") << count;
    }
    EXPECT_EQ(node.endpoint().segment().bytes_in_use(), before);
    EXPECT_EQ(SegmentArray<double>(node, 3).size(), 3U);
  });
}

}  // namespace
}  // namespace stretto
