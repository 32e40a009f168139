#include "stretto/fabric/message.h"

#include <gtest/gtest.h>

#include <vector>

#include "stretto/base/error.h"

namespace stretto::fabric {
namespace {

struct Header {
  std::uint32_t a;
  std::uint32_t b;
};

TEST(Message, AHeaderOfTheRightSizeIsCopiedOut) {
  const Header sent{7, 9};
  const Header got = read_header<Header>({3, MessageType::test, bytes_of(sent), {}});
  EXPECT_EQ(got.a, 7U);
  EXPECT_EQ(got.b, 9U);
}

TEST(Message, AHeaderOfAnyOtherSizeIsBadInput) {
  for (const std::size_t size : {0U, 1U, 7U, 9U, 256U}) {
    const std::vector<std::byte> bytes(size);
    try {
      read_header<Header>({3, MessageType::test, bytes, {}});
      FAIL() << "accepted " << size;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::bad_input);
      EXPECT_EQ(error.message(), "message of type 62 from node 3 has a header of " + std::to_string(size) +
                                     " bytes where 8 are expected");
    }
  }
}

}  // namespace
}  // namespace stretto::fabric
