#pragma once

// What the sources of TcpCarrier share.

#include <sys/uio.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stretto/fabric/bootstrap/socket.h"
#include "stretto/fabric/cluster/tcp/frame_stream.h"
#include "stretto/fabric/cluster/tcp/socket.h"
#include "stretto/fabric/cluster/tcp/tcp_carrier.h"

namespace stretto::fabric::cluster::network {

/// What a carrier gives out: its links are connections.
class Connection {};

enum class Stage : std::uint8_t {
  dialing,  ///< the connection is being made
  asking,   ///< dialled, and waiting for the answer
  called,   ///< accepted, and waiting for the hello
  open,
};

inline std::string reason_of(int error) { return error == 0 ? "closed by the other end" : describe(error); }

inline iovec piece(ConstByteSpan bytes) { return {const_cast<std::byte*>(bytes.data()), bytes.size()}; }

/// A frame that has not left whole.
struct Unsent {
  FramePrefix prefix;
  ConstByteSpan header;
  ConstByteSpan data;
  std::vector<std::byte> own;  // instead of all these: what is left of a frame that nobody keeps
  std::size_t left;            // bytes
  Sending* sending;            // null: `own`

  void add_to(std::vector<iovec>& pieces) const {
    if (sending == nullptr) {
      pieces.push_back(piece(ConstByteSpan(own).last(left)));
      return;
    }
    std::size_t done = sizeof(FramePrefix) + header.size() + data.size() - left;
    for (const ConstByteSpan part : {ConstByteSpan(prefix), header, data}) {
      const std::size_t skipped = std::min(done, part.size());
      done -= skipped;
      if (skipped < part.size()) pieces.push_back(piece(part.subspan(skipped)));
    }
  }
};

/// One TCP connection.
struct TcpCarrier::Socket {
  Socket(Descriptor of, Stage first) : descriptor(std::move(of)), stage(first) {}

  Moved send_some(std::span<const iovec> pieces) { return network::send_some(descriptor, open_packet, pieces); }
  /// Whether anybody waits for it to be writable.
  bool wants_room() const noexcept;

  Descriptor descriptor;
  OpenPacket open_packet;
  Stage stage;
  Link* link = nullptr;  // null while `called`
  bool readable = false;
  bool writable = false;
  bool hung_up = false;        // the end of the stream is there to be read
  bool queued = false;         // in ready_
  bool deaf = false;           // what comes is no stream of frames
  bool has_come = false;       // anything, since that was last asked
  bool is_heard_late = false;  // wakes nobody before much has come
  bool holds_more = false;     // in the kernel
  int ticks = 0;               // while asking
  std::vector<std::byte> greeting;
  FrameReader reader;
};

/// All that joins this process to another one.
struct TcpCarrier::Link final : Connection {
  ProcessId process = {};
  ConnectionOwner* owner = nullptr;  // null: the other end made it, and nobody here has asked for it
  std::vector<IpAddress> untried;    // the next one last
  std::string trying;                // the address that is dialled, for people
  std::uint16_t port = 0;
  Socket* dialled = nullptr;
  Socket* accepted = nullptr;
  Socket* sends = nullptr;  // one of them, once it is open
  std::deque<Unsent> unsent;
  std::optional<std::string> broken;  // why nothing moves any more
  bool is_met = false;                // it was open once, or is broken
};

inline bool TcpCarrier::Socket::wants_room() const noexcept {
  return stage != Stage::open || link == nullptr || !link->unsent.empty();
}

}  // namespace stretto::fabric::cluster::network
