#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/base/bytes.h"
#include "stretto/base/descriptor.h"

namespace stretto::fabric::cluster {

// Non-blocking sockets of this host that keep packets whole, deliver them in order and carry descriptors.

/// Listens under a name of the kernel's choice, returned in `name`, in the abstract namespace (no file is left behind).
/// Throws Error(out_of_resources).
Descriptor listen_locally(std::string& name);

enum class Outcome : std::uint8_t { done, later, closed, cut_off };

struct Connection {
  Outcome outcome;  ///< `later`: the listener is busy, try again; `closed`: nobody listens
  Descriptor socket;
};
/// Throws Error(out_of_resources).
Connection connect_locally(std::string_view name);

/// Who is at the other end, by the kernel's word.
struct Credentials {
  pid_t process = 0;
  uid_t user = 0;
};
Credentials credentials_of(int socket) noexcept;

/// `later`: no room, for the packet or for descriptors in flight.
Outcome send_packet(int socket, ConstByteSpan bytes, std::span<const int> descriptors = {});

/// What a packet of ours carries at most; one of somebody else's may arrive with more.
inline constexpr std::size_t max_passed = 3;

struct Packet {
  Outcome outcome = Outcome::later;  ///< `later`: none there; `cut_off`: too long, or descriptors could not be opened
  std::vector<std::byte> bytes;
  std::vector<Descriptor> descriptors;
};
inline constexpr std::size_t max_packet_bytes = 256;
Packet receive_packet(int socket);

}  // namespace stretto::fabric::cluster
