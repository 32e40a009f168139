#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "stretto/base/bytes.h"

namespace stretto::fabric::cluster::network {

/// Chosen at random by each process, and published through the bootstrap only.
using ProcessId = std::array<std::byte, 16>;

/// An address of an interface, and how many of its leading bits name the network that it is on.
struct IpAddress {
  bool is_v6 = false;
  std::uint8_t network_bits = 0;
  std::array<std::byte, 16> bytes = {};  ///< in network order; of version 4 the first four

  std::string text() const;
  friend auto operator<=>(const IpAddress&, const IpAddress&) = default;
};

/// Whether `own`, an interface of this host, is on the network of `other`.
bool on_one_network(const IpAddress& own, const IpAddress& other) noexcept;

/// Where a process listens.
struct TcpAddress {
  ProcessId process = {};
  std::uint16_t port = 0;
  std::vector<IpAddress> interfaces;
};

/// Of a host with more than 256 interfaces, the first ones.
std::vector<std::byte> encode(const TcpAddress& address);
/// Throws Error(bad_input).
TcpAddress decode_tcp_address(ConstByteSpan bytes);

/// The interfaces of `theirs` in the order in which to try them from a host with the interfaces `own`: those that are
/// on a network of ours, then the others, loopbacks at the end, since each host has its own.
std::vector<IpAddress> by_nearness(const std::vector<IpAddress>& theirs, const std::vector<IpAddress>& own);

/// The first bytes of a connection: who dials, and whom.
struct Hello {
  static constexpr std::size_t bytes = 40;
  ProcessId caller = {};
  ProcessId called = {};
};

/// What the dialled process answers: that it is the one.
struct Answer {
  static constexpr std::size_t bytes = 24;
  ProcessId called = {};
};

std::array<std::byte, Hello::bytes> encode(const Hello& hello) noexcept;
std::array<std::byte, Answer::bytes> encode(const Answer& answer) noexcept;
/// Throw Error(bad_input) for what is none of this version. REQUIRES: just so many bytes.
Hello decode_hello(ConstByteSpan bytes);
Answer decode_answer(ConstByteSpan bytes);

}  // namespace stretto::fabric::cluster::network
