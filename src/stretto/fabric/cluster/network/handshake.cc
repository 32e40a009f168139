#include "stretto/fabric/cluster/network/handshake.h"

#include <string>

#include "stretto/base/error.h"

namespace stretto::fabric::cluster::network {

Greeting Handshake::greeting() noexcept {
  told_ = told_ || verified_;
  return {self_, verified_, own_, peers_};
}

bool Handshake::receive(const Greeting& greeting) {
  if (greeting.node != peer_ || greeting.sender != peers_) {
    throw Error(ErrorCode::bad_input, "the process at the address of node " + std::to_string(peer_) +
                                          " is not that node: it calls itself node " + std::to_string(greeting.node) +
                                          (greeting.node == peer_ ? " of another job" : ""));
  }
  if (greeting.receiver != own_) {
    throw Error(ErrorCode::bad_input, "node " + std::to_string(peer_) +
                                          " greets another process than this one: its record of node " +
                                          std::to_string(self_) + " is stale");
  }
  verified_ = true;
  open_ = open_ || greeting.known;
  return !told_;
}

}  // namespace stretto::fabric::cluster::network
