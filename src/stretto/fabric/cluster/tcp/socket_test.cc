#include "stretto/fabric/cluster/tcp/socket.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "stretto/fabric/bootstrap/test_support.h"

namespace stretto::fabric::cluster::network {
namespace {

IpAddress loopback() {
  IpAddress address;
  address.bytes[0] = std::byte{127};
  address.bytes[3] = std::byte{1};
  return address;
}

std::string congestion_control_of(const Descriptor& socket) {
  std::array<char, 16> name{};
  socklen_t size = name.size();
  EXPECT_EQ(getsockopt(socket.number(), IPPROTO_TCP, TCP_CONGESTION, name.data(), &size), 0);
  return std::string(name.data(), strnlen(name.data(), size));
}

// Bites where the system's choice is BBR: a connection that had it once is paced also when it has another one.
TEST(Socket, NeitherEndOfAConnectionIsEverPaced) {
  const IpAddress here = loopback();
  const ListeningSocket listening = listen_at(&here);
  const Descriptor caller = begin_connect(here, listening.port);
  ASSERT_TRUE(caller);
  pollfd called{listening.socket.number(), POLLIN, 0};
  ASSERT_EQ(poll(&called, 1, 10'000), 1);
  const Descriptor answerer(accept(listening.socket.number(), nullptr, nullptr));
  ASSERT_TRUE(answerer);
  for (const Descriptor* end : {&caller, &answerer}) {
    EXPECT_NE(congestion_control_of(*end).substr(0, 3), "bbr");
  }
}

/// So many bytes, of which none is like its neighbours.
std::vector<std::byte> some_bytes(std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * 31 + i / 251);
  return bytes;
}

std::vector<iovec> cut(std::vector<std::byte>& bytes, std::span<const std::size_t> lengths) {
  std::vector<iovec> pieces;
  std::size_t at = 0;
  for (const std::size_t length : lengths) {
    pieces.push_back({bytes.data() + at, length});
    at += length;
  }
  EXPECT_EQ(at, bytes.size());
  return pieces;
}

std::vector<std::byte> receive_all(const Descriptor& socket) {
  std::vector<std::byte> all;
  std::vector<std::byte> buffer(1 << 16);
  for (;;) {
    const std::size_t bytes = receive_some(socket, {}, buffer).bytes;
    if (bytes == 0) return all;
    all.insert(all.end(), buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(bytes));
  }
}

// It leaves as packets, whose ends lie anywhere in the pieces.
TEST(Socket, PiecesOfAnyLengthArriveInOrder) {
  const std::vector<std::vector<std::size_t>> cases = {
      {},
      {0},
      {8, 0, 24},
      {32 * 1024},
      {32 * 1024 + 1},
      {100, 16 * 1024 - 100, 16 * 1024},
      {24, 64 * 1024 - 1, 0, 24, 40'000},
      std::vector<std::size_t>(100, 1),
      std::vector<std::size_t>(40, 0),
      std::vector<std::size_t>(50, 2'000),
  };
  for (const std::vector<std::size_t>& lengths : cases) {
    const test::SocketPair pair;
    std::vector<std::byte> sent = some_bytes(std::accumulate(lengths.begin(), lengths.end(), std::size_t{0}));
    OpenPacket open;
    const Moved moved = send_some(pair.near, open, cut(sent, lengths));
    EXPECT_EQ(moved.bytes, sent.size());
    EXPECT_FALSE(moved.ended);
    EXPECT_EQ(receive_all(pair.far), sent);
  }
}

// Who waits for the socket to become writable is told nothing where it has been all the time.
TEST(Socket, LessThanAllIsSentOnlyWhereTheKernelTakesNoMore) {
  const test::SocketPair pair;
  std::vector<std::byte> bytes = some_bytes(8 << 20U);
  const std::array whole{bytes.size()};
  OpenPacket open;
  const Moved moved = send_some(pair.near, open, cut(bytes, whole));
  EXPECT_GT(moved.bytes, 0U);
  EXPECT_LT(moved.bytes, bytes.size());
  EXPECT_EQ(send(pair.near.number(), bytes.data(), 1, MSG_DONTWAIT), -1);
  EXPECT_EQ(errno, EAGAIN);
  bytes.resize(moved.bytes);
  EXPECT_EQ(receive_all(pair.far), bytes);
}

TEST(Socket, WhatComesFillsItsPlaceFirst) {
  const test::SocketPair pair;
  std::vector<std::byte> sent = some_bytes(1000);
  OpenPacket open;
  const std::array whole{sent.size()};
  for (const std::size_t place_bytes : {0U, 1U, 999U, 1000U, 1001U, 5000U}) {
    EXPECT_EQ(send_some(pair.near, open, cut(sent, whole)).bytes, sent.size());
    std::vector<std::byte> place(place_bytes);
    std::vector<std::byte> then(2000);
    EXPECT_EQ(receive_some(pair.far, place, then).bytes, sent.size());
    place.resize(std::min(place_bytes, sent.size()));
    place.insert(place.end(), then.begin(), then.begin() + static_cast<std::ptrdiff_t>(sent.size() - place.size()));
    EXPECT_EQ(place, sent) << place_bytes;
  }
}

TEST(Socket, TheOtherEndsLossIsToldAlsoInTheMiddle) {
  test::SocketPair pair;
  pair.far.reset();
  std::vector<std::byte> bytes = some_bytes(100'000);
  const std::array whole{bytes.size()};
  OpenPacket open;
  const Moved moved = send_some(pair.near, open, cut(bytes, whole));
  EXPECT_TRUE(moved.ended);
  EXPECT_EQ(moved.error, EPIPE);
}

}  // namespace
}  // namespace stretto::fabric::cluster::network
