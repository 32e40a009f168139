#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <vector>

#include "stretto/base/random.h"
#include "stretto/fabric/bootstrap/rendezvous_scene.h"

namespace stretto::fabric::test {
namespace {

// --- A job that goes well -------------------------------------------------------------------------------------------

TEST(Rendezvous, PublishesWithTheFenceAndNotBefore) {
  Scene scene(2);
  const auto a = scene.join(0);
  const auto b = scene.join(1);
  scene.tell(a, Put{"k", bytes_of_text("value")});
  scene.tell(b, Get{0, "k"});
  EXPECT_FALSE(scene.take<Value>(b)->found);
  scene.tell(a, Fence{1});
  EXPECT_TRUE(scene.silent(a));
  scene.tell(b, Fence{1});
  EXPECT_EQ(scene.take<FenceDone>(a)->count, 1U);
  EXPECT_EQ(scene.take<FenceDone>(b)->count, 1U);
  scene.tell(b, Get{0, "k"});
  EXPECT_EQ(scene.take<Value>(b)->value, bytes_of_text("value"));
  scene.tell(a, Put{"k", bytes_of_text("newer")});
  scene.tell(b, Get{0, "k"});
  EXPECT_EQ(scene.take<Value>(b)->value, bytes_of_text("value"));
  scene.leave(a, 0);
  EXPECT_FALSE(scene.exit_code);
  scene.leave(b, 1);
  EXPECT_EQ(scene.exit_code, 0);
  EXPECT_TRUE(scene.reports.empty());
  EXPECT_EQ(scene.graces, 0);
}

TEST(Rendezvous, SaysForWhomAJobHasWaitedForLong) {
  Scene scene({{"alpha", 2, true}, {"beta", 3, true}, {"gamma", 1, true}});
  scene.join(0, Role::agent);
  scene.join(1, Role::agent);
  scene.join(0);
  scene.perform(scene.rendezvous.lasted(std::chrono::seconds(15)));
  EXPECT_EQ(scene.reports,
            (std::vector<std::string>{
                "15 s after the start rank 1 on host alpha has not joined the job yet",
                "15 s after the start rank 2 on host beta and 2 more there have not joined the job yet",
                "15 s after the start host gamma has not answered yet: is it reached, and does it reach this one?"}));
  scene.reports.clear();
  scene.join(2, Role::agent);
  for (NodeId rank = 1; rank < 6; ++rank) scene.join(rank);
  scene.perform(scene.rendezvous.lasted(std::chrono::seconds(45)));
  EXPECT_TRUE(scene.reports.empty());
}

TEST(Rendezvous, AwaitsMembersUntilAllHaveJoinedOrEnded) {
  Scene scene({{"alpha", 1, true}, {"beta", 2, true}});
  EXPECT_TRUE(scene.rendezvous.awaits_members());
  scene.join(0);
  scene.join(1);
  scene.join(2);
  EXPECT_TRUE(scene.rendezvous.awaits_members()) << "the agents";
  scene.join(0, Role::agent);
  scene.join(1, Role::agent);
  EXPECT_FALSE(scene.rendezvous.awaits_members());
  Scene local(2);
  local.join(1);
  EXPECT_TRUE(local.rendezvous.awaits_members());
  local.perform(local.rendezvous.rank_exited(0, {}));
  EXPECT_FALSE(local.rendezvous.awaits_members());
}

TEST(Rendezvous, SaysNothingOfProgramsThatNeverJoin) {
  Scene scene(2);
  scene.perform(scene.rendezvous.lasted(std::chrono::seconds(15)));
  EXPECT_TRUE(scene.reports.empty());
}

TEST(Rendezvous, ProgramsThatNeverJoinMayEndWell) {
  Scene scene(2);
  scene.perform(scene.rendezvous.rank_exited(1, {}));
  scene.perform(scene.rendezvous.rank_exited(0, {}));
  EXPECT_EQ(scene.exit_code, 0);
}

// --- The end of a job -----------------------------------------------------------------------------------------------

TEST(Rendezvous, EscalatesFromGraceToTerminationToKilling) {
  Scene scene(3);
  scene.perform(scene.rendezvous.rank_exited(1, failed_7));
  EXPECT_EQ(scene.graces, 1);
  EXPECT_TRUE(scene.signals.empty());
  scene.perform(scene.rendezvous.grace_over());
  EXPECT_EQ(scene.signals, (Scene::Sent{{0, SIGTERM}, {2, SIGTERM}}));
  EXPECT_EQ(scene.graces, 2);
  scene.perform(scene.rendezvous.rank_exited(0, {true, SIGTERM}));
  scene.signals.clear();
  scene.perform(scene.rendezvous.grace_over());
  EXPECT_EQ(scene.signals, (Scene::Sent{{2, SIGKILL}}));
  scene.perform(scene.rendezvous.rank_exited(2, killed));
  EXPECT_EQ(scene.exit_code, 7);
  EXPECT_EQ(scene.reports, std::vector<std::string>{"rank 1 on host here exited with code 7"});
}

TEST(Rendezvous, KeepGoingTerminatesNobodyAndReportsAll) {
  Scene scene(3, true);
  scene.perform(scene.rendezvous.rank_exited(1, failed_7));
  scene.perform(scene.rendezvous.rank_exited(2, killed));
  EXPECT_EQ(scene.graces, 0);
  EXPECT_EQ(scene.reports.size(), 2U);
  scene.perform(scene.rendezvous.rank_exited(0, {}));
  EXPECT_EQ(scene.exit_code, 7);
}

TEST(Rendezvous, AbortTerminatesAtOnceAndIsTheReason) {
  Scene scene(2);
  const auto a = scene.join(0);
  const auto b = scene.join(1);
  scene.tell(b, Abort{"deadlock: nobody moves"});
  EXPECT_TRUE(scene.take<Farewell>(b));
  EXPECT_NE(scene.take<Lost>(a)->reason.find("nobody moves"), std::string::npos);
  EXPECT_EQ(scene.signals, (Scene::Sent{{0, SIGTERM}, {1, SIGTERM}}));
  scene.perform(scene.rendezvous.rank_exited(0, {true, SIGTERM}));
  scene.perform(scene.rendezvous.rank_exited(1, {}));
  EXPECT_EQ(scene.exit_code, 1);
  ASSERT_EQ(scene.reports.size(), 1U);
  EXPECT_NE(scene.reports[0].find("rank 1 on host here aborted the job: deadlock"), std::string::npos);
}

TEST(Rendezvous, PassesASignalOnAndKillsOnTheSecond) {
  Scene scene(2);
  scene.perform(scene.rendezvous.rank_exited(0, {}));
  scene.perform(scene.rendezvous.interrupted(SIGINT));
  EXPECT_EQ(scene.signals, (Scene::Sent{{1, SIGINT}}));
  scene.signals.clear();
  scene.perform(scene.rendezvous.interrupted(SIGINT));
  EXPECT_EQ(scene.signals, (Scene::Sent{{1, SIGKILL}}));
}

// --- Anything at all ------------------------------------------------------------------------------------------------

/// Members and strangers send well-formed and mutated messages and die in any order: the job always ends once all
/// processes have, and nothing is sent on a closed connection (Scene checks that).
TEST(Rendezvous, BearsAnyConversation) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Random random(seed);
    Scene scene({{"alpha", 2, true}, {"here", 3, false}});
    std::vector<ConnectionId> ids;
    for (int step = 0; step < 60; ++step) {
      const auto pick = random.below(8);
      const auto number = static_cast<std::uint32_t>(random.below(6));
      if (pick == 0) {
        ids.push_back(scene.connect());
      } else if (pick <= 2) {
        const ConnectionId id = scene.connect();
        const Hello hello = scene.hello_of(pick == 1 ? Role::rank : Role::agent, number);
        scene.tell(id, hello);
        if (!scene.closed.contains(id)) {
          scene.tell(id, Response{joiner_proof(secret_of(1), hello, nonce_of(id))});
        }
        ids.push_back(id);
      } else if (pick == 3) {
        scene.perform(scene.rendezvous.rank_exited(2 + number % 3, {false, static_cast<int>(random.below(2))}));
      } else if (!ids.empty()) {
        const ConnectionId id = ids[random.below(ids.size())];
        const std::vector<Message> messages{
            Put{"k", {}}, Fence{1}, Fence{2}, Get{number, "k"}, Goodbye{}, Exited{number, true, 9}, Abort{"x"}, Lost{}};
        auto frame = encode(messages[random.below(messages.size())]);
        if (random.below(4) == 0) frame[random.below(frame.size())] = static_cast<std::byte>(random.below(256));
        if (random.below(6) == 0) {
          if (!scene.closed.contains(id)) scene.perform(scene.rendezvous.closed(id));
          scene.closed.insert(id);
        } else {
          scene.tell_bytes(id, frame);
        }
      }
    }
    for (NodeId rank = 2; rank < 5; ++rank) scene.perform(scene.rendezvous.rank_exited(rank, {}));
    scene.perform(scene.rendezvous.agent_exited(0, {}));
    EXPECT_TRUE(scene.exit_code) << "seed " << seed;
  }
}

}  // namespace
}  // namespace stretto::fabric::test
