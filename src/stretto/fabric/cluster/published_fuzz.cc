// Whatever a peer has published, or says first on a connection: what it is written as again, or an Error(bad_input).

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "stretto/base/fuzz.h"
#include "stretto/fabric/cluster/host/introduction.h"
#include "stretto/fabric/cluster/network/address.h"
#include "stretto/fabric/cluster/tcp/address.h"

namespace {

using namespace stretto;
using namespace stretto::fabric;
using namespace stretto::fabric::cluster;
using fuzz::are_the_same;
using fuzz::require;
using fuzz::text_of;

network::IpAddress interface_of(bool is_v6, std::uint8_t network_bits) { return {is_v6, network_bits, {}}; }

void read_card(fuzz::Input& input) {
  static const std::string good = text_of(bytes_of(make_card("name", Secret{}, least_ring_lines, 1000)));
  const std::string changed = input.edited(good);
  fuzz::takes([&] {
    const HostCard card = parse_card(std::as_bytes(std::span(changed)));
    require(card.socket_name().size() <= card.name.size() && valid_ring_lines(card.ring_lines));
  });
}

void read_network_address(fuzz::Input& input) {
  static const std::string good = text_of(network::encode_address({{}, std::vector<std::byte>(3)}));
  const std::string changed = input.edited(good);
  const ConstByteSpan bytes = std::as_bytes(std::span(changed));
  fuzz::takes([&] { require(are_the_same(network::encode_address(network::decode_address(bytes)), bytes)); });
}

void read_tcp_address(fuzz::Input& input) {
  static const std::vector interfaces = {interface_of(false, 24), interface_of(true, 64)};
  static const std::string good = text_of(network::encode(network::TcpAddress{{}, 4000, interfaces}));
  const std::string changed = input.edited(good);
  const ConstByteSpan bytes = std::as_bytes(std::span(changed));
  fuzz::takes([&] {
    const network::TcpAddress address = network::decode_tcp_address(bytes);
    require(are_the_same(network::encode(address), bytes));
    require(network::by_nearness(address.interfaces, interfaces).size() == address.interfaces.size());
    for (const network::IpAddress& interface : address.interfaces) {
      require(interface.network_bits <= (interface.is_v6 ? 128 : 32));
      require(network::on_one_network(interface, interface) && !interface.text().empty());
    }
  });
}

// Their size is known before they are read.
void read_first_words(fuzz::Input& input) {
  const auto hello = network::encode(network::Hello{});
  std::string changed = input.edited(text_of(hello));
  changed.resize(network::Hello::bytes);
  const ConstByteSpan bytes = std::as_bytes(std::span(changed));
  fuzz::takes([&] { require(are_the_same(network::encode(network::decode_hello(bytes)), bytes)); });
  const ConstByteSpan shorter = bytes.first(network::Answer::bytes);
  fuzz::takes([&] { require(are_the_same(network::encode(network::decode_answer(shorter)), shorter)); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  fuzz::Input input(bytes, size);
  switch (input.below(4)) {
    case 0: read_card(input); break;
    case 1: read_network_address(input); break;
    case 2: read_tcp_address(input); break;
    default: read_first_words(input);
  }
  return 0;
}
