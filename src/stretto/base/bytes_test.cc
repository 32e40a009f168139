#include "stretto/base/bytes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace stretto {
namespace {

TEST(Bytes, CopiesOfAnyLengthAndAlignment) {
  constexpr std::size_t most = 100'100;
  constexpr std::byte untouched{0xee};
  std::vector<std::byte> source(most);
  for (std::size_t i = 0; i < most; ++i) source[i] = static_cast<std::byte>(i * 7 % 251);
  for (const std::size_t bytes : {0U, 1U, 63U, 1023U, 1024U, 1025U, 2048U, 3000U, 4096U, 4097U, 9001U, 100'000U}) {
    for (std::size_t offset = 0; offset < 70; offset += 3) {
      const auto from = ConstByteSpan(source).subspan(offset * 7 % 64, bytes);
      std::vector<std::byte> target(bytes + offset + 1, untouched);
      copy_bytes(target.data() + offset, from);
      EXPECT_TRUE(std::equal(target.begin() + static_cast<std::ptrdiff_t>(offset), target.end() - 1, from.begin()));
      EXPECT_EQ(target.back(), untouched);
      if (offset > 0) {
        EXPECT_EQ(target[offset - 1], untouched);
      }
    }
  }
}

}  // namespace
}  // namespace stretto
