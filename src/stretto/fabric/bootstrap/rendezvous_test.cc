#include "stretto/fabric/bootstrap/rendezvous.h"

#include <gtest/gtest.h>

#include <csignal>
#include <set>

#include "stretto/base/random.h"
#include "stretto/fabric/bootstrap/bootstrap.h"

namespace stretto::fabric {
namespace {

JobSecret secret_of(std::uint8_t byte) {
  std::array<std::byte, JobSecret::size> bytes{};
  bytes.fill(std::byte{byte});
  return JobSecret(bytes);
}

Nonce nonce_of(std::uint64_t number) {
  Nonce nonce{};
  nonce[0] = static_cast<std::byte>(number);
  nonce[1] = static_cast<std::byte>(number >> 8U);
  return nonce;
}

std::vector<std::byte> bytes_of_text(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
  return {bytes.begin(), bytes.end()};
}

/// A rendezvous with peers that say exactly what the test wants, and everything that it answered.
class Scene {
 public:
  explicit Scene(std::vector<Rendezvous::Host> hosts, bool keep_going = false)
      : rendezvous(secret_of(1), {std::move(hosts), keep_going}) {}
  explicit Scene(std::uint32_t ranks, bool keep_going = false) : Scene({{"here", ranks, false}}, keep_going) {}

  ConnectionId connect() {
    const ConnectionId id = next_++;
    perform(rendezvous.connected(id, nonce_of(id)));
    return id;
  }

  void tell(ConnectionId id, const Message& message) { tell_bytes(id, encode(message)); }
  void tell_bytes(ConnectionId id, ConstByteSpan bytes) { perform(rendezvous.received(id, bytes)); }

  Hello hello_of(Role role, std::uint32_t number) const {
    Hello hello;
    hello.role = role;
    hello.number = number;
    hello.size = rendezvous.size();
    hello.nonce = nonce_of(1000 + number);
    return hello;
  }

  /// Joins as a proper member; the welcome is consumed.
  ConnectionId join(std::uint32_t number, Role role = Role::rank, std::uint8_t secret = 1) {
    const ConnectionId id = connect();
    const Hello hello = hello_of(role, number);
    tell(id, hello);
    const auto challenge = take<Challenge>(id);
    if (challenge) tell(id, Response{joiner_proof(secret_of(secret), hello, challenge->nonce)});
    if (secret == 1) {
      EXPECT_TRUE(take<Welcome>(id)) << number;
    }
    return id;
  }

  void leave(ConnectionId id, NodeId rank) {
    tell(id, Goodbye{});
    EXPECT_TRUE(take<Farewell>(id));
    perform(rendezvous.rank_exited(rank, {}));
  }

  /// The next message to `id`, which must be this one.
  template <class Expected>
  std::optional<Expected> take(ConnectionId id) {
    const auto message = inbox[id].next();
    if (!message) return std::nullopt;
    EXPECT_TRUE(std::holds_alternative<Expected>(*message)) << "message " << message->index();
    if (const auto* expected = std::get_if<Expected>(&*message)) return *expected;
    return std::nullopt;
  }
  bool silent(ConnectionId id) { return !inbox[id].next().has_value(); }

  void perform(const Instructions& instructions) {
    for (const Instruction& instruction : instructions) {
      if (const auto* send = std::get_if<SendBytes>(&instruction)) {
        EXPECT_FALSE(closed.contains(send->connection));
        inbox[send->connection].feed(send->bytes);
      } else if (const auto* close = std::get_if<CloseConnection>(&instruction)) {
        closed.insert(close->connection);
      } else if (const auto* signal = std::get_if<SignalRank>(&instruction)) {
        signals.emplace_back(signal->rank, signal->signal);
      } else if (const auto* agent = std::get_if<SignalAgent>(&instruction)) {
        agent_signals.emplace_back(agent->host, agent->signal);
      } else if (std::holds_alternative<StartGrace>(instruction)) {
        ++graces;
      } else if (const auto* report = std::get_if<Report>(&instruction)) {
        reports.push_back(report->line);
      } else if (const auto* finish = std::get_if<Finish>(&instruction)) {
        EXPECT_FALSE(exit_code) << "finished twice";
        exit_code = finish->exit_code;
      }
    }
  }

  using Sent = std::vector<std::pair<std::uint32_t, int>>;
  struct Inbox : FrameDecoder {
    Inbox() : FrameDecoder(max_frame) {}
  };

  Rendezvous rendezvous;
  std::map<ConnectionId, Inbox> inbox;
  std::set<ConnectionId> closed;
  Sent signals;
  Sent agent_signals;
  int graces = 0;
  std::vector<std::string> reports;
  std::optional<int> exit_code;

 private:
  ConnectionId next_ = 1;
};

constexpr ExitStatus killed{true, SIGKILL};
constexpr ExitStatus failed_7{false, 7};

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

// --- Strangers ------------------------------------------------------------------------------------------------------

TEST(Rendezvous, RefusesAWrongSecret) {
  Scene scene(2);
  const auto id = scene.join(0, Role::rank, 2);
  EXPECT_NE(scene.take<Rejected>(id)->reason.find("secret"), std::string::npos);
  EXPECT_TRUE(scene.closed.contains(id));
  EXPECT_EQ(scene.reports.size(), 1U);
  scene.join(0);  // the true one is not hindered
}

TEST(Rendezvous, ProvesItselfFirst) {
  Scene scene(2);
  const auto id = scene.connect();
  const Hello hello = scene.hello_of(Role::rank, 1);
  scene.tell(id, hello);
  const auto challenge = scene.take<Challenge>(id);
  ASSERT_TRUE(challenge);
  EXPECT_TRUE(equal(challenge->proof, launcher_proof(secret_of(1), hello, challenge->nonce)));
}

TEST(Rendezvous, RefusesAReplayedResponse) {
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

TEST(Rendezvous, RefusesItsOwnProofSentBack) {
  Scene scene(2);
  const auto id = scene.connect();
  scene.tell(id, scene.hello_of(Role::rank, 0));
  scene.tell(id, Response{scene.take<Challenge>(id)->proof});
  EXPECT_TRUE(scene.take<Rejected>(id));
}

TEST(Rendezvous, RefusesASecondProcessOfARank) {
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

TEST(Rendezvous, RefusesHellosThatDoNotFit) {
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

TEST(Rendezvous, AdmitsNoAgentWhereNoneIsNeeded) {
  Scene scene(2);
  const auto id = scene.connect();
  const Hello hello = scene.hello_of(Role::agent, 0);
  scene.tell(id, hello);
  scene.tell(id, Response{joiner_proof(secret_of(1), hello, scene.take<Challenge>(id)->nonce)});
  EXPECT_TRUE(scene.take<Rejected>(id));
}

TEST(Rendezvous, RefusesOversizedUnknownAndMisplacedMessages) {
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

TEST(Rendezvous, ATruncatedHelloWaitsAndHarmsNobody) {
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

TEST(Rendezvous, SilentStrangersAreBoundedAndBlockNobody) {
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

TEST(Rendezvous, BytesBehindARejectionAreIgnored) {
  Scene scene(1);
  const auto id = scene.connect();
  scene.tell(id, Fence{1});
  scene.tell(id, scene.hello_of(Role::rank, 0));
  EXPECT_TRUE(scene.take<Rejected>(id));
  EXPECT_TRUE(scene.silent(id));
}

// --- Members that break the protocol --------------------------------------------------------------------------------

TEST(Rendezvous, AMemberThatBreaksTheProtocolIsLostToItsPeers) {
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

TEST(Rendezvous, APutDuringAFenceIsAnOffence) {
  Scene scene(2);
  const auto a = scene.join(0);
  scene.join(1);
  scene.tell(a, Fence{1});
  scene.tell(a, Put{"k", {}});
  EXPECT_TRUE(scene.take<Rejected>(a));
}

TEST(Rendezvous, BoundsWhatARankMayPublish) {
  Scene scene(1);
  const auto a = scene.join(0);
  const Put large{"k", std::vector<std::byte>(Bootstrap::max_value_bytes)};
  for (int i = 0; i < 17 && !scene.closed.contains(a); ++i) scene.tell(a, large);
  EXPECT_TRUE(scene.take<Rejected>(a));
}

// --- Deaths ---------------------------------------------------------------------------------------------------------

TEST(Rendezvous, ADeathBeforeTheStartFailsTheFenceOfTheOthers) {
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

TEST(Rendezvous, ADeathDuringTheHandshakeIsADeath) {
  Scene scene(2);
  const auto a = scene.join(0);
  const auto b = scene.connect();
  scene.tell(b, scene.hello_of(Role::rank, 1));
  scene.perform(scene.rendezvous.closed(b));
  EXPECT_TRUE(scene.silent(a)) << "whoever that was had proved nothing";
  scene.perform(scene.rendezvous.rank_exited(1, failed_7));
  EXPECT_EQ(scene.take<Lost>(a)->rank, 1U);
}

TEST(Rendezvous, ADeathAfterTheStartIsToldOnce) {
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

TEST(Rendezvous, AnExitWithoutAClosedConnectionIsADeathToo) {
  Scene scene(2);
  const auto a = scene.join(0);
  const auto b = scene.join(1);
  scene.perform(scene.rendezvous.rank_exited(1, {}));
  EXPECT_EQ(scene.take<Lost>(a)->rank, 1U);
  EXPECT_TRUE(scene.closed.contains(b)) << "a child of it may still hold the socket";
  EXPECT_EQ(scene.graces, 0) << "exit code 0 is no failure of the job";
}

TEST(Rendezvous, ACleanLeaveIsNoDeathButEndsFences) {
  Scene scene(2);
  const auto a = scene.join(0);
  scene.leave(scene.join(1), 1);
  EXPECT_TRUE(scene.silent(a));
  scene.tell(a, Fence{1});
  EXPECT_EQ(scene.take<FenceFailed>(a)->rank, 1U);
  scene.leave(a, 0);
  EXPECT_EQ(scene.exit_code, 0);
}

TEST(Rendezvous, ARankCannotJoinAgain) {
  Scene scene(2);
  scene.leave(scene.join(1), 1);
  const auto again = scene.connect();
  const Hello hello = scene.hello_of(Role::rank, 1);
  scene.tell(again, hello);
  scene.tell(again, Response{joiner_proof(secret_of(1), hello, scene.take<Challenge>(again)->nonce)});
  EXPECT_TRUE(scene.take<Rejected>(again));
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

// --- Other hosts ----------------------------------------------------------------------------------------------------

Scene two_hosts() { return Scene({{"alpha", 2, true}, {"beta", 1, true}}); }

TEST(Rendezvous, AgentsReportAndPassOnSignals) {
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

TEST(Rendezvous, AnAgentSpeaksForItsOwnRanksOnly) {
  for (const Message& offence :
       std::vector<Message>{Exited{2, false, 0}, Exited{99, false, 0}, Fence{1}, Put{"k", {}}}) {
    Scene scene = two_hosts();
    const auto alpha = scene.join(0, Role::agent);
    scene.tell(alpha, offence);
    EXPECT_TRUE(scene.take<Rejected>(alpha));
    EXPECT_EQ(scene.agent_signals, (Scene::Sent{{0, SIGTERM}})) << "its exit then ends its ranks";
  }
}

TEST(Rendezvous, AnAgentThatEndsTooEarlyTakesItsRanksWithIt) {
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

TEST(Rendezvous, AnAgentThatHasNotJoinedIsSignalledItself) {
  Scene scene = two_hosts();
  scene.join(0, Role::agent);
  scene.perform(scene.rendezvous.interrupted(SIGINT));
  EXPECT_EQ(scene.agent_signals, (Scene::Sent{{1, SIGINT}}));
  scene.perform(scene.rendezvous.interrupted(SIGINT));
  EXPECT_EQ(scene.agent_signals, (Scene::Sent{{1, SIGINT}, {0, SIGKILL}, {1, SIGKILL}})) << "a hung agent, too";
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
}  // namespace stretto::fabric
