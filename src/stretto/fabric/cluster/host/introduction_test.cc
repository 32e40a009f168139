#include "stretto/fabric/cluster/host/introduction.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <vector>

#include "stretto/base/error.h"

namespace stretto::fabric::cluster {
namespace {

constexpr std::uint64_t tag = 5;

/// A door that expects nodes 0 to 3 and hands out three descriptors.
struct House {
  House() {
    for (Descriptor& one : handed_out) one = Descriptor(eventfd(0, EFD_CLOEXEC));
    door.open([](NodeId node) { return node < 4; },
              {handed_out[0].number(), handed_out[1].number(), handed_out[2].number()});
  }
  HostCard card() const { return make_card(door.name(), secret, 1024, 1U << 20U); }
  void serve() {
    while (door.serve()) {
    }
  }

  Secret secret = make_secret();
  Watcher watcher;
  Door door{watcher, tag, secret};
  std::array<Descriptor, 3> handed_out;
};

TEST(Introduction, WhoKnowsTheSecretIsHandedTheMemory) {
  House house;
  const Connection connection = call_on(house.card(), 2);
  ASSERT_EQ(connection.outcome, Outcome::done);
  EXPECT_EQ(read_answer(connection.socket.number()).kind, Answer::Kind::nothing);
  house.serve();
  EXPECT_TRUE(house.door.served(2));
  EXPECT_FALSE(house.door.served(1));
  const Answer answer = read_answer(connection.socket.number());
  ASSERT_EQ(answer.kind, Answer::Kind::welcome);
  // They are the same eventfds, in the same order.
  eventfd_write(answer.welcome.segment.number(), 7);
  eventfd_t value = 0;
  eventfd_read(house.handed_out[1].number(), &value);
  EXPECT_EQ(value, 7U);
}

TEST(Introduction, AWrongSecretIsShownOut) {
  House house;
  HostCard card = house.card();
  card.secret[15] ^= std::byte{1};
  const Connection connection = call_on(card, 2);
  ASSERT_EQ(connection.outcome, Outcome::done);
  house.serve();
  EXPECT_FALSE(house.door.served(2));
  EXPECT_EQ(read_answer(connection.socket.number()).kind, Answer::Kind::closed);
}

TEST(Introduction, UnexpectedAndRepeatedCallersAreShownOut) {
  House house;
  const Connection unexpected = call_on(house.card(), 4);
  const Connection first = call_on(house.card(), 1);
  house.serve();
  const Connection second = call_on(house.card(), 1);
  house.serve();
  EXPECT_EQ(read_answer(unexpected.socket.number()).kind, Answer::Kind::closed);
  EXPECT_EQ(read_answer(first.socket.number()).kind, Answer::Kind::welcome);
  EXPECT_EQ(read_answer(second.socket.number()).kind, Answer::Kind::closed);
}

TEST(Introduction, PacketsOfAnyOtherKindAreShownOut) {
  House house;
  for (const std::size_t size : {0U, 1U, 4U, 23U, 24U, 25U, 200U, 4000U}) {
    const Connection connection = connect_locally(house.door.name());
    ASSERT_EQ(connection.outcome, Outcome::done);
    const std::vector<std::byte> junk(size, std::byte{0x68});
    send_packet(connection.socket.number(), junk);
    house.serve();
    EXPECT_EQ(read_answer(connection.socket.number()).kind, Answer::Kind::closed) << size;
  }
  const Connection silent = connect_locally(house.door.name());
  house.serve();
  const Connection good = call_on(house.card(), 0);
  house.serve();
  EXPECT_EQ(read_answer(silent.socket.number()).kind, Answer::Kind::nothing) << "it may still have something to say";
  EXPECT_EQ(read_answer(good.socket.number()).kind, Answer::Kind::welcome);
}

// A packet with `count` descriptors, which send_packet would not make.
void send_rights(int socket, ConstByteSpan bytes, std::size_t count) {
  const Descriptor passed(eventfd(0, EFD_CLOEXEC));
  const std::vector<int> rights(count, passed.number());
  alignas(cmsghdr) std::array<char, CMSG_SPACE(8 * sizeof(int))> control{};
  iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = CMSG_SPACE(count * sizeof(int));
  cmsghdr* const first = CMSG_FIRSTHDR(&message);
  first->cmsg_level = SOL_SOCKET;
  first->cmsg_type = SCM_RIGHTS;
  first->cmsg_len = CMSG_LEN(count * sizeof(int));
  std::memcpy(CMSG_DATA(first), rights.data(), count * sizeof(int));
  ASSERT_GE(sendmsg(socket, &message, 0), 0);
}

TEST(Introduction, MoreDescriptorsThanAreHandedOutAreRefused) {
  for (std::size_t count = 1; count <= 8; ++count) {
    House house;
    const Connection caller = connect_locally(house.door.name());
    ASSERT_EQ(caller.outcome, Outcome::done);
    const std::byte junk{0x68};
    send_rights(caller.socket.number(), {&junk, 1}, count);
    house.serve();
    EXPECT_EQ(read_answer(caller.socket.number()).kind, Answer::Kind::closed) << count;

    std::array<int, 2> pair{};
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()), 0);
    const Descriptor here(pair[0]);
    const Descriptor there(pair[1]);
    constexpr std::uint32_t welcome = 0x77656c63;
    send_rights(there.number(), bytes_of(welcome), count);
    const Answer::Kind kind = read_answer(here.number()).kind;
    if (count == max_passed) {
      EXPECT_EQ(kind, Answer::Kind::welcome);
    } else {
      EXPECT_TRUE(kind == Answer::Kind::bad || kind == Answer::Kind::cut_off) << count;
    }
  }
}

TEST(Introduction, TheSecretIsNotShownToAnotherProcess) {
  House house;
  HostCard card = house.card();
  card.process = getppid();  // who published it is gone, and someone else listens under its name
  const Connection connection = call_on(card, 2);
  EXPECT_EQ(connection.outcome, Outcome::closed);
  house.serve();
  EXPECT_FALSE(house.door.served(2));
}

TEST(Introduction, NobodyListensAnyMore) {
  HostCard card;
  {
    House house;
    card = house.card();
  }
  EXPECT_EQ(call_on(card, 2).outcome, Outcome::closed);
}

TEST(Introduction, TheEndIsTheConnectionsEndAndAGoodbyeComesBefore) {
  std::vector<Connection> callers;
  {
    House house;
    for (NodeId node = 0; node < 3; ++node) callers.push_back(call_on(house.card(), node));
    house.serve();
    for (const Connection& caller : callers) {
      EXPECT_EQ(read_answer(caller.socket.number()).kind, Answer::Kind::welcome);
    }
    house.door.dismiss(0);
    EXPECT_EQ(read_answer(callers[0].socket.number()).kind, Answer::Kind::closed);
    EXPECT_EQ(read_answer(callers[1].socket.number()).kind, Answer::Kind::nothing);
    house.door.leave();
    EXPECT_EQ(read_answer(callers[1].socket.number()).kind, Answer::Kind::goodbye);
    EXPECT_EQ(read_answer(callers[1].socket.number()).kind, Answer::Kind::closed);
  }
  EXPECT_EQ(read_answer(callers[2].socket.number()).kind, Answer::Kind::goodbye);
}

TEST(Introduction, AClosedDoorAnswersNobody) {
  House house;
  const Connection guest = call_on(house.card(), 0);
  const Connection late = connect_locally(house.door.name());
  house.serve();
  house.door.close();
  EXPECT_EQ(call_on(house.card(), 1).outcome, Outcome::closed);
  EXPECT_EQ(read_answer(late.socket.number()).kind, Answer::Kind::closed);
  EXPECT_EQ(read_answer(guest.socket.number()).kind, Answer::Kind::welcome);
  EXPECT_EQ(read_answer(guest.socket.number()).kind, Answer::Kind::nothing);
}

TEST(Introduction, CardsAreChecked) {
  House house;
  const HostCard card = house.card();
  EXPECT_EQ(parse_card(bytes_of(card)).socket_name(), house.door.name());
  EXPECT_THROW(parse_card({}), Error);
  EXPECT_THROW(parse_card(bytes_of(card).first(sizeof(card) - 1)), Error);
  for (const auto spoil : {+[](HostCard& one) { one.magic ^= 1; }, +[](HostCard& one) { one.name_bytes = 1000; },
                           +[](HostCard& one) { one.ring_lines = 1023; }, +[](HostCard& one) { one.ring_lines = 0; },
                           +[](HostCard& one) { one.segment_bytes = 0; }}) {
    HostCard spoiled = card;
    spoil(spoiled);
    EXPECT_THROW(parse_card(bytes_of(spoiled)), Error);
  }
}

TEST(Introduction, MemoryThatCouldShrinkIsNotMapped) {
  const ControlLayout layout{2, 1024};
  const auto doorbell = [] { return Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)); };
  const auto memory = [](std::size_t bytes, unsigned seals) {
    Descriptor made(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    EXPECT_EQ(ftruncate(made.number(), static_cast<off_t>(bytes)), 0);
    EXPECT_EQ(fcntl(made.number(), F_ADD_SEALS, seals), 0);
    return made;
  };
  constexpr std::size_t segment_bytes = 1U << 20U;
  const auto map = [&](Descriptor control, Descriptor segment, Descriptor bell) {
    PeerMemory(std::move(control), std::move(segment), std::move(bell), layout, segment_bytes);
  };
  EXPECT_NO_THROW(map(memory(layout.bytes(), F_SEAL_SHRINK), memory(segment_bytes, F_SEAL_SHRINK), doorbell()));
  EXPECT_THROW(map(memory(layout.bytes(), F_SEAL_GROW), memory(segment_bytes, F_SEAL_SHRINK), doorbell()), Error);
  EXPECT_THROW(map(memory(layout.bytes(), F_SEAL_SHRINK), memory(segment_bytes, F_SEAL_GROW), doorbell()), Error);
  EXPECT_THROW(map(memory(layout.bytes() - 1, F_SEAL_SHRINK), memory(segment_bytes, F_SEAL_SHRINK), doorbell()), Error);
  EXPECT_THROW(map(memory(layout.bytes(), F_SEAL_SHRINK), memory(segment_bytes / 2, F_SEAL_SHRINK), doorbell()), Error);
  EXPECT_THROW(map(doorbell(), memory(segment_bytes, F_SEAL_SHRINK), doorbell()), Error) << "no memory at all";
  EXPECT_THROW(map(memory(layout.bytes(), F_SEAL_SHRINK), memory(segment_bytes, F_SEAL_SHRINK),
                   Descriptor(eventfd(0, EFD_CLOEXEC))),
               Error)
      << "a doorbell that blocks";
}

}  // namespace
}  // namespace stretto::fabric::cluster
