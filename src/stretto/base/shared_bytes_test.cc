#include "stretto/base/shared_bytes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "stretto/base/random.h"

namespace stretto {
namespace {

TEST(SharedBytes, AreCopiedExactlyInEachWay) {
  Random random(11);
  for (const auto copy : {copy_to_shared, detail::copy_with_lines_ahead, detail::copy_past_caches}) {
    for (std::size_t size = 0; size < 100'000; size += size < 300 ? 1 : random.below(3000)) {
      std::vector<std::byte> from(100 + size);
      for (std::byte& byte : from) byte = static_cast<std::byte>(random());
      const ConstByteSpan source = ConstByteSpan(from).subspan(random.below(100), size);
      std::vector<std::byte> to(size + 200, std::byte{7});
      std::vector<std::byte> expected = to;
      const std::size_t at = random.below(100);
      std::copy(source.begin(), source.end(), expected.begin() + static_cast<std::ptrdiff_t>(at));
      copy(to.data() + at, source);
      ASSERT_EQ(to, expected) << size << " bytes at " << at;
    }
  }
}

}  // namespace
}  // namespace stretto
