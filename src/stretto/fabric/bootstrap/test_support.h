#pragma once

#include <sys/socket.h>

#include <array>

#include "stretto/base/descriptor.h"
#include "stretto/fabric/bootstrap/socket.h"

namespace stretto::fabric::test {

/// Two connected sockets of this process.
struct SocketPair {
  Descriptor near;
  Descriptor far;

  SocketPair() {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) throw_io("socketpair");
    near = Descriptor(ends[0]);
    far = Descriptor(ends[1]);
  }
};

}  // namespace stretto::fabric::test
