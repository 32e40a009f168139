#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "stretto/fabric/bootstrap/rendezvous_scene.h"

namespace stretto::fabric::test {
namespace {

// --- Strangers ------------------------------------------------------------------------------------------------------

TEST(RendezvousRefusals, RefusesAWrongSecret) {
  Scene scene(2);
  const auto id = scene.join(0, Role::rank, 2);
  EXPECT_NE(scene.take<Rejected>(id)->reason.find("secret"), std::string::npos);
  EXPECT_TRUE(scene.closed.contains(id));
  EXPECT_EQ(scene.reports.size(), 1U);
  scene.join(0);  // the true one is not hindered
}

TEST(RendezvousRefusals, ProvesItselfFirst) {
  Scene scene(2);
  const auto id = scene.connect();
  const Hello hello = scene.hello_of(Role::rank, 1);
  scene.tell(id, hello);
  const auto challenge = scene.take<Challenge>(id);
  ASSERT_TRUE(challenge);
  EXPECT_TRUE(equal(challenge->proof, launcher_proof(secret_of(1), hello, challenge->nonce)));
}

TEST(RendezvousRefusals, RefusesAReplayedResponse) {
  Scene scene(2);
  const Hello hello = scene.hello_of(Role::rank, 0);
  const auto first = scene.connect();
  scene.tell(first, hello);
  const Response overheard{joiner_proof(secret_of(1), hello, scene.take<Challenge>(first)->nonce)};
  const auto second = scene.connect();
  scene.tell(second, hello);
  EXPECT_TRUE(scene.take<Challenge>(second));
  scene.tell(second, overheard);
  EXPECT_TRUE(scene.take<Rejected>(second));
  scene.tell(first, overheard);
  EXPECT_TRUE(scene.take<Welcome>(first));
}

TEST(RendezvousRefusals, RefusesItsOwnProofSentBack) {
  Scene scene(2);
  const auto id = scene.connect();
  scene.tell(id, scene.hello_of(Role::rank, 0));
  scene.tell(id, Response{scene.take<Challenge>(id)->proof});
  EXPECT_TRUE(scene.take<Rejected>(id));
}

TEST(RendezvousRefusals, RefusesASecondProcessOfARank) {
  Scene scene(2);
  const auto first = scene.join(1);
  const auto second = scene.connect();
  const Hello hello = scene.hello_of(Role::rank, 1);
  scene.tell(second, hello);
  scene.tell(second, Response{joiner_proof(secret_of(1), hello, scene.take<Challenge>(second)->nonce)});
  EXPECT_NE(scene.take<Rejected>(second)->reason.find("joined already"), std::string::npos);
  EXPECT_FALSE(scene.closed.contains(first));
  EXPECT_TRUE(scene.silent(first));
}

TEST(RendezvousRefusals, RefusesHellosThatDoNotFit) {
  Scene scene(2);
  const auto refused = [&](auto change) {
    const auto id = scene.connect();
    Hello hello = scene.hello_of(Role::rank, 0);
    change(hello);
    scene.tell(id, hello);
    return scene.take<Rejected>(id).has_value() && scene.closed.contains(id);
  };
  EXPECT_TRUE(refused([](Hello& hello) { hello.number = 2; }));
  EXPECT_TRUE(refused([](Hello& hello) { hello.number = ~0U; }));
  EXPECT_TRUE(refused([](Hello& hello) { hello.size = 3; }));
  EXPECT_TRUE(refused([](Hello& hello) { hello.version = 2; }));
  EXPECT_TRUE(refused([](Hello& hello) { hello.magic = 0; }));
  EXPECT_TRUE(refused([](Hello& hello) {
    hello.role = Role::agent;
    hello.number = 1;
  }));
}

TEST(RendezvousRefusals, AdmitsNoAgentWhereNoneIsNeeded) {
  Scene scene(2);
  const auto id = scene.connect();
  const Hello hello = scene.hello_of(Role::agent, 0);
  scene.tell(id, hello);
  scene.tell(id, Response{joiner_proof(secret_of(1), hello, scene.take<Challenge>(id)->nonce)});
  EXPECT_TRUE(scene.take<Rejected>(id));
}

TEST(RendezvousRefusals, RefusesOversizedUnknownAndMisplacedMessages) {
  Scene scene(1);
  const auto refused = [&](ConstByteSpan bytes) {
    const auto id = scene.connect();
    scene.tell_bytes(id, bytes);
    return scene.take<Rejected>(id).has_value() && scene.closed.contains(id);
  };
  const std::array<std::byte, 4> oversized{std::byte{0xFF}, std::byte{0xFF}, std::byte{0xFF}, std::byte{0xFF}};
  EXPECT_TRUE(refused(oversized));
  const std::array<std::byte, 5> unknown{std::byte{1}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{200}};
  EXPECT_TRUE(refused(unknown));
  EXPECT_TRUE(refused(encode(Fence{1})));
  EXPECT_TRUE(refused(encode(Response{})));
  EXPECT_TRUE(refused(encode(Put{"k", std::vector<std::byte>(2000)}))) << "more than a stranger may send";
  EXPECT_TRUE(refused(bytes_of_text("GET / HTTP/1.1\r\n\r\n")));
}

TEST(RendezvousRefusals, ATruncatedHelloWaitsAndHarmsNobody) {
  Scene scene(1);
  const auto stranger = scene.connect();
  const auto hello = encode(scene.hello_of(Role::rank, 0));
  scene.tell_bytes(stranger, ConstByteSpan(hello).first(hello.size() - 1));
  EXPECT_TRUE(scene.silent(stranger));
  const auto rank = scene.join(0);
  scene.perform(scene.rendezvous.closed(stranger));
  scene.tell(rank, Fence{1});
  EXPECT_TRUE(scene.take<FenceDone>(rank));
}

TEST(RendezvousRefusals, SilentStrangersAreBoundedAndBlockNobody) {
  Scene scene(2);
  const auto greeted = scene.connect();
  scene.tell(greeted, scene.hello_of(Role::rank, 0));
  for (int i = 0; i < 1000; ++i) scene.connect();
  EXPECT_LT(1000 - scene.closed.size(), 300U);
  EXPECT_FALSE(scene.closed.contains(greeted)) << "who has said hello is pushed out last";
  EXPECT_LE(scene.reports.size(), 8U) << "a flood of refusals must not flood the terminal";
  const auto a = scene.join(0);
  const auto b = scene.join(1);
  for (int i = 0; i < 1000; ++i) scene.connect();
  scene.tell(a, Fence{1});
  scene.tell(b, Fence{1});
  EXPECT_TRUE(scene.take<FenceDone>(a)) << "members are never pushed out";
}

TEST(RendezvousRefusals, BytesBehindARejectionAreIgnored) {
  Scene scene(1);
  const auto id = scene.connect();
  scene.tell(id, Fence{1});
  scene.tell(id, scene.hello_of(Role::rank, 0));
  EXPECT_TRUE(scene.take<Rejected>(id));
  EXPECT_TRUE(scene.silent(id));
}

// --- Members that break the protocol --------------------------------------------------------------------------------

TEST(RendezvousRefusals, AMemberThatBreaksTheProtocolIsLostToItsPeers) {
  const std::vector<Message> offences{Fence{2},    Fence{0},    Hello{},     Welcome{},
                                      Put{"", {}}, Get{2, "k"}, Lost{1, ""}, Exited{1, false, 0}};
  for (const Message& offence : offences) {
    Scene scene(2);
    const auto a = scene.join(0);
    const auto b = scene.join(1);
    scene.tell(b, Fence{1});
    scene.tell(a, offence);
    EXPECT_TRUE(scene.take<Rejected>(a)) << offence.index();
    EXPECT_TRUE(scene.closed.contains(a));
    EXPECT_EQ(scene.take<Lost>(b)->rank, 0U);
    EXPECT_EQ(scene.take<FenceFailed>(b)->rank, 0U);
    EXPECT_EQ(scene.reports.size(), 1U);
  }
}

TEST(RendezvousRefusals, APutDuringAFenceIsAnOffence) {
  Scene scene(2);
  const auto a = scene.join(0);
  scene.join(1);
  scene.tell(a, Fence{1});
  scene.tell(a, Put{"k", {}});
  EXPECT_TRUE(scene.take<Rejected>(a));
}

TEST(RendezvousRefusals, BoundsWhatARankMayPublish) {
  Scene scene(1);
  const auto a = scene.join(0);
  const Put large{"k", std::vector<std::byte>(Bootstrap::max_value_bytes)};
  for (int i = 0; i < 17 && !scene.closed.contains(a); ++i) scene.tell(a, large);
  EXPECT_TRUE(scene.take<Rejected>(a));
}

}  // namespace
}  // namespace stretto::fabric::test
