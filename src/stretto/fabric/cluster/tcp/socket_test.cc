#include "stretto/fabric/cluster/tcp/socket.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cstring>
#include <string>

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

// Bites where the system's choice is BBR.
TEST(Socket, NeitherEndOfAConnectionIsPaced) {
  const IpAddress here = loopback();
  const ListeningSocket listening = listen_at(&here);
  const Descriptor caller = begin_connect(here, listening.port);
  ASSERT_TRUE(caller);
  pollfd called{listening.socket.number(), POLLIN, 0};
  ASSERT_EQ(poll(&called, 1, 10'000), 1);
  const Descriptor answerer = accept_next(listening.socket);
  ASSERT_TRUE(answerer);
  for (const Descriptor* end : {&caller, &answerer}) {
    EXPECT_NE(congestion_control_of(*end).substr(0, 3), "bbr");
  }
}

}  // namespace
}  // namespace stretto::fabric::cluster::network
