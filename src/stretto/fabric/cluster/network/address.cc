#include "stretto/fabric/cluster/network/address.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <system_error>

#include "stretto/base/error.h"

namespace stretto::fabric::cluster::network {
namespace {

constexpr std::array<std::byte, 8> magic = {std::byte{'s'}, std::byte{'t'}, std::byte{'r'}, std::byte{'n'},
                                            std::byte{'e'}, std::byte{'t'}, std::byte{0},   std::byte{wire_version}};
constexpr std::size_t fixed_bytes = magic.size() + sizeof(Nonce);

}  // namespace

std::vector<std::byte> encode_address(const Address& address) {
  std::vector<std::byte> bytes(fixed_bytes + address.carrier.size());
  auto at = std::copy(magic.begin(), magic.end(), bytes.begin());
  at = std::copy(address.nonce.begin(), address.nonce.end(), at);
  std::copy(address.carrier.begin(), address.carrier.end(), at);
  return bytes;
}

Address decode_address(ConstByteSpan published) {
  if (published.size() <= fixed_bytes || !std::equal(magic.begin(), magic.end(), published.begin())) {
    throw Error(ErrorCode::bad_input, "what a node published as its network address (" +
                                          std::to_string(published.size()) +
                                          " bytes) is none; run the same build of Stretto on all hosts");
  }
  Address address;
  std::copy_n(published.begin() + magic.size(), sizeof(Nonce), address.nonce.begin());
  address.carrier.assign(published.begin() + fixed_bytes, published.end());
  return address;
}

Nonce random_nonce() {
  Nonce nonce;
  ssize_t got = 0;
  do {
    got = getrandom(nonce.data(), nonce.size(), 0);
  } while (got < 0 && errno == EINTR);
  // Up to 256 bytes are never given in part.
  if (got != static_cast<ssize_t>(nonce.size())) {
    throw Error(ErrorCode::io, "no random numbers from the kernel: " + std::generic_category().message(errno));
  }
  return nonce;
}

}  // namespace stretto::fabric::cluster::network
