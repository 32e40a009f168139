#pragma once

#include <cstddef>
#include <vector>

#include "stretto/base/bytes.h"
#include "stretto/fabric/cluster/network/frame.h"

namespace stretto::fabric::cluster::network {

/// What a node publishes through the bootstrap, so that nodes of other hosts can connect to it.
struct Address {
  Nonce nonce = {};
  std::vector<std::byte> carrier;  ///< the carrier's own part: network devices and ports
};

std::vector<std::byte> encode_address(const Address& address);
/// Throws Error(bad_input) for what is no address of this version. The carrier judges its own part when it connects.
Address decode_address(ConstByteSpan published);

/// A nonce that nobody guesses. Throws Error(io).
Nonce random_nonce();

}  // namespace stretto::fabric::cluster::network
