#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "stretto/collective/collective.h"
#include "stretto/collective/receipts.h"
#include "stretto/collective/test_support.h"
#include "stretto/collective/transfer.h"
#include "stretto/collective/wire.h"
#include "stretto/core/segment_array.h"

// Members that lie: whatever they send, the others live and hear of it.
namespace stretto {
namespace {

using fabric::MessageType;
using test::Liar;

struct Tale {
  std::string outcome_at_0;
  std::string loss_at_1;  // what node 1 heard of node 0
};

class LossRecorder final : public fabric::EndpointObserver {
 public:
  void on_notification(NodeId, fabric::Notification) override {}
  void on_peer_lost(NodeId, const Error& cause) override { text = cause.what(); }
  std::string text;
};

// Node 0 calls an all-reduce of `count` ints with node 1, which answers each message by `answer`.
Tale tell(std::size_t count, const std::function<void(Node& liar, const fabric::Message&)>& answer) {
  Tale tale;
  Runtime runtime(test::options_for("sim:3"));
  Node& liar = *runtime.nodes()[1];
  const Liar handler(liar, [&](const fabric::Message& message) { answer(liar, message); });
  LossRecorder losses;
  liar.endpoint().add_observer(losses);
  runtime.run([&](Node& node) -> Task<> {
    if (node.id() == 1) {
      // In the end it breaks with node 0, which would otherwise wait for it with every right.
      node.charge(1e-3);
      Node& me = node;
      me.endpoint().context().enter([&me] { me.endpoint().lose(0, Error(ErrorCode::peer_lost, "the tale is told")); });
      co_return;
    }
    const Group honest{0, 2};  // not inside of co_await: GCC 12 cannot have an initializer list there
    const Group with_liar{0, 1};
    if (node.id() == 0) {
      std::vector<int> data(count, 7);
      const CollectiveOptions whole = CollectiveOptions().algorithm("recursive_doubling");
      try {
        co_await allreduce(node, with_liar, data, data, sum, whole);
        tale.outcome_at_0 = "clean " + std::to_string(data.front()) + " " + std::to_string(data.back());
      } catch (const Error& error) {
        tale.outcome_at_0 = error.what();
      }
    }
    // Whatever the liar did, the honest go on.
    const int total = co_await allreduce(node, honest, 1, sum);
    EXPECT_EQ(total, 2);
  });
  tale.loss_at_1 = losses.text;
  return tale;
}

void send(Node& from, MessageType type, ConstByteSpan header, ConstByteSpan payload) {
  from.endpoint().send(0, type, header, payload);
}

constexpr int five = 5;

TEST(CollectiveBadInput, AnHonestAnswerIsTaken) {
  const Tale tale = tell(
      1, [](Node& liar, const fabric::Message& message) { send(liar, message.type, message.header, bytes_of(five)); });
  EXPECT_EQ(tale.outcome_at_0, "clean 12 12");
}

TEST(CollectiveBadInput, DataOfAnotherSizeAreAMismatch) {
  for (const std::size_t bytes : {0U, 3U, 5U, 8000U}) {
    const Tale tale = tell(1, [bytes](Node& liar, const fabric::Message& message) {
      send(liar, message.type, message.header, std::vector<std::byte>(bytes));
    });
    EXPECT_EQ(tale.outcome_at_0.rfind("mismatch: node 0's allreduce of 4 bytes", 0), 0U) << tale.outcome_at_0;
    const std::string what = "its block has " + std::to_string(bytes) + " bytes where 4 are expected";
    EXPECT_NE(tale.outcome_at_0.find(what), std::string::npos) << tale.outcome_at_0;
  }
}

TEST(CollectiveBadInput, ATagThatIsNotExpectedCostsTheConnection) {
  const Tale tale = tell(1, [](Node& liar, const fabric::Message& message) {
    auto header = fabric::read_header<CallHeader>(message);
    header.tag = 77;
    send(liar, message.type, bytes_of(header), bytes_of(five));
  });
  EXPECT_EQ(tale.outcome_at_0.rfind("peer_lost: ", 0), 0U) << tale.outcome_at_0;
}

TEST(CollectiveBadInput, ARepeatedAnswerCountsOnce) {
  const Tale tale = tell(1, [](Node& liar, const fabric::Message& message) {
    for (int i = 0; i < 3; ++i) send(liar, message.type, message.header, bytes_of(five));
  });
  EXPECT_EQ(tale.outcome_at_0, "clean 12 12");
}

// The same while the operation still waits for somebody else, so that it is there to be harmed.
TEST(CollectiveBadInput, ARepeatedAnswerInTheMiddleCostsTheConnection) {
  Runtime runtime(test::options_for("sim:4"));
  Node& liar = *runtime.nodes()[1];
  const Liar handler(liar, [&](const fabric::Message& message) {
    if (message.from != 0) return;
    for (int i = 0; i < 3; ++i) send(liar, message.type, message.header, bytes_of(five));
  });
  runtime.run([](Node& node) -> Task<> {
    if (node.id() != 0) co_return;
    const std::string said = co_await test::outcome(allreduce(node, Group::all(node), 1, sum));
    EXPECT_EQ(said.rfind("peer_lost: node 1 speaks in node 0's allreduce", 0), 0U) << said;
    EXPECT_NE(said.find("sends data that have no place there"), std::string::npos) << said;
  });
}

TEST(CollectiveBadInput, HeadersOfAnotherSizeCostTheConnection) {
  for (const auto type :
       {MessageType::collective_data, MessageType::collective_ready, MessageType::collective_failed}) {
    const Tale tale = tell(
        1, [type](Node& liar, const fabric::Message&) { send(liar, type, std::vector<std::byte>(5), bytes_of(five)); });
    EXPECT_EQ(tale.outcome_at_0.rfind("peer_lost: ", 0), 0U) << tale.outcome_at_0;
    EXPECT_EQ(tale.loss_at_1, "peer_lost: node 0 closed the connection");
  }
}

TEST(CollectiveBadInput, AnotherDigestIsAMismatch) {
  const Tale tale = tell(1, [](Node& liar, const fabric::Message& message) {
    if (message.type != MessageType::collective_data) return;
    auto header = fabric::read_header<CallHeader>(message);
    header.identity.digest ^= 1U;
    send(liar, message.type, bytes_of(header), bytes_of(five));
  });
  EXPECT_EQ(tale.outcome_at_0.rfind("mismatch: node 0's allreduce of 4 bytes at ", 0), 0U) << tale.outcome_at_0;
}

TEST(CollectiveBadInput, AFailureOfAnUnknownKindCostsTheConnection) {
  const Tale tale = tell(1, [](Node& liar, const fabric::Message& message) {
    if (message.type != MessageType::collective_data) return;
    const FailedHeader header{fabric::read_header<CallHeader>(message).identity, 250, 0, 0};
    send(liar, MessageType::collective_failed, bytes_of(header), {});
  });
  EXPECT_EQ(tale.outcome_at_0.rfind("peer_lost: unknown error code 250", 0), 0U) << tale.outcome_at_0;
}

TEST(CollectiveBadInput, BeingReadyForNothingCostsTheConnection) {
  const Tale tale = tell(1, [](Node& liar, const fabric::Message& message) {
    if (message.type != MessageType::collective_data) return;
    const auto data = fabric::read_header<CallHeader>(message);
    const ReadyHeader header{data, 0, 1, 4, 4, 0};
    send(liar, MessageType::collective_ready, bytes_of(header), {});
  });
  EXPECT_NE(tale.outcome_at_0.find("is ready for data that are not sent"), std::string::npos) << tale.outcome_at_0;
}

TEST(CollectiveBadInput, TakingWhatWasNotWrittenCostsTheConnection) {
  const Tale tale = tell(1, [](Node& liar, const fabric::Message& message) {
    if (message.type != MessageType::collective_data) return;
    const TakenHeader header{fabric::read_header<CallHeader>(message), 4};
    send(liar, MessageType::collective_taken, bytes_of(header), {});
  });
  EXPECT_NE(tale.outcome_at_0.find("has read what was not written"), std::string::npos) << tale.outcome_at_0;
}

TEST(CollectiveBadInput, GrantingWhatIsNotLentCostsTheConnection) {
  for (const std::uint32_t tag_offset : {0U, 77U}) {  // of a step that is none, too
    const Tale tale = tell(1, [tag_offset](Node& liar, const fabric::Message& message) {
      if (message.type != MessageType::collective_data) return;
      WholeGrantHeader header{fabric::read_header<CallHeader>(message), 0, 0, 0, Granted::all};
      header.call.tag += tag_offset;
      send(liar, MessageType::collective_whole_grant, bytes_of(header), {});
    });
    EXPECT_NE(tale.outcome_at_0.find("grants what is not read"), std::string::npos) << tale.outcome_at_0;
  }
}

// Node 0 says where, in a window, node 1 is to read its data, or to write them. Node 1 answers the first such message
// by a lie about windows.
template <class Header, class Lie, class Start>
std::string outcome_of_lie(MessageType about, const Lie& lie, const Start& start) {
  std::string outcome;
  RuntimeOptions options = test::options_for("local:2,peer_pointer=segments");
  options.staging_bytes = std::size_t{64} << 10U;
  Runtime runtime(options);
  Node& liar = *runtime.nodes()[1];
  bool has_lied = false;
  const Liar handler(liar, [&](const fabric::Message& message) {
    if (message.type != about || std::exchange(has_lied, true)) return;
    lie(liar, fabric::read_header<Header>(message));
  });
  runtime.run([&](Node& node) -> Task<> {
    if (node.id() == 1) co_return;  // its handler answers
    std::vector<int> data(1'000'000, 7);
    std::vector<int> result(data.size());
    try {
      co_await start(node, Group::all(node), data, result);
      outcome = "clean";
    } catch (const Error& error) {
      outcome = error.what();
    }
  });
  return outcome;
}

std::string outcome_of_lie(const std::function<void(Node& liar, const GrantHeader&)>& lie) {
  return outcome_of_lie<GrantHeader>(
      MessageType::collective_grant, lie,
      [](Node& node, const Group& both, const std::vector<int>& data, std::vector<int>& result) {
        return allreduce(node, both, data, result, sum, CollectiveOptions().algorithm("rabenseifner"));
      });
}

std::string outcome_of_lie_in_exchange(const std::function<void(Node& liar, const GrantHeader&)>& lie) {
  return outcome_of_lie<GrantHeader>(MessageType::collective_grant, lie,
                                     [](Node& node, const Group& both, const std::vector<int>& data,
                                        std::vector<int>& result) { return all_to_all(node, both, data, result); });
}

TEST(CollectiveBadInput, LiesAboutSharedWindowsCostTheConnection) {
  const std::string unknown = outcome_of_lie([](Node& liar, const GrantHeader& granted) {
    const fabric::Offset memory = liar.endpoint().segment().allocate(granted.window);
    const GrantHeader header{granted.call, memory, granted.bytes, 0, granted.window, kinds_of_sharing};
    send(liar, MessageType::collective_grant, bytes_of(header), {});
  });
  EXPECT_NE(unknown.find("shares memory in a way that is not known"), std::string::npos) << unknown;
  const std::string answered_too_early = outcome_of_lie([](Node& liar, const GrantHeader& granted) {
    const LandedHeader header{granted.call, granted.bytes};
    send(liar, MessageType::collective_landed, bytes_of(header), {});
  });
  EXPECT_NE(answered_too_early.find("has written what it was not asked for"), std::string::npos) << answered_too_early;
  const std::string does_not_wait = outcome_of_lie_in_exchange([](Node& liar, const GrantHeader& granted) {
    ASSERT_EQ(granted.sharing, static_cast<std::uint64_t>(Sharing::turns));
    const fabric::Offset memory = liar.endpoint().segment().allocate(granted.window);
    const GrantHeader header{granted.call, memory, granted.bytes, 3 * granted.window, granted.window, granted.sharing};
    send(liar, MessageType::collective_grant, bytes_of(header), {});
  });
  EXPECT_NE(does_not_wait.find("grants what it must not have written"), std::string::npos) << does_not_wait;
}

TEST(CollectiveBadInput, LiesAboutWindowsCostTheConnection) {
  for (const bool is_too_far : {false, true}) {  // of what is answered nothing need be said
    const std::string taken = outcome_of_lie([is_too_far](Node& liar, const GrantHeader& granted) {
      const TakenHeader header{granted.call, is_too_far ? granted.bytes : granted.available};
      send(liar, MessageType::collective_taken, bytes_of(header), {});
    });
    EXPECT_NE(taken.find("has read what was not written"), std::string::npos) << taken;
  }
  for (const std::uint64_t window : {std::uint64_t{0}, std::uint64_t{4098}, std::uint64_t{1} << 40U}) {
    const std::string odd = outcome_of_lie([window](Node& liar, const GrantHeader& granted) {
      const GrantHeader header{granted.call, granted.offset, granted.bytes, 0, window, 0};
      send(liar, MessageType::collective_grant, bytes_of(header), {});
    });
    EXPECT_NE(odd.find("grants it in parts that cannot be read"), std::string::npos) << odd;
  }
  const std::string not_read = outcome_of_lie([](Node& liar, const GrantHeader& granted) {
    const fabric::Offset memory = fabric::private_offset(&liar);
    const GrantHeader header{granted.call, memory, granted.bytes, granted.bytes, granted.bytes, 0};
    send(liar, MessageType::collective_grant, bytes_of(header), {});
  });
  EXPECT_NE(not_read.find("grants memory that is not read"), std::string::npos) << not_read;
  const std::string written_too_far = outcome_of_lie([](Node& liar, const GrantHeader& granted) {
    const fabric::Offset memory = liar.endpoint().segment().allocate(granted.window);
    const GrantHeader header{granted.call, memory, granted.bytes, granted.window + 4, granted.window, 0};
    send(liar, MessageType::collective_grant, bytes_of(header), {});
  });
  EXPECT_NE(written_too_far.find("grants what it must not have written"), std::string::npos) << written_too_far;
}

// Node 1 says that its part of the next call has failed, too, and is told that what it lends for it is not read. It
// lends it all the same.
TEST(CollectiveBadInput, WhatIsLentAfterAFailureIsNotRead) {
  Runtime runtime(test::options_for("sim:2,early=0.5,peer_pointer=segments"));
  Node& liar = *runtime.nodes()[1];
  bool has_answered = false;
  const Liar handler(liar, [&](const fabric::Message& message) {
    if (message.type != MessageType::collective_data || std::exchange(has_answered, true)) return;
    const std::size_t bytes = message.payload.size();
    const fabric::Offset memory = liar.endpoint().segment().allocate(bytes);
    WholeGrantHeader lent{fabric::read_header<CallHeader>(message), memory, 0, 0, Granted::all};
    send(liar, MessageType::collective_whole_grant, bytes_of(lent), {});
    ++lent.call.identity.sequence;
    const FailedHeader failed{lent.call.identity, static_cast<std::uint32_t>(ErrorCode::io), 1, 0};
    send(liar, MessageType::collective_failed, bytes_of(failed), std::as_bytes(std::span("on purpose", 10)));
    send(liar, MessageType::collective_whole_grant, bytes_of(lent), {});
  });
  runtime.run([](Node& node) -> Task<> {
    if (node.id() == 1) co_return;  // its handler answers
    const Group both = Group::all(node);
    std::vector<int> data(300, 7);
    std::vector<int> result(data.size());
    const CollectiveOptions options = CollectiveOptions().algorithm("recursive_doubling");
    for (const char* const expected : {"", "io: on purpose"}) {
      EXPECT_EQ(co_await test::outcome(allreduce(node, both, data, result, sum, options)), expected);
      node.charge(1e-4);  // until all has come
    }
  });
}

// Of what is lent, by a peer whose memory is reached in place.
std::string outcome_of_lending(const std::function<fabric::Offset(fabric::Segment&)>& memory,
                               const std::string& fabric = "sim:2,peer_pointer=segments") {
  std::string outcome;
  Runtime runtime(test::options_for(fabric));
  Node& liar = *runtime.nodes()[1];
  const Liar handler(liar, [&](const fabric::Message& message) {
    if (message.type != MessageType::collective_whole_grant) return;
    auto header = fabric::read_header<WholeGrantHeader>(message);
    header.offset = memory(liar.endpoint().segment());
    send(liar, message.type, bytes_of(header), {});
  });
  runtime.run([&](Node& node) -> Task<> {
    if (node.id() == 1) co_return;  // its handler answers
    const Group both = Group::all(node);
    SegmentArray<int> data(node, 1000);
    SegmentArray<int> result(node, 1000);
    const CollectiveOptions options = CollectiveOptions().algorithm("recursive_doubling");
    outcome = co_await test::outcome(allreduce(node, both, data, result, sum, options));
  });
  return outcome;
}

// Of 32 KiB that both stage, by a peer that grants them all the same in that way.
std::string outcome_of_granting(Granted granted) {
  std::string outcome;
  Runtime runtime(test::options_for("sim:2,hosts=1,peer_pointer=segments"));
  Node& liar = *runtime.nodes()[1];
  const Liar handler(liar, [&](const fabric::Message& message) {
    if (message.type != MessageType::collective_whole_grant) return;
    auto header = fabric::read_header<WholeGrantHeader>(message);
    header.offset = liar.endpoint().segment().allocate(std::size_t{32} << 10U);
    header.granted = granted;
    send(liar, message.type, bytes_of(header), {});
    send(liar, MessageType::collective_done, bytes_of(header.call), {});
  });
  runtime.run([&](Node& node) -> Task<> {
    if (node.id() == 1) co_return;  // its handler answers
    const std::vector<int> data(2 * 8192, 7);
    std::vector<int> result(data.size());
    outcome = co_await test::outcome(all_to_all(node, Group::all(node), std::span(data), std::span(result)));
  });
  return outcome;
}

TEST(CollectiveBadInput, GrantingTurnsThatNobodyTakesCostsTheConnection) {
  for (const Granted all : {Granted::all, Granted::all_claimed, Granted::all_staged}) {
    EXPECT_EQ(outcome_of_granting(all), "") << static_cast<std::uint32_t>(all);
  }
  const std::string last = outcome_of_granting(Granted::last_turn);
  EXPECT_NE(last.find("grants what it must not have written"), std::string::npos) << last;
  const std::string unknown = outcome_of_granting(static_cast<Granted>(5));
  EXPECT_NE(unknown.find("grants in a way that is not known"), std::string::npos) << unknown;
}

TEST(CollectiveBadInput, GrantingMemoryThatIsNoneCostsTheConnection) {
  const std::string none = outcome_of_lending([](fabric::Segment&) { return std::uint64_t{1} << 60U; });
  EXPECT_NE(none.find("speaks of memory that it does not have"), std::string::npos) << none;
  const std::string torn = outcome_of_lending([](fabric::Segment& segment) { return segment.allocate(5000) + 2; });
  EXPECT_NE(torn.find("speaks of memory where no elements lie"), std::string::npos) << torn;
  const std::vector<int> own(1001);
  const auto in_own = [&](fabric::Segment&) { return fabric::private_offset(own.data()) + 2; };
  const std::string torn_in_own = outcome_of_lending(in_own, "sim:2,peer_pointer=reads,hosts=1");
  EXPECT_NE(torn_in_own.find("speaks of memory where no elements lie"), std::string::npos) << torn_in_own;
}

TEST(CollectiveBadInput, AHelloAboutNoStepCostsTheConnection) {
  const Tale tale = tell(1, [](Node& liar, const fabric::Message& message) {
    if (message.type != MessageType::collective_data) return;
    auto data = fabric::read_header<CallHeader>(message);
    data.tag = 77;
    send(liar, MessageType::collective_hello, bytes_of(HelloHeader{data, 5000}), {});
  });
  EXPECT_NE(tale.outcome_at_0.find("sends a message that has no place there"), std::string::npos) << tale.outcome_at_0;
}

TEST(CollectiveBadInput, HoldingWhatHasNoPlaceCostsTheConnection) {
  const Tale tale = tell(1, [](Node& liar, const fabric::Message& message) {
    if (message.type != MessageType::collective_data) return;
    auto data = fabric::read_header<CallHeader>(message);
    data.tag = 77;
    send(liar, MessageType::collective_held, bytes_of(data), {});
  });
  EXPECT_NE(tale.outcome_at_0.find("holds data that have no place there"), std::string::npos) << tale.outcome_at_0;
}

TEST(CollectiveBadInput, AskingForWhatIsNotHeldCostsTheConnection) {
  const Tale tale = tell(1, [](Node& liar, const fabric::Message& message) {
    if (message.type != MessageType::collective_data) return;
    send(liar, MessageType::collective_pull, message.header, {});
  });
  EXPECT_NE(tale.outcome_at_0.find("asks for data that are not held"), std::string::npos) << tale.outcome_at_0;
}

TEST(CollectiveBadInput, UsingWhatWasNeverSentCostsTheConnection) {
  const Tale tale = tell(1, [](Node& liar, const fabric::Message& message) {
    if (message.type != MessageType::collective_data) return;
    send(liar, MessageType::collective_used, bytes_of(UsedHeader{std::uint64_t{1} << 40U}), {});
  });
  EXPECT_NE(tale.outcome_at_0.find("has used data that were never sent"), std::string::npos) << tale.outcome_at_0;
}

// A large all-reduce: node 1 is asked to put its part by pieces.
TEST(CollectiveBadInput, LargeDataInAMessageCostTheConnection) {
  const Tale tale = tell(2000, [](Node& liar, const fabric::Message& message) {
    const auto ready = fabric::read_header<ReadyHeader>(message);
    send(liar, MessageType::collective_data, bytes_of(ready.call), std::vector<std::byte>(8000));
  });
  EXPECT_NE(tale.outcome_at_0.find("sends data that have no place there"), std::string::npos) << tale.outcome_at_0;
}

TEST(CollectiveBadInput, BeingReadyForAnotherSizeIsAMismatch) {
  const Tale tale = tell(2000, [](Node& liar, const fabric::Message& message) {
    auto ready = fabric::read_header<ReadyHeader>(message);
    ready.bytes = 16;
    send(liar, MessageType::collective_ready, bytes_of(ready), {});
  });
  EXPECT_EQ(tale.outcome_at_0.rfind("mismatch: ", 0), 0U) << tale.outcome_at_0;
}

TEST(CollectiveBadInput, APieceFromAStrangerIsNone) {
  // Node 2 notifies node 0 in node 1's place.
  Runtime runtime(test::options_for("sim:3"));
  Node& liar = *runtime.nodes()[1];
  Node& stranger = *runtime.nodes()[2];
  std::unique_ptr<Liar> handler;
  bool stranger_spoke = false;
  handler = std::make_unique<Liar>(liar, [&](const fabric::Message& message) {
    if (message.type != MessageType::collective_ready) return;
    const auto ready = fabric::read_header<ReadyHeader>(message);
    liar.endpoint().send(2, MessageType::test, bytes_of(ready), {});
  });
  class Relay final : public fabric::MessageHandler {
   public:
    Relay(Node& node, bool& spoke) : node_(node), spoke_(spoke) {}
    void on_message(const fabric::Message& message) override {
      const auto ready = fabric::read_header<ReadyHeader>(message);
      node_.endpoint().put(0, ready.offset, {}, ready.landing, nullptr);
      spoke_ = true;
    }

   private:
    Node& node_;
    bool& spoke_;
  } relay(stranger, stranger_spoke);
  stranger.endpoint().set_handler(MessageType::test, relay);
  runtime.run([&](Node& node) -> Task<> {
    if (node.id() != 0) co_return;
    std::vector<int> data(2000, 7);
    const auto whole = CollectiveOptions().algorithm("binomial_broadcast");
    const Event done = broadcast(node, Group{1, 0}, data, 0, whole);
    node.charge(1e-3);
    EXPECT_TRUE(stranger_spoke);
    EXPECT_FALSE(node.has_triggered(done)) << "a stranger completed a broadcast";
  });
}

// Random changes of honest answers: node 0 gets a result, or an error that says why.
TEST(CollectiveBadInput, RandomAnswersAreSurvivedSeeds) {
  for (const std::uint64_t seed : test::seeds(500)) {
    Random random(seed);
    const std::size_t count = random.below(2) == 0 ? 1 : 2000;
    int left = 20;  // of what the liar says
    const Tale tale = tell(count, [&](Node& liar, const fabric::Message& message) {
      for (std::uint64_t n = 1 + random.below(4); n > 0 && left > 0; --n, --left) {
        std::vector<std::byte> header(message.header.begin(), message.header.end());
        std::vector<std::byte> payload(message.payload.begin(), message.payload.end());
        for (std::uint64_t flips = random.below(3); flips > 0 && !header.empty(); --flips) {
          header[random.below(header.size())] ^= static_cast<std::byte>(1U << random.below(8));
        }
        if (random.below(8) == 0) header.resize(random.below(64));
        if (random.below(4) == 0) payload.resize(random.below(9000));
        auto type = message.type;
        if (random.below(4) == 0) type = static_cast<MessageType>(7 + random.below(5));
        send(liar, type, header, payload);
        if (message.type == MessageType::collective_ready && message.header.size() == sizeof(ReadyHeader)) {
          const auto ready = fabric::read_header<ReadyHeader>(message);
          liar.endpoint().put(0, ready.offset + random.below(3), std::vector<std::byte>(random.below(9000)),
                              ready.landing + random.below(2), nullptr);
        }
      }
    });
    EXPECT_TRUE(tale.outcome_at_0.rfind("clean ", 0) == 0 || tale.outcome_at_0.find(": ") != std::string::npos)
        << "seed " << seed << ": " << tale.outcome_at_0;
  }
}

// Node 1 lends node 0 its data for each of its calls before node 0 makes it, so that node 0 reads them in some of the
// calls (the first one is not inline, nor is one after those that were not over at once), and says that it has read
// what node 0 lends. `lie` may change its receipts. Returns how often it was told by a message that its data were read.
int messages_for_receipts(int calls, const std::function<void(WholeGrantHeader&)>& lie) {
  constexpr std::size_t count = 1000;
  int messages = 0;
  Runtime runtime(test::options_for("sim:2,early=1,peer_pointer=segments"));
  Node& liar = *runtime.nodes()[1];
  fabric::Segment& segment = liar.endpoint().segment();
  const fabric::Offset memory = segment.allocate(count * sizeof(int));
  std::fill_n(reinterpret_cast<int*>(segment.pointer(memory)), count, five);
  Receipts receipts(segment);
  receipts.take_memory();
  const auto lend = [&](const CallHeader& call) {
    WholeGrantHeader lent{call, memory, receipts.offset(0), receipts.issue(0).number(), Granted::all};
    lie(lent);
    send(liar, MessageType::collective_whole_grant, bytes_of(lent), {});
  };
  bool is_first = true;
  const Liar handler(liar, [&](const fabric::Message& message) {
    if (message.type == MessageType::collective_done) ++messages;
    if (message.type != MessageType::collective_whole_grant) return;
    CallHeader call = fabric::read_header<WholeGrantHeader>(message).call;
    send(liar, MessageType::collective_done, bytes_of(call), {});
    if (std::exchange(is_first, false)) lend(call);
    ++call.identity.sequence;
    lend(call);
  });
  runtime.run([&](Node& node) -> Task<> {
    if (node.id() == 1) co_return;  // its handler answers
    const Group both = Group::all(node);
    SegmentArray<int> data(node, count);
    SegmentArray<int> result(node, count);
    const CollectiveOptions options = CollectiveOptions().algorithm("recursive_doubling");
    for (int call = 0; call < calls; ++call) {
      std::fill(data.begin(), data.end(), call);
      EXPECT_EQ(co_await test::outcome(allreduce(node, both, data, result, sum, options)), "");
      EXPECT_EQ(result.data()[count - 1], call + five);
      node.charge(1e-4);  // until the next grant has come
    }
  });
  return messages;
}

TEST(CollectiveBadInput, ReceiptsThatAreNoneAreAnsweredByMessages) {
  constexpr int calls = 5;
  EXPECT_LT(messages_for_receipts(calls, [](WholeGrantHeader&) {}), calls) << "good ones are signed";
  const std::vector<std::function<void(WholeGrantHeader&)>> lies = {
      [](WholeGrantHeader& lent) { lent.receipt_number = 0; },
      [](WholeGrantHeader& lent) { ++lent.receipt_number; },
      [](WholeGrantHeader& lent) { lent.receipt += 4; },
      [](WholeGrantHeader& lent) { lent.receipt = std::uint64_t{1} << 60U; },
      [](WholeGrantHeader& lent) { lent.receipt = ~std::uint64_t{0} - 7; },
  };
  for (const auto& lie : lies) EXPECT_EQ(messages_for_receipts(calls, lie), calls);
}

}  // namespace
}  // namespace stretto
