#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <vector>

#include "stretto/fabric/bootstrap/rendezvous_scene.h"

namespace stretto::fabric::test {
namespace {

// --- Deaths ---------------------------------------------------------------------------------------------------------

TEST(RendezvousLosses, ADeathBeforeTheStartFailsTheFenceOfTheOthers) {
  Scene scene(3);
  const auto a = scene.join(0);
  scene.tell(a, Fence{1});
  scene.perform(scene.rendezvous.rank_exited(1, killed));
  EXPECT_NE(scene.take<Lost>(a)->reason.find("signal 9"), std::string::npos);
  EXPECT_EQ(scene.take<FenceFailed>(a)->rank, 1U);
  const auto late = scene.join(2);
  EXPECT_EQ(scene.take<Lost>(late)->rank, 1U) << "a late comer is told what it missed";
  scene.tell(late, Fence{1});
  EXPECT_EQ(scene.take<FenceFailed>(late)->rank, 1U);
  EXPECT_EQ(scene.graces, 1);
}

TEST(RendezvousLosses, ADeathDuringTheHandshakeIsADeath) {
  Scene scene(2);
  const auto a = scene.join(0);
  const auto b = scene.connect();
  scene.tell(b, scene.hello_of(Role::rank, 1));
  scene.perform(scene.rendezvous.closed(b));
  EXPECT_TRUE(scene.silent(a)) << "whoever that was had proved nothing";
  scene.perform(scene.rendezvous.rank_exited(1, failed_7));
  EXPECT_EQ(scene.take<Lost>(a)->rank, 1U);
}

TEST(RendezvousLosses, ADeathAfterTheStartIsToldOnce) {
  Scene scene(2);
  const auto a = scene.join(0);
  const auto b = scene.join(1);
  scene.perform(scene.rendezvous.closed(b));
  scene.perform(scene.rendezvous.rank_exited(1, killed));
  EXPECT_EQ(scene.take<Lost>(a)->rank, 1U);
  EXPECT_TRUE(scene.silent(a));
  scene.tell(a, Fence{1});
  EXPECT_EQ(scene.take<FenceFailed>(a)->rank, 1U);
  ASSERT_EQ(scene.reports.size(), 1U);
  EXPECT_EQ(scene.reports[0], "rank 1 on host here was killed by signal 9 (Killed)");
  scene.leave(a, 0);
  EXPECT_EQ(scene.exit_code, 128 + SIGKILL);
}

TEST(RendezvousLosses, AnExitWithoutAClosedConnectionIsADeathToo) {
  Scene scene(2);
  const auto a = scene.join(0);
  const auto b = scene.join(1);
  scene.perform(scene.rendezvous.rank_exited(1, {}));
  EXPECT_EQ(scene.take<Lost>(a)->rank, 1U);
  EXPECT_TRUE(scene.closed.contains(b)) << "a child of it may still hold the socket";
  EXPECT_EQ(scene.graces, 0) << "exit code 0 is no failure of the job";
}

TEST(RendezvousLosses, ACleanLeaveIsNoDeathButEndsFences) {
  Scene scene(2);
  const auto a = scene.join(0);
  scene.leave(scene.join(1), 1);
  EXPECT_TRUE(scene.silent(a));
  scene.tell(a, Fence{1});
  EXPECT_EQ(scene.take<FenceFailed>(a)->rank, 1U);
  scene.leave(a, 0);
  EXPECT_EQ(scene.exit_code, 0);
}

TEST(RendezvousLosses, ARankCannotJoinAgain) {
  Scene scene(2);
  scene.leave(scene.join(1), 1);
  const auto again = scene.connect();
  const Hello hello = scene.hello_of(Role::rank, 1);
  scene.tell(again, hello);
  scene.tell(again, Response{joiner_proof(secret_of(1), hello, scene.take<Challenge>(again)->nonce)});
  EXPECT_TRUE(scene.take<Rejected>(again));
}

// --- Other hosts ----------------------------------------------------------------------------------------------------

Scene two_hosts() { return Scene({{"alpha", 2, true}, {"beta", 1, true}}); }

TEST(RendezvousLosses, AgentsReportAndPassOnSignals) {
  Scene scene = two_hosts();
  const auto alpha = scene.join(0, Role::agent);
  const auto beta = scene.join(1, Role::agent);
  scene.join(0);
  scene.tell(beta, Exited{2, true, SIGSEGV});
  EXPECT_EQ(scene.reports,
            std::vector<std::string>{"rank 2 on host beta was killed by signal 11 (Segmentation fault)"});
  scene.tell(beta, Goodbye{});
  EXPECT_TRUE(scene.take<Farewell>(beta));
  scene.perform(scene.rendezvous.agent_exited(1, {}));
  scene.perform(scene.rendezvous.grace_over());
  EXPECT_EQ(scene.take<Signal>(alpha)->rank, 0U);
  EXPECT_EQ(scene.take<Signal>(alpha)->signal, SIGTERM);
  scene.tell(alpha, Exited{0, true, SIGTERM});
  scene.tell(alpha, Exited{1, true, SIGTERM});
  scene.tell(alpha, Goodbye{});
  EXPECT_FALSE(scene.exit_code) << "the agent program still runs";
  scene.perform(scene.rendezvous.agent_exited(0, {}));
  EXPECT_EQ(scene.exit_code, 128 + SIGSEGV);
  EXPECT_EQ(scene.reports.size(), 1U);
}

TEST(RendezvousLosses, AnAgentSpeaksForItsOwnRanksOnly) {
  for (const Message& offence :
       std::vector<Message>{Exited{2, false, 0}, Exited{99, false, 0}, Fence{1}, Put{"k", {}}}) {
    Scene scene = two_hosts();
    const auto alpha = scene.join(0, Role::agent);
    scene.tell(alpha, offence);
    EXPECT_TRUE(scene.take<Rejected>(alpha));
    EXPECT_EQ(scene.agent_signals, (Scene::Sent{{0, SIGTERM}})) << "its exit then ends its ranks";
  }
}

TEST(RendezvousLosses, AnAgentThatEndsTooEarlyTakesItsRanksWithIt) {
  Scene scene = two_hosts();
  const auto beta = scene.join(1, Role::agent);
  const auto rank = scene.join(2);
  scene.perform(scene.rendezvous.agent_exited(0, {false, 255}));
  EXPECT_EQ(scene.take<Lost>(rank)->rank, 0U);
  EXPECT_EQ(scene.take<Lost>(rank)->rank, 1U);
  EXPECT_EQ(scene.reports,
            std::vector<std::string>{"the agent of host alpha exited with code 255 before its ranks did"});
  scene.tell(beta, Exited{2, false, 0});
  scene.tell(beta, Goodbye{});
  scene.perform(scene.rendezvous.agent_exited(1, {}));
  EXPECT_EQ(scene.exit_code, 255);
}

TEST(RendezvousLosses, AnAgentThatHasNotJoinedIsSignalledItself) {
  Scene scene = two_hosts();
  scene.join(0, Role::agent);
  scene.perform(scene.rendezvous.interrupted(SIGINT));
  EXPECT_EQ(scene.agent_signals, (Scene::Sent{{1, SIGINT}}));
  scene.perform(scene.rendezvous.interrupted(SIGINT));
  EXPECT_EQ(scene.agent_signals, (Scene::Sent{{1, SIGINT}, {0, SIGKILL}, {1, SIGKILL}})) << "a hung agent, too";
}

}  // namespace
}  // namespace stretto::fabric::test
