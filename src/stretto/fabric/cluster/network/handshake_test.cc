#include "stretto/fabric/cluster/network/handshake.h"

#include <gtest/gtest.h>

#include "stretto/base/error.h"

namespace stretto::fabric::cluster::network {
namespace {

constexpr Nonce nonce_of(unsigned char value) {
  Nonce nonce = {};
  nonce[0] = std::byte{value};
  return nonce;
}
constexpr Nonce nonce_a = nonce_of(1);
constexpr Nonce nonce_b = nonce_of(2);

class Handshakes : public ::testing::Test {
 protected:
  Handshake a_{3, nonce_a, 8, nonce_b};
  Handshake b_{8, nonce_b, 3, nonce_a};
};

TEST_F(Handshakes, OneEndBegins) {
  EXPECT_TRUE(b_.receive(a_.greeting()));
  EXPECT_TRUE(b_.verified());
  EXPECT_FALSE(b_.open());  // what b sent now might overtake its answer

  EXPECT_TRUE(a_.receive(b_.greeting()));
  EXPECT_TRUE(a_.open());

  EXPECT_FALSE(b_.receive(a_.greeting()));
  EXPECT_TRUE(b_.open());
}

TEST_F(Handshakes, BothEndsBegin) {
  const Greeting from_a = a_.greeting();
  const Greeting from_b = b_.greeting();
  EXPECT_TRUE(a_.receive(from_b));
  EXPECT_TRUE(b_.receive(from_a));
  EXPECT_FALSE(a_.open());
  const Greeting answer_of_a = a_.greeting();
  const Greeting answer_of_b = b_.greeting();
  EXPECT_FALSE(a_.receive(answer_of_b));
  EXPECT_FALSE(b_.receive(answer_of_a));
  EXPECT_TRUE(a_.open());
  EXPECT_TRUE(b_.open());
}

TEST_F(Handshakes, AGreetingOfAnotherKindOfSenderIsRefused) {
  Greeting greeting = a_.greeting();
  greeting.node = 4;
  EXPECT_THROW((void)b_.receive(greeting), Error);
  greeting = a_.greeting();
  greeting.sender = nonce_b;
  EXPECT_THROW((void)b_.receive(greeting), Error);
  greeting = a_.greeting();
  greeting.receiver = nonce_a;
  EXPECT_THROW((void)b_.receive(greeting), Error);
  EXPECT_FALSE(b_.verified());
}

}  // namespace
}  // namespace stretto::fabric::cluster::network
