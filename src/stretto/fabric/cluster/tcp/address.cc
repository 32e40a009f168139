#include "stretto/fabric/cluster/tcp/address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "stretto/base/error.h"
#include "stretto/fabric/bootstrap/wire.h"

namespace stretto::fabric::cluster::network {
namespace {

using Magic = std::array<std::byte, 8>;

constexpr Magic magic_of(char kind) noexcept {
  return {std::byte{'s'}, std::byte{'t'}, std::byte{'r'},  std::byte{'t'},
          std::byte{'c'}, std::byte{'p'}, std::byte(kind), std::byte{1}};
}

constexpr Magic address_magic = magic_of('a');
constexpr Magic hello_magic = magic_of('h');
constexpr Magic answer_magic = magic_of('y');
constexpr std::size_t most_interfaces = 256;

// Copies the parts one behind the other.
template <std::size_t size, class... Parts>
std::array<std::byte, size> joined(const Parts&... parts) noexcept {
  std::array<std::byte, size> bytes{};
  auto at = bytes.begin();
  ((at = std::copy(parts.begin(), parts.end(), at)), ...);
  return bytes;
}

void expect_magic(WireReader& reader, const Magic& magic, const char* what) {
  if (reader.array<sizeof(Magic)>() != magic) throw Error(ErrorCode::bad_input, std::string("this is no ") + what);
}

bool is_loopback(const IpAddress& address) noexcept {
  if (!address.is_v6) return address.bytes[0] == std::byte{127};
  return std::all_of(address.bytes.begin(), address.bytes.end() - 1, [](std::byte b) { return b == std::byte{0}; });
}

}  // namespace

std::string IpAddress::text() const {
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(is_v6 ? AF_INET6 : AF_INET, bytes.data(), text.data(), text.size());
  return text.data();
}

bool on_one_network(const IpAddress& own, const IpAddress& other) noexcept {
  if (own.is_v6 != other.is_v6) return false;
  const std::size_t whole = own.network_bits / 8U;
  if (!std::equal(own.bytes.begin(), own.bytes.begin() + static_cast<std::ptrdiff_t>(whole), other.bytes.begin())) {
    return false;
  }
  const unsigned rest = own.network_bits % 8U;
  if (rest == 0) return true;
  const auto mask = static_cast<std::byte>(0xFF00U >> rest);
  return ((own.bytes[whole] ^ other.bytes[whole]) & mask) == std::byte{0};
}

std::vector<std::byte> encode(const TcpAddress& address) {
  WireWriter writer;
  writer.raw(address_magic);
  writer.raw(address.process);
  writer.number(address.port);
  const std::span<const IpAddress> told(address.interfaces.data(),
                                        std::min(address.interfaces.size(), most_interfaces));
  writer.number(static_cast<std::uint16_t>(told.size()));
  for (const IpAddress& interface : told) {
    writer.number(static_cast<std::uint8_t>(interface.is_v6 ? 6 : 4));
    writer.number(interface.network_bits);
    writer.raw(interface.bytes);
  }
  return std::move(writer.bytes());
}

TcpAddress decode_tcp_address(ConstByteSpan bytes) {
  WireReader reader(bytes);
  expect_magic(reader, address_magic, "address of a process that uses TCP; use one STRETTO_NETWORK on all hosts");
  TcpAddress address;
  address.process = reader.array<sizeof(ProcessId)>();
  address.port = reader.number<std::uint16_t>();
  const auto count = reader.number<std::uint16_t>();
  if (count > most_interfaces) throw Error(ErrorCode::bad_input, "an address names more interfaces than hosts have");
  for (std::size_t i = 0; i < count; ++i) {
    IpAddress interface;
    const auto version = reader.number<std::uint8_t>();
    interface.is_v6 = version == 6;
    interface.network_bits = reader.number<std::uint8_t>();
    interface.bytes = reader.array<16>();
    if ((version != 4 && version != 6) || interface.network_bits > (interface.is_v6 ? 128 : 32)) {
      throw Error(ErrorCode::bad_input, "an address names an interface of no known kind");
    }
    address.interfaces.push_back(interface);
  }
  reader.finish();
  return address;
}

std::vector<IpAddress> by_nearness(const std::vector<IpAddress>& theirs, const std::vector<IpAddress>& own) {
  const auto distance = [&](const IpAddress& address) {
    if (is_loopback(address)) return 2;
    const auto near = [&](const IpAddress& one) { return on_one_network(one, address); };
    return std::any_of(own.begin(), own.end(), near) ? 0 : 1;
  };
  std::vector<IpAddress> sorted;
  for (const int wanted : {0, 1, 2}) {
    std::copy_if(theirs.begin(), theirs.end(), std::back_inserter(sorted),
                 [&](const IpAddress& address) { return distance(address) == wanted; });
  }
  return sorted;
}

std::array<std::byte, Hello::bytes> encode(const Hello& hello) noexcept {
  return joined<Hello::bytes>(hello_magic, hello.caller, hello.called);
}

std::array<std::byte, Answer::bytes> encode(const Answer& answer) noexcept {
  return joined<Answer::bytes>(answer_magic, answer.called);
}

Hello decode_hello(ConstByteSpan bytes) {
  WireReader reader(bytes);
  expect_magic(reader, hello_magic, "hello");
  Hello hello;
  hello.caller = reader.array<sizeof(ProcessId)>();
  hello.called = reader.array<sizeof(ProcessId)>();
  return hello;
}

Answer decode_answer(ConstByteSpan bytes) {
  WireReader reader(bytes);
  expect_magic(reader, answer_magic, "answer to a hello");
  return {reader.array<sizeof(ProcessId)>()};
}

}  // namespace stretto::fabric::cluster::network
