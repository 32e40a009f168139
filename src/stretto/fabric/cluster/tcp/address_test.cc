#include "stretto/fabric/cluster/tcp/address.h"

#include <gtest/gtest.h>

#include <vector>

#include "stretto/base/error.h"

namespace stretto::fabric::cluster::network {
namespace {

IpAddress v4(int a, int b, int c, int d, std::uint8_t bits) {
  IpAddress address{false, bits, {}};
  address.bytes = {std::byte(a), std::byte(b), std::byte(c), std::byte(d)};
  return address;
}

IpAddress v6(int first, int last, std::uint8_t bits) {
  IpAddress address{true, bits, {}};
  address.bytes.front() = std::byte(first);
  address.bytes.back() = std::byte(last);
  return address;
}

ProcessId process(int number) {
  ProcessId id{};
  id.fill(std::byte(number));
  return id;
}

TEST(TcpAddress, WhatIsEncodedIsDecodedAndTheRestIsRefused) {
  const TcpAddress address{process(7), 4711, {v4(10, 1, 2, 3, 24), v6(0xfd, 1, 64)}};
  const std::vector<std::byte> bytes = encode(address);
  const TcpAddress decoded = decode_tcp_address(bytes);
  EXPECT_EQ(decoded.process, address.process);
  EXPECT_EQ(decoded.port, 4711);
  EXPECT_EQ(decoded.interfaces, address.interfaces);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THROW((void)decode_tcp_address(ConstByteSpan(bytes).first(size)), Error) << size;
  }
  std::vector<std::byte> longer = bytes;
  longer.push_back({});
  EXPECT_THROW((void)decode_tcp_address(longer), Error);
  std::vector<std::byte> unknown = bytes;
  unknown[28] = std::byte{5};  // the version of the first interface
  EXPECT_THROW((void)decode_tcp_address(unknown), Error);
}

TEST(TcpAddress, SaysItsText) {
  EXPECT_EQ(v4(10, 1, 2, 3, 24).text(), "10.1.2.3");
  EXPECT_EQ(v6(0xfd, 1, 64).text(), "fd00::1");
}

TEST(TcpAddress, NetworksAreComparedByTheirBits) {
  EXPECT_TRUE(on_one_network(v4(10, 1, 2, 3, 24), v4(10, 1, 2, 200, 24)));
  EXPECT_FALSE(on_one_network(v4(10, 1, 2, 3, 24), v4(10, 1, 3, 3, 24)));
  EXPECT_TRUE(on_one_network(v4(10, 1, 2, 3, 23), v4(10, 1, 3, 3, 23)));
  EXPECT_FALSE(on_one_network(v4(10, 1, 2, 3, 23), v4(10, 1, 4, 3, 23)));
  EXPECT_TRUE(on_one_network(v4(10, 1, 2, 3, 0), v4(172, 16, 0, 1, 16)));
  EXPECT_TRUE(on_one_network(v6(0xfd, 1, 64), v6(0xfd, 2, 64)));
  EXPECT_FALSE(on_one_network(v6(0xfd, 1, 64), v4(0xfd, 0, 0, 2, 8)));
}

TEST(TcpAddress, TheNearestIsTriedFirstAndLoopbacksLast) {
  const IpAddress loopback = v4(127, 0, 0, 1, 8);
  const IpAddress loopback6 = v6(0, 1, 128);
  const IpAddress far = v4(172, 17, 0, 1, 16);
  const IpAddress near = v4(10, 1, 2, 9, 24);
  EXPECT_EQ(by_nearness({loopback, far, loopback6, near}, {v4(127, 0, 0, 1, 8), v4(10, 1, 2, 3, 24)}),
            (std::vector<IpAddress>{near, far, loopback, loopback6}));
}

TEST(TcpAddress, AHostWithTooManyInterfacesTellsOfTheFirst) {
  const TcpAddress address{process(1), 80, std::vector<IpAddress>(300, v4(10, 1, 2, 9, 24))};
  EXPECT_EQ(decode_tcp_address(encode(address)).interfaces, std::vector<IpAddress>(256, v4(10, 1, 2, 9, 24)));
}

TEST(TcpAddress, GreetingsAreDecodedOrRefused) {
  auto hello = encode(Hello{process(1), process(2)});
  EXPECT_EQ(decode_hello(hello).caller, process(1));
  EXPECT_EQ(decode_hello(hello).called, process(2));
  hello[7] = std::byte{9};
  EXPECT_THROW((void)decode_hello(hello), Error);
  const auto answer = encode(Answer{process(3)});
  EXPECT_EQ(decode_answer(answer).called, process(3));
  EXPECT_THROW((void)decode_answer(ConstByteSpan(hello).first(Answer::bytes)), Error);
}

}  // namespace
}  // namespace stretto::fabric::cluster::network
