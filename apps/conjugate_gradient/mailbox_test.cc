#include "conjugate_gradient/mailbox.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "conjugate_gradient/test_support.h"

namespace conjugate_gradient {
namespace {

using stretto::Error;
using stretto::ErrorCode;
using stretto::Event;
using stretto::Future;
using stretto::Node;
using stretto::NodeId;
using stretto::Task;

constexpr std::size_t letter_count = 40;

/// Letter i of `from` holds i + 1 values, or, one of them, more than any message carries.
Mailbox::Values content(NodeId from, std::size_t i) {
  return Mailbox::Values(i == 7 ? 50'000 : i + 1, static_cast<double>(100 * from + i));
}

/// Everybody sends everybody, itself too, some letters before the others look for them.
Task<> correspond(Node& node) {
  Mailbox& mailbox = Mailbox::of(node);
  std::vector<Event> sent;
  for (std::size_t i = 0; i < letter_count; ++i) {
    for (NodeId to = 0; to < node.size(); ++to) sent.push_back(mailbox.send(to, content(node.id(), i)));
    if (i % 3 != 0) continue;
    for (NodeId from = 0; from < node.size(); ++from) {
      const Mailbox::Letter letter = co_await mailbox.receive(from);
      EXPECT_EQ(*letter, content(from, i / 3));
    }
  }
  co_await node.merge(sent);
  for (std::size_t i = letter_count / 3 + 1; i < letter_count; ++i) {
    for (NodeId from = 0; from < node.size(); ++from) {
      const Mailbox::Letter letter = co_await mailbox.receive(from);
      EXPECT_EQ(*letter, content(from, i)) << "letter " << i << " from " << from << " at " << node.id();
    }
  }
}

TEST(Mailbox, KeepsTheOrderOfEachSender) {
  for (const char* const fabric : {"local:1", "local:3", "local:3,peer_pointer=off", "sim:1", "sim:3"}) {
    SCOPED_TRACE(fabric);
    run_on(fabric, correspond);
  }
}

TEST(Mailbox, KeepsTheOrderWhenLettersOvertakeEachOtherSeeds) {
  for (const std::uint64_t seed : stretto::test::seeds(20)) {
    const std::string fabric =
        "sim:4,reorder=0.5,jitter=5us,delay=100us,delay_probability=0.1,seed=" + std::to_string(seed);
    SCOPED_TRACE(fabric);
    run_on(fabric, correspond);
  }
}

/// What a receiver hears instead of the letter.
Task<ErrorCode> failure_of(Future<Mailbox::Letter> letter) {
  try {
    co_await letter;
  } catch (const Error& error) {
    co_return error.code();
  }
  ADD_FAILURE() << "a letter arrived that nobody sent";
  co_return ErrorCode::internal;
}

/// Node 2 dies. Nobody else sends anything: node 0 waits for the dead one, node 1 for one that lives.
TEST(Mailbox, GivesUpWhenANodeOfTheJobIsLost) {
  int told = 0;
  run_on("sim:3,kill=2@50us", [&](Node& node) -> Task<> {
    if (node.id() == 2) co_return;
    Mailbox& mailbox = Mailbox::of(node);
    EXPECT_EQ(co_await failure_of(mailbox.receive(node.id() == 0 ? 2 : 0)), ErrorCode::peer_lost);
    EXPECT_EQ(co_await failure_of(mailbox.receive(1)), ErrorCode::peer_lost) << "asked for after the loss";
    ++told;
  });
  EXPECT_EQ(told, 2);
}

void compute_for(Node& node, double seconds) { node.charge(seconds); }

TEST(Mailbox, HandsOutWhatHadArrivedBeforeTheLoss) {
  bool received = false;
  run_on("sim:3,kill=1@1ms", [&](Node& node) -> Task<> {
    Mailbox& mailbox = Mailbox::of(node);
    if (node.id() == 1) co_await mailbox.send(0, Mailbox::Values(3, 1.5));
    if (node.id() != 0) co_return;
    co_await node.spawn_on<&compute_for>(2, stretto::SpawnOptions(), 10e-3);
    const Mailbox::Letter letter = co_await mailbox.receive(1);
    EXPECT_EQ(*letter, Mailbox::Values(3, 1.5));
    EXPECT_EQ(co_await failure_of(mailbox.receive(1)), ErrorCode::peer_lost);
    received = true;
  });
  EXPECT_TRUE(received);
}

}  // namespace
}  // namespace conjugate_gradient
