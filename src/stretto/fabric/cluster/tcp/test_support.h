#pragma once

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "stretto/fabric/cluster/network/fake_node.h"
#include "stretto/fabric/cluster/tcp/socket.h"
#include "stretto/fabric/cluster/tcp/tcp_carrier.h"

namespace stretto::fabric::cluster::network::test {

inline const std::string loopback = "lo";

/// One carrier, with all that it was told laid open.
struct End final : FrameSink, ConnectionOwner {
  ByteSpan place_for(Connection*, ConstByteSpan, std::size_t bytes) noexcept override {
    return bytes == place.size() ? ByteSpan(place) : ByteSpan();
  }
  void on_frame(Connection* from, ConstByteSpan header, ConstByteSpan data) noexcept override {
    last = from;
    frames.emplace_back(header.size(), data.size());
    last_data = data.data();
  }
  void on_no_frame(Connection*, const char* why) noexcept override { complaint = why; }
  void failed(const char* why) noexcept override { failure = why; }

  std::vector<std::byte> place;  // of frames with so many bytes of data
  std::vector<std::pair<std::size_t, std::size_t>> frames;
  const std::byte* last_data = nullptr;
  Connection* last = nullptr;
  std::string complaint;
  std::string failure;
  TcpCarrier carrier{*this, loopback};
};

inline bool drive(std::vector<End*> ends, const std::function<bool()>& done) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!done()) {
    for (End* const end : ends) end->carrier.progress();
    if (std::chrono::steady_clock::now() > limit) return false;
  }
  return true;
}

inline void say(const Descriptor& socket, ConstByteSpan bytes) {
  OpenPacket open;
  while (!bytes.empty()) {
    const iovec piece{const_cast<std::byte*>(bytes.data()), bytes.size()};
    bytes = bytes.subspan(send_some(socket, open, {&piece, 1}).bytes);
  }
}

inline Descriptor stranger_at(const End& end) {
  const TcpAddress address = decode_tcp_address(end.carrier.address());
  Descriptor socket = begin_connect(address.interfaces.at(0), address.port);
  EXPECT_TRUE(socket);
  return socket;
}

/// Whether the other end has hung up on a stranger.
inline bool hung_up(const Descriptor& socket) {
  std::byte b{};
  return receive_some(socket, {}, {&b, 1}).ended;
}

/// The same, of one that was greeted first.
inline bool hung_up_after_answer(const Descriptor& socket) {
  std::array<std::byte, 64> bytes{};
  return receive_some(socket, {}, bytes).ended;
}

inline ProcessId process(int number) {
  ProcessId id{};
  id.fill(std::byte(number));
  return id;
}

/// Both ends still find each other.
inline void expect_service(End& end) {
  End other;
  other.carrier.connect(end.carrier.address(), other);
  Connection* const connection = end.carrier.connect(other.carrier.address(), end);
  const std::size_t before = other.frames.size();
  ASSERT_TRUE(drive({&end, &other}, [&] { return end.carrier.try_send(connection, network_test::pattern(4, 1), {}); }));
  ASSERT_TRUE(drive({&end, &other}, [&] { return other.frames.size() == before + 1; }));
}

}  // namespace stretto::fabric::cluster::network::test
