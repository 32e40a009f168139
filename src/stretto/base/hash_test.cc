#include "stretto/base/hash.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "stretto/base/bytes.h"

namespace stretto {
namespace {

TEST(Fnv1a, MatchesThePublishedVectors) {
  EXPECT_EQ(fnv1a_64(""), 0xcbf29ce484222325U);
  EXPECT_EQ(fnv1a_64("a"), 0xaf63dc4c8601ec8cU);
  EXPECT_EQ(fnv1a_64("foobar"), 0x85944171f73967e8U);
  static_assert(fnv1a_64("foobar") == 0x85944171f73967e8U, "usable at compile time");
}

TEST(Fnv1a, ContinuesAnEarlierHash) { EXPECT_EQ(fnv1a_64("bar", fnv1a_64("foo")), fnv1a_64("foobar")); }

TEST(Fnv1a, TakesBytesLikeText) {
  const std::array<char, 3> text{'f', '\xff', 'o'};
  EXPECT_EQ(fnv1a_64(bytes_of(text)), fnv1a_64(std::string_view(text.data(), text.size())));
}

// The expected values come from the reference implementation of MurmurHash3_x64_128, for all four lengths of its tail.
TEST(HashOfNodes, MatchesMurmurHash3) {
  const std::array<Hash128, 10> expected{{
      {0x0000000000000000U, 0x0000000000000000U},
      {0x7f2769b67e461dfbU, 0xd215225c2f585ba5U},
      {0x32f0fce5de6af821U, 0x18cee7b87e6a2031U},
      {0x4289196bb2cf9454U, 0xbedc9a3d0dc3aeb5U},
      {0x32df6590fe3fd66aU, 0xe59fb9944ee64a42U},
      {0x20855b8bc760b095U, 0x9c87c835daa8130fU},
      {0x19a232e32cc96470U, 0xfa14acb02bab7655U},
      {0x1e774ab083c5145eU, 0xf8f61a6533b26477U},
      {0xc3ad98f5fb20f37dU, 0x1bc317b1d6541df4U},
      {0x1d49253284eaf291U, 0xb92909696cb3522aU},
  }};
  std::vector<NodeId> nodes;
  for (std::size_t length = 0; length < expected.size(); ++length) {
    EXPECT_EQ(hash_of(nodes), expected[length]) << "length " << length;
    nodes.push_back(static_cast<NodeId>(100'003 * length + 7));
  }
}

TEST(HashOfNodes, TellsOrdersAndLengthsApart) {
  std::set<Hash128> seen;
  std::vector<NodeId> nodes{0, 1, 2, 3, 4};
  int lists = 0;
  do {
    for (std::size_t length = 0; length <= nodes.size(); ++length) {
      seen.insert(hash_of(std::span(nodes).first(length)));
    }
    ++lists;
  } while (std::next_permutation(nodes.begin(), nodes.end()));
  EXPECT_EQ(lists, 120);
  // Ordered selections of 0 to 5 of five nodes.
  EXPECT_EQ(seen.size(), 1U + 5U + 20U + 60U + 120U + 120U);
  EXPECT_NE(hash_of(std::vector<NodeId>{0}), hash_of(std::vector<NodeId>{0, 0}));
}

}  // namespace
}  // namespace stretto
