#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "stretto/fabric/cluster/host/control.h"
#include "stretto/fabric/cluster/host/edge.h"
#include "stretto/fabric/cluster/host/introduction.h"
#include "stretto/fabric/cluster/host/outbox.h"

namespace stretto::fabric::cluster {

/// Where a peer of the host stands.
enum class Standing : std::uint8_t {
  unknown,  ///< to be called on
  called,   ///< has not answered yet
  present,  ///< its memory is mapped here
  left,     ///< said goodbye
  lost,     ///< died, or was declared lost
};

/// A ring of a peer's that several nodes read, this one among them.
struct MulticastReader {
  std::uint64_t ring;
  RingReader reader;
};

/// A get whose bytes were asked for by message.
struct PendingGet {
  ByteSpan destination;
  std::uint64_t received = 0;
  Completion* completion = nullptr;
};

/// What a HostTransport knows of one peer. What is mapped stays mapped, whatever becomes of the peer: operations may be
/// touching it.
struct HostPeer {
  NodeId node = 0;
  std::uint32_t place = 0;  ///< among the nodes of the host, by rank
  Standing standing = Standing::unknown;
  HostCard card;
  Descriptor connection;  ///< ours to it: ends when it dies
  Descriptor process;     ///< its pidfd, where the kernel has them and it is a process of its own
  std::unique_ptr<PeerMemory> memory;
  std::optional<Outbox> outbox;
  EdgeReader reader;                        ///< of the rings that only this node reads
  std::vector<MulticastReader> multicasts;  ///< not changed while one of them is read
  bool said_goodbye = false;
  bool ended = false;      ///< its end was noticed, or it is lost; nothing that it says counts
  bool lingers = false;    ///< is lost, but may not have heard of it: its connection tells when it has
  bool edge_made = false;  ///< our rings towards it exist
  bool waiting = false;    ///< its outbox is on the transport's list
  bool is_read = false;    ///< its memory that is not shared
  std::map<std::uint64_t, PendingGet> gets;

  /// Whether one has begun to come.
  bool has_message() const noexcept {
    return standing == Standing::present && (reader.current().ready() || (!multicasts.empty() && has_multicast()));
  }
  /// Whether one can be taken now.
  bool has_whole_message() const noexcept {
    const auto is_whole = [](const MulticastReader& each) { return each.reader.whole(); };
    return standing == Standing::present &&
           (reader.current().whole() || std::any_of(multicasts.begin(), multicasts.end(), is_whole));
  }
  bool has_multicast() const noexcept { return ready_multicast() < multicasts.size(); }
  /// The first of those in which one has begun to come; their number when there is none.
  std::size_t ready_multicast() const noexcept {
    std::size_t at = 0;
    while (at < multicasts.size() && !multicasts[at].reader.ready()) ++at;
    return at;
  }
};

}  // namespace stretto::fabric::cluster
