#include "stretto/fabric/bootstrap/handshake.h"

#include <gtest/gtest.h>

namespace stretto::fabric {
namespace {

JobSecret secret_of(std::uint8_t byte) {
  std::array<std::byte, JobSecret::size> bytes{};
  bytes.fill(std::byte{byte});
  return JobSecret(bytes);
}

TEST(Handshake, ProofBindsEverythingThatWasSaid) {
  const Nonce nonce = random_nonce();
  Hello hello;
  hello.number = 3;
  hello.size = 8;
  hello.nonce = random_nonce();
  const Proof proof = joiner_proof(secret_of(1), hello, nonce);
  EXPECT_TRUE(equal(proof, joiner_proof(secret_of(1), hello, nonce)));
  EXPECT_FALSE(equal(proof, launcher_proof(secret_of(1), hello, nonce))) << "a proof could be sent back to its author";
  EXPECT_FALSE(equal(proof, joiner_proof(secret_of(2), hello, nonce)));
  EXPECT_FALSE(equal(proof, joiner_proof(secret_of(1), hello, random_nonce())));
  const auto differs = [&](auto change) {
    Hello other = hello;
    change(other);
    return !equal(proof, joiner_proof(secret_of(1), other, nonce));
  };
  EXPECT_TRUE(differs([](Hello& h) { h.number = 4; }));
  EXPECT_TRUE(differs([](Hello& h) { h.size = 9; }));
  EXPECT_TRUE(differs([](Hello& h) { h.version = 2; }));
  EXPECT_TRUE(differs([](Hello& h) { h.role = Role::agent; }));
  EXPECT_TRUE(differs([](Hello& h) { h.nonce = random_nonce(); }));
}

TEST(Handshake, SecretsAndNoncesAreFresh) {
  EXPECT_FALSE(std::ranges::equal(JobSecret::random().bytes(), JobSecret::random().bytes()));
  EXPECT_NE(random_nonce(), random_nonce());
}

}  // namespace
}  // namespace stretto::fabric
