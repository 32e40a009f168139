#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>

#include "stretto/fabric/conformance_fixture.h"

namespace stretto::fabric::conformance {
namespace {

INSTANTIATE_TEST_SUITE_P(Fabrics, FabricConformance, testing::ValuesIn(kinds),
                         [](const auto& kind) { return std::string(kind.param.name); });

TEST_P(FabricConformance, NodesKnowWhoTheyAre) {
  start(3);
  for (NodeId node = 0; node < 3; ++node) {
    EXPECT_EQ(endpoint(node).self(), node);
    EXPECT_EQ(endpoint(node).size(), 3U);
  }
}

TEST_P(FabricConformance, MessagesOfEverySizeArriveWhole) {
  start(2);
  Random random(1);
  std::vector<std::pair<Bytes, Bytes>> sent;
  for (const std::size_t header : {0U, 1U, 8U, 63U, 256U}) {
    for (const std::size_t payload : {0U, 1U, 40U, 63U, 64U, 65U, 1000U, 4096U, 16128U}) {
      sent.emplace_back(random_bytes(random, header), random_bytes(random, payload));
    }
  }
  sent.emplace_back(Bytes(), random_bytes(random, max_message_bytes));
  for (const NodeId to : {1U, 0U}) {  // 0: itself
    for (const auto& [header, payload] : sent) {
      const std::size_t before = received(to);
      send(0, to, header, payload);
      ASSERT_TRUE(drive_until([&] { return received(to) > before; }));
      const auto& message = recorders_[to]->messages.back();
      EXPECT_EQ(message.from, 0U);
      EXPECT_EQ(message.type, MessageType::test);
      EXPECT_EQ(message.header, header);
      EXPECT_EQ(message.payload, payload);
    }
  }
}

TEST_P(FabricConformance, EveryMessageOfAllToAllArrivesOnce) {
  constexpr std::uint32_t nodes = 5;
  constexpr std::uint32_t each = 200;
  start(nodes);
  Random random(2);
  const auto payload_of = [](NodeId from, NodeId to, std::uint32_t index) {
    Random contents(from * 1'000'000U + to * 10'000U + index);
    const std::size_t bytes = index % 50 == 0 ? contents.below(16'000) : contents.below(300);
    return random_bytes(contents, bytes);
  };
  for (std::uint32_t index = 0; index < each; ++index) {
    for (NodeId from = 0; from < nodes; ++from) {
      for (NodeId to = 0; to < nodes; ++to) {
        const auto header = bytes_of(index);
        send(from, to, {header.begin(), header.end()}, payload_of(from, to, index));
        if (random.below(20) == 0) job_->step();
      }
    }
  }
  for (NodeId to = 0; to < nodes; ++to) {
    ASSERT_TRUE(drive_until([&] { return received(to) >= nodes * each; })) << "node " << to;
  }
  settle();
  for (NodeId to = 0; to < nodes; ++to) {
    std::set<std::pair<NodeId, std::uint32_t>> seen;
    for (const auto& message : recorders_[to]->messages) {
      std::uint32_t index = 0;
      ASSERT_EQ(message.header.size(), sizeof(index));
      std::memcpy(&index, message.header.data(), sizeof(index));
      EXPECT_TRUE(seen.emplace(message.from, index).second) << "twice: " << index << " from " << message.from;
      EXPECT_EQ(message.payload, payload_of(message.from, to, index));
    }
    EXPECT_EQ(seen.size(), nodes * each);
  }
}

TEST_P(FabricConformance, ManyToOneFromInsideOfHandlers) {
  constexpr std::uint32_t nodes = 6;
  constexpr std::size_t rounds = 50;
  start(nodes);
  // Node 0 answers each message to its sender, who answers again, until each pair has gone `rounds` rounds.
  for (NodeId node = 0; node < nodes; ++node) {
    recorders_[node]->check = [this, node](const Message& message) {
      auto round = read_header<std::uint32_t>(message);
      if (++round < 2 * rounds) endpoint(node).send(message.from, MessageType::test, bytes_of(round), message.payload);
    };
  }
  for (NodeId from = 1; from < nodes; ++from) {
    send(from, 0, Bytes(sizeof(std::uint32_t)), Bytes(from * 10));
  }
  ASSERT_TRUE(drive_until([&] { return received(0) >= (nodes - 1) * rounds; }));
  for (NodeId from = 1; from < nodes; ++from) {
    ASSERT_TRUE(drive_until([&] { return received(from) >= rounds; }));
    EXPECT_EQ(received(from), rounds);
  }
  EXPECT_EQ(received(0), (nodes - 1) * rounds);
}

TEST_P(FabricConformance, WhatIsTooLargeIsRefusedByName) {
  start(2);
  const auto refused = [this](std::size_t header, std::size_t payload) {
    try {
      send(0, 1, Bytes(header), Bytes(payload));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_NE(refused(max_header_bytes + 1, 0).find("invalid_argument: a message with a header of 257 bytes"),
            std::string::npos);
  EXPECT_NE(refused(0, max_message_bytes + 1).find("16385"), std::string::npos);
  EXPECT_NE(refused(100, max_message_bytes - 99).find("too large"), std::string::npos);
  settle();
  EXPECT_EQ(received(1), 0U);
}

TEST_P(FabricConformance, UnknownPeersAreRefusedByName) {
  start(2);
  std::array<std::byte, 8> some{};
  CountingCompletion completion;
  const auto expect_refused = [](auto call) {
    try {
      call();
      FAIL() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      EXPECT_NE(error.message().find("node 2 does not exist"), std::string::npos) << error.what();
    }
  };
  at(0, [&](Endpoint& e, Recorder&) {
    expect_refused([&] { e.send(2, MessageType::test, {}, {}); });
    expect_refused([&] { e.put(2, 0, some, 0, &completion); });
    expect_refused([&] { e.get(2, 0, some, &completion); });
    expect_refused([&] { e.peer_pointer(2, 0, 1); });
  });
  settle();
  EXPECT_EQ(completion.fired, 0);
}

TEST_P(FabricConformance, AMessageOfUnknownTypeEndsTheConnectionOnly) {
  start(3);
  at(0, [](Endpoint& e, Recorder&) { e.send(1, static_cast<MessageType>(40), {}, {}); });
  expect_only_these_lost_each_other(0, 1);
  EXPECT_NE(loss_text(1, 0).find("bad_input: message of unknown type 40 from node 0"), std::string::npos)
      << loss_text(1, 0);
  EXPECT_NE(loss_text(0, 1).find("peer_lost: "), std::string::npos) << loss_text(0, 1);
}

TEST_P(FabricConformance, AMessageThatItsHandlerRefusesEndsTheConnectionOnly) {
  start(3);
  recorders_[2]->check = [](const Message& message) { read_header<std::uint64_t>(message); };
  send(1, 2, Bytes(8), Bytes(3));
  ASSERT_TRUE(drive_until([&] { return received(2) == 1; }));
  send(1, 2, Bytes(7), Bytes(3));
  ASSERT_TRUE(drive_until([&] { return losses(2, 1) == 1 && losses(1, 2) == 1; }));
  recorders_[2]->check = nullptr;
  expect_only_these_lost_each_other(1, 2);
  EXPECT_NE(loss_text(2, 1).find("bad_input: message of type 62 from node 1 has a header of 7 bytes where 8"),
            std::string::npos)
      << loss_text(2, 1);
  EXPECT_EQ(received(2), 1U);
}

TEST_P(FabricConformance, WhoLooksForOnePeersMessagesSeesThoseAlone) {
  start(3);
  const Bytes wanted = {std::byte{1}};
  for (const NodeId from : {1U, 2U}) {
    for (const Bytes& header : {Bytes(), wanted, wanted}) send(from, 0, header, Bytes(100));
  }
  Picker picker(endpoint(0), wanted);
  Awaited awaited;  // wrongly or not
  const auto look = [&](Endpoint& e, Recorder&) {
    awaited = {.bytes = awaited.bytes * 3 + 1, .is_due = !awaited.is_due};
    return e.receive_from(1, awaited, picker);
  };
  if (!at(0, [](Endpoint& e, Recorder&) { return e.can_receive_from(1); })) {
    EXPECT_EQ(at(0, look), Received::nothing);
  } else {
    Patience patience;
    for (std::size_t seen = 0; seen < 3; ++seen) {
      while (at(0, look) == Received::nothing) ASSERT_TRUE(patience.after(false));
      EXPECT_EQ(picker.picked + received(0), seen + 1) << "one at a time";
    }
    EXPECT_EQ(picker.picked, 2U);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(at(0, look), Received::nothing);
  }
  ASSERT_TRUE(drive_until([&] { return picker.picked + received(0) == 6; }));
  settle();
  EXPECT_EQ(picker.picked + received(0), 6U) << "none twice";
}

// A way is no more than the endpoint's own functions: to any peer, itself and one that is lost among them.
TEST_P(FabricConformance, AWayLeadsToItsPeerAndBack) {
  start(3);
  const auto way_of = [&](NodeId node, NodeId peer) {
    return at(node, [&](Endpoint& e, Recorder&) { return e.way_to(peer); });
  };
  const auto send_by = [&](NodeId node, Way& way) {
    at(node, [&](Endpoint&, Recorder&) { way.send(MessageType::test, Bytes(3, std::byte{1}), Bytes(5)); });
  };
  const std::unique_ptr<Way> there = way_of(1, 0);
  const std::unique_ptr<Way> back = way_of(0, 1);
  const std::unique_ptr<Way> itself = way_of(1, 1);
  send_by(1, *there);
  send_by(1, *itself);
  Picker picker(endpoint(0), Bytes(3, std::byte{1}));
  const auto look = [&](Endpoint&, Recorder&) { return back->receive({}, picker); };
  if (at(0, [](Endpoint& e, Recorder&) { return e.can_receive_from(1); })) {
    Patience patience;
    while (at(0, look) == Received::nothing) ASSERT_TRUE(patience.after(false));
    EXPECT_EQ(picker.picked, 1U);
  } else {
    EXPECT_EQ(at(0, look), Received::nothing);
  }
  ASSERT_TRUE(drive_until([&] { return picker.picked + received(0) == 1 && received(1) == 1; }));
  at(0, [](Endpoint& e, Recorder&) { e.lose(1, Error(ErrorCode::peer_lost, "a test")); });
  send_by(0, *back);
  EXPECT_EQ(at(0, look), Received::nothing);
  settle();
  EXPECT_EQ(received(1), 1U) << "nothing leaves for who is lost";
  EXPECT_THROW(way_of(0, 3), Error);
}

// Who gives a message that is bad to the others' handlers loses its sender, as ever.
TEST_P(FabricConformance, ABadMessageThatWasLookedForEndsTheConnectionOnly) {
  start(3);
  if (!at(0, [](Endpoint& e, Recorder&) { return e.can_receive_from(1); })) return;
  at(1, [](Endpoint& e, Recorder&) { e.send(0, static_cast<MessageType>(40), {}, {}); });
  Picker picker(endpoint(0), Bytes(1));
  Patience patience;
  const auto look = [&](Endpoint& e, Recorder&) { return e.receive_from(1, {}, picker); };
  while (at(0, look) == Received::nothing) ASSERT_TRUE(patience.after(false));
  expect_only_these_lost_each_other(0, 1);
  EXPECT_EQ(at(0, look), Received::nothing);
}

// A fabric puts it in place or hands it on: it comes once, to one of the two, and nothing else is taken for it.
TEST_P(FabricConformance, WhatIsForeseenIsPutInPlaceOrHandedOn) {
  start(2);
  if (!at(0, [](Endpoint& e, Recorder&) { return e.can_receive_from(1); })) return;
  const Bytes beginning(8, std::byte{7});
  Bytes known = beginning;
  known.resize(12, std::byte{5});
  const Bytes wanted(16, std::byte{9});
  send(1, 0, Bytes(12), Bytes(16));
  send(1, 0, known, Bytes(15));
  send(1, 0, beginning, Bytes(16));
  send(1, 0, known, wanted);
  send(1, 0, known, wanted);
  Bytes place(16);
  const Foreseen foreseen{MessageType::test, known.size(), beginning, place};
  Picker picker(endpoint(0), known);
  std::size_t put_in_place = 0;
  Patience patience;
  for (std::size_t seen = 0; seen < 5;) {
    const Received what =
        at(0, [&](Endpoint& e, Recorder&) { return e.receive_from(1, {.bytes = 28, .foreseen = &foreseen}, picker); });
    if (what == Received::nothing) {
      ASSERT_TRUE(patience.after(false));
      continue;
    }
    ++seen;
    if (what != Received::foreseen) continue;
    ++put_in_place;
    EXPECT_EQ(place, wanted);
    std::fill(place.begin(), place.end(), std::byte{});
  }
  EXPECT_EQ(received(0), 2U);
  EXPECT_EQ(picker.picked + put_in_place, 3U);
  EXPECT_EQ(place, Bytes(16)) << "written to by what was handed on";
}

// Whatever is under way when a handler refuses: nothing from that peer is heard any more.
TEST_P(FabricConformance, NothingFromALostPeerIsHeard) {
  start(3);
  recorders_[0]->check = [](const Message& message) {
    if (!message.header.empty()) throw Error(ErrorCode::bad_input, "refused");
  };
  for (int i = 0; i < 20; ++i) send(1, 0, Bytes(i == 7 ? 1 : 0), Bytes(100));
  ASSERT_TRUE(drive_until([&] { return losses(0, 1) == 1 && losses(1, 0) == 1; }));
  const std::size_t heard = received(0);
  for (int i = 0; i < 20; ++i) send(1, 0, {}, Bytes(100));
  expect_only_these_lost_each_other(0, 1);
  EXPECT_EQ(received(0), heard);
}

TEST_P(FabricConformance, BytesAreInPlaceWhenTheNotificationComes) {
  start(2);
  Random random(3);
  for (const NodeId to : {1U, 0U}) {
    for (const std::size_t bytes : {0U, 1U, 8U, 1000U, 65'536U, 100'000U, 5'000'000U}) {
      const Offset offset = endpoint(to).segment().allocate(bytes + 200);
      std::byte* const place = endpoint(to).segment().pointer(offset);
      at(to, [&](Endpoint&, Recorder&) { std::fill_n(place, bytes + 200, std::byte{0x5a}); });
      Bytes source = random_bytes(random, bytes);
      const Bytes expected = source;
      Bytes found;
      recorders_[to]->when_notified = [&](Notification) { found.assign(place, place + bytes + 200); };
      CountingCompletion completion;
      const std::size_t before = notified(to);
      at(0, [&](Endpoint& e, Recorder&) { e.put(to, offset + 100, source, 77 + bytes, &completion); });
      ASSERT_TRUE(drive_until([&] { return at(0, [&](Endpoint&, Recorder&) { return completion.fired > 0; }); }));
      std::fill(source.begin(), source.end(), std::byte{0});  // may be reused now
      ASSERT_TRUE(drive_until([&] { return notified(to) > before; }));
      EXPECT_EQ(recorders_[to]->notifications.back(), (std::pair<NodeId, Notification>(0, 77 + bytes)));
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), found.begin() + 100));
      for (std::size_t i = 0; i < 100; ++i) {
        EXPECT_EQ(found[i], std::byte{0x5a});
        EXPECT_EQ(found[100 + bytes + i], std::byte{0x5a});
      }
      settle();
      EXPECT_EQ(completion.fired, 1);
      EXPECT_FALSE(completion.lost);
      EXPECT_EQ(notified(to), before + 1);
      endpoint(to).segment().release(offset);
    }
  }
}

TEST_P(FabricConformance, PutsFromEverybodyNotifyOnceEach) {
  constexpr std::uint32_t nodes = 4;
  constexpr std::uint32_t each = 30;
  start(nodes);
  const Offset offset = endpoint(0).segment().allocate(nodes * each * sizeof(std::uint64_t));
  std::vector<CountingCompletion> completions(nodes * each);
  for (std::uint32_t index = 0; index < nodes * each; ++index) {
    at(index % nodes, [&](Endpoint& e, Recorder&) {
      const std::uint64_t value = index * 3;
      e.put(0, offset + index * sizeof(value), bytes_of(value), index, index % 2 == 0 ? &completions[index] : nullptr);
    });
  }
  ASSERT_TRUE(drive_until([&] { return notified(0) >= nodes * each; }));
  settle();
  std::set<Notification> seen;
  for (const auto& [from, notification] : recorders_[0]->notifications) {
    EXPECT_EQ(from, notification % nodes);
    EXPECT_TRUE(seen.insert(notification).second);
    std::uint64_t value = 0;
    std::memcpy(&value, endpoint(0).segment().pointer(offset + notification * sizeof(value)), sizeof(value));
    EXPECT_EQ(value, notification * 3);
  }
  EXPECT_EQ(seen.size(), nodes * each);
  for (std::size_t i = 0; i < completions.size(); ++i) EXPECT_EQ(completions[i].fired, i % 2 == 0 ? 1 : 0);
}

TEST_P(FabricConformance, GetBringsTheBytes) {
  start(2);
  Random random(4);
  for (const NodeId from : {1U, 0U}) {
    for (const std::size_t bytes : {0U, 1U, 1000U, 65'536U, 3'000'000U}) {
      const Bytes source = random_bytes(random, bytes);
      const Offset offset = endpoint(from).segment().allocate(bytes);
      at(from, [&](Endpoint& e, Recorder&) { std::copy(source.begin(), source.end(), e.segment().pointer(offset)); });
      Bytes destination(bytes + 1, std::byte{0x77});
      CountingCompletion completion;
      at(0, [&](Endpoint& e, Recorder&) {
        e.get(from, offset, ByteSpan(destination).first(bytes), &completion);
        EXPECT_EQ(completion.fired, 0) << "before the call returned";
      });
      ASSERT_TRUE(drive_until([&] { return at(0, [&](Endpoint&, Recorder&) { return completion.fired > 0; }); }));
      EXPECT_TRUE(std::equal(source.begin(), source.end(), destination.begin()));
      EXPECT_EQ(destination.back(), std::byte{0x77});
      settle();
      EXPECT_EQ(completion.fired, 1);
      EXPECT_FALSE(completion.lost);
    }
  }
  EXPECT_EQ(notified(0) + notified(1), 0U);
}

TEST_P(FabricConformance, APutOutsideOfTheSegmentEndsTheConnectionOnly) {
  start(3);
  const std::size_t capacity = endpoint(1).segment().capacity();
  CountingCompletion completion;
  at(0, [&](Endpoint& e, Recorder&) { e.put(1, capacity - 4, Bytes(8), 9, &completion); });
  expect_only_these_lost_each_other(0, 1);
  EXPECT_NE(loss_text(1, 0).find("bad_input: "), std::string::npos) << loss_text(1, 0);
  EXPECT_EQ(completion.fired, 1);
  EXPECT_EQ(notified(1), 0U);
}

TEST_P(FabricConformance, OffsetsThatOverflowAreOutside) {
  start(3);
  CountingCompletion put;
  CountingCompletion get;
  Bytes destination(64);
  at(0, [&](Endpoint& e, Recorder&) { e.put(1, ~Offset{0} - 3, Bytes(8), 9, &put); });
  expect_only_these_lost_each_other(0, 1);
  at(2, [&](Endpoint& e, Recorder&) { e.get(1, ~Offset{0} - 3, destination, &get); });
  ASSERT_TRUE(drive_until([&] { return losses(1, 2) > 0 && losses(2, 1) > 0; }));
  EXPECT_EQ(put.fired, 1);
  EXPECT_EQ(get.fired, 1);
  EXPECT_TRUE(get.lost);
  EXPECT_EQ(notified(1), 0U);
}

TEST_P(FabricConformance, AGetOutsideOfTheSegmentEndsTheConnectionAndCompletesAsLost) {
  start(3);
  const std::size_t capacity = endpoint(1).segment().capacity();
  Bytes destination(64);
  CountingCompletion completion;
  at(0, [&](Endpoint& e, Recorder&) { e.get(1, capacity, destination, &completion); });
  expect_only_these_lost_each_other(0, 1);
  EXPECT_NE(loss_text(1, 0).find("bad_input: "), std::string::npos) << loss_text(1, 0);
  EXPECT_EQ(completion.fired, 1);
  EXPECT_TRUE(completion.lost);
}

TEST_P(FabricConformance, APeerPointerIsThePeersMemoryOrNull) {
  start(2);
  const Offset offset = endpoint(1).segment().allocate(256);
  std::byte* const seen = endpoint(0).peer_pointer(1, offset, 256);
  EXPECT_EQ(seen != nullptr, endpoint(0).maps(1));
  EXPECT_EQ(endpoint(0).maps(1), endpoint(1).maps(0));
  if (seen == nullptr) return;
  const Bytes source(16, std::byte{42});
  at(0, [&](Endpoint& e, Recorder&) { e.put(1, offset + 32, source, 1, nullptr); });
  ASSERT_TRUE(drive_until([&] { return notified(1) == 1; }));
  EXPECT_TRUE(std::equal(source.begin(), source.end(), seen + 32));
  seen[8] = std::byte{17};
  EXPECT_EQ(endpoint(1).segment().pointer(offset)[8], std::byte{17});
  EXPECT_EQ(endpoint(0).peer_pointer(1, offset + 100, 1), seen + 100);
  EXPECT_EQ(endpoint(1).offset_for_peers(endpoint(1).segment().pointer(offset), 256), offset);
}

TEST_P(FabricConformance, WhatPeersReachOfANodeIsItsSegmentOrTheirOwnProcess) {
  start(2);
  int outside = 42;
  const std::optional<Offset> offset = endpoint(1).offset_for_peers(&outside, sizeof outside);
  if (!offset) return;
  EXPECT_EQ(reinterpret_cast<int*>(endpoint(0).peer_pointer(1, *offset, sizeof outside)), &outside);
}

TEST_P(FabricConformance, MemoryOfAPeerThatIsNotSharedIsReadWhereBothSaySo) {
  start(2);
  EXPECT_EQ(endpoint(0).reads(1), endpoint(1).is_read_by(0));
  EXPECT_EQ(endpoint(1).reads(0), endpoint(0).is_read_by(1));
  if (!endpoint(0).reads(1)) return;
  const Bytes source(10'000, std::byte{42});
  Bytes destination(source.size());
  const Offset at = private_offset(source.data());
  EXPECT_TRUE(is_private(at));
  EXPECT_EQ(endpoint(0).peer_pointer(1, at, source.size()), nullptr);
  endpoint(0).read_private(1, at + 1, ByteSpan(destination).first(9'999));
  EXPECT_EQ(destination[9'998], std::byte{42});
  EXPECT_EQ(destination[9'999], std::byte{0});
}

TEST_P(FabricConformance, OperationsTowardsALostPeerAreDropped) {
  start(3);
  at(0, [](Endpoint& e, Recorder&) { e.lose(1, Error(ErrorCode::peer_lost, "said the test")); });
  expect_only_these_lost_each_other(0, 1);
  EXPECT_NE(loss_text(0, 1).find("said the test"), std::string::npos);
  const Offset offset = endpoint(1).segment().allocate(64);
  for (const auto& [from, to] : {std::pair<NodeId, NodeId>{0, 1}, {1, 0}}) {
    Bytes bytes(64, std::byte{1});
    CountingCompletion put;
    CountingCompletion get;
    at(from, [&](Endpoint& e, Recorder&) {
      e.send(to, MessageType::test, {}, bytes);
      e.put(to, offset, bytes, 5, &put);
      e.put(to, offset, bytes, 5, nullptr);
      e.get(to, offset, bytes, &get);
      EXPECT_EQ(put.fired + get.fired, 0) << "before the call returned";
    });
    ASSERT_TRUE(
        drive_until([&] { return at(from, [&](Endpoint&, Recorder&) { return put.fired + get.fired == 2; }); }));
    EXPECT_TRUE(put.lost);
    EXPECT_TRUE(get.lost);
    settle();
    EXPECT_EQ(put.fired, 1);
    EXPECT_EQ(get.fired, 1);
  }
  EXPECT_EQ(received(0) + received(1) + notified(0) + notified(1), 0U);
}

TEST_P(FabricConformance, WhatIsUnderWayWhenAPeerIsLostCompletesOnce) {
  start(2);
  const Offset offset = endpoint(1).segment().allocate(1 << 20U);
  std::vector<Bytes> buffers(12, Bytes(100'000));
  std::vector<CountingCompletion> completions(buffers.size());
  at(0, [&](Endpoint& e, Recorder&) {
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      if (i % 2 == 0) {
        e.get(1, offset, buffers[i], &completions[i]);
      } else {
        e.put(1, offset, buffers[i], i, &completions[i]);
      }
    }
    e.lose(1, Error(ErrorCode::peer_lost, "said the test"));
  });
  const auto fired = [&] {
    return at(0, [&](Endpoint&, Recorder&) {
      return std::all_of(completions.begin(), completions.end(), [](const auto& each) { return each.fired > 0; });
    });
  };
  ASSERT_TRUE(drive_until(fired));
  ASSERT_TRUE(drive_until([&] { return losses(1, 0) == 1; }));
  for (const CountingCompletion& completion : completions) EXPECT_EQ(completion.fired, 1);
}

}  // namespace
}  // namespace stretto::fabric::conformance
