#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "stretto/base/descriptor.h"
#include "stretto/base/mapping.h"
#include "stretto/base/page.h"
#include "stretto/fabric/cluster/host/ring_size.h"

namespace stretto::fabric::cluster {

/// The most nodes of one job on one host.
inline constexpr std::uint32_t max_host_nodes = 1024;

/// How many rings of a node's several peers can read, each all of what is in it.
inline constexpr std::uint32_t multicast_rings = 4;

/// The part of a node's control memory that its peers write, too.
struct SharedPage {
  /// Set by a node that is about to sleep; whoever clears it rings its doorbell.
  alignas(64) std::atomic<std::uint32_t> armed;
  /// A bit for each node of the host, in order of rank, that has begun to send to this one.
  alignas(64) std::atomic<std::uint64_t> senders[max_host_nodes / 64];
  /// Likewise, that reads the memory of this one's process.
  alignas(64) std::atomic<std::uint64_t> readers[max_host_nodes / 64];
};
static_assert(sizeof(SharedPage) <= 4096);  // the least page

/// Where the lines of a ring begin among those of all rings of a control memory, and how many they are.
struct RingPlace {
  std::size_t first;
  std::uint32_t lines;
};

/// Where things are in a control memory: the shared page, then what its owner alone writes: a ConsumedCounter for each
/// ring that it may read, and its own rings, two for each node of the host (see edge.h) and those for several.
struct ControlLayout {
  std::uint32_t nodes;  ///< of the host
  std::uint32_t ring_lines;
  std::uint32_t short_lines = short_ring_lines();

  std::size_t counters_at() const noexcept { return page_bytes(); }
  std::size_t rings_at() const noexcept {
    const std::size_t end = counters_at() + nodes * (2 + multicast_rings) * sizeof(ConsumedCounter);
    return (end + page_bytes() - 1) / page_bytes() * page_bytes();
  }
  std::size_t lines() const noexcept {
    return std::size_t{nodes} * short_lines + (std::size_t{nodes} + multicast_rings) * ring_lines;
  }
  std::size_t bytes() const noexcept { return rings_at() + lines() * sizeof(RingLine); }

  // Which counter, and which ring.
  std::uint32_t counter_of_short(std::uint32_t node) const noexcept { return node; }
  std::uint32_t counter_of(std::uint32_t node) const noexcept { return nodes + node; }
  std::uint32_t counter_of_multicast(std::uint32_t node, std::uint32_t ring) const noexcept {
    return 2 * nodes + node * multicast_rings + ring;
  }
  RingPlace short_ring_to(std::uint32_t node) const noexcept { return {std::size_t{node} * short_lines, short_lines}; }
  RingPlace ring_to(std::uint32_t node) const noexcept {
    return {std::size_t{nodes} * short_lines + std::size_t{node} * ring_lines, ring_lines};
  }
  RingPlace multicast_ring(std::uint32_t ring) const noexcept { return ring_to(nodes + ring); }
};

/// This node's control memory and doorbell, owned by its HostTransport and passed to each peer of the host.
///
/// Sparse: a ring is backed when its edge is made.
class Control {
 public:
  /// Throws Error(out_of_resources).
  explicit Control(const ControlLayout& layout);

  SharedPage& shared() noexcept { return *reinterpret_cast<SharedPage*>(mapping_.at(0)); }
  /// `counter`: as the layout says.
  ConsumedCounter& consumed(std::uint32_t counter) noexcept {
    return reinterpret_cast<ConsumedCounter*>(mapping_.at(layout_.counters_at()))[counter];
  }
  /// Backs a ring by memory and returns its lines, all zero. Throws Error(out_of_resources).
  RingLine* make_ring(const RingPlace& ring);

  const ControlLayout& layout() const noexcept { return layout_; }
  int memory() const noexcept { return memory_.number(); }
  int doorbell() const noexcept { return doorbell_.number(); }

 private:
  ControlLayout layout_;
  Descriptor memory_;
  Descriptor doorbell_;
  Mapping mapping_;
};

/// A peer's control memory, segment and doorbell as they are mapped here. Stays mapped until this process is done with
/// the job, also when the peer is lost.
class PeerMemory {
 public:
  /// Takes what a peer passed, after checking that no peer can turn our accesses into signals: sealed memory of at
  /// least the announced size, and a doorbell that doesn't block. Throws Error(bad_input), Error(out_of_resources).
  PeerMemory(Descriptor control, Descriptor segment, Descriptor doorbell, const ControlLayout& layout,
             std::size_t segment_bytes);

  SharedPage& shared() const noexcept { return *reinterpret_cast<SharedPage*>(shared_.at(0)); }
  const ConsumedCounter& consumed(std::uint32_t counter) const noexcept {
    return reinterpret_cast<const ConsumedCounter*>(counters_.at(0))[counter];
  }
  /// Only to read and to claim.
  RingLine* ring(const RingPlace& ring) const noexcept {
    return reinterpret_cast<RingLine*>(rings_.at(0)) + ring.first;
  }
  const ControlLayout& layout() const noexcept { return layout_; }

  /// The peer's segment from `offset` on, or null when not all of [offset, offset + bytes) is backed by memory: the
  /// kernel says so, not the peer. Any thread.
  std::byte* segment(std::uint64_t offset, std::uint64_t bytes) noexcept {
    const std::uint64_t backed = backed_.load(std::memory_order_relaxed);
    const bool is_backed = (bytes <= backed && offset <= backed - bytes) || is_backed_by_now(offset, bytes);
    return is_backed ? segment_.at(offset) : nullptr;
  }

  /// Wakes the peer if it sleeps. What it is to see was stored before.
  void ring_if_armed() noexcept {
    show_stores();
    ring_if_seen_armed();
  }
  /// The two halves of that. The fence orders our stores before the look at `armed`, as the sleeper's orders `armed`
  /// before its last look.
  static void show_stores() noexcept { std::atomic_thread_fence(std::memory_order_seq_cst); }
  void ring_if_seen_armed() noexcept {
    if (shared().armed.load(std::memory_order_relaxed) != 0) ring_doorbell();
  }

 private:
  bool is_backed_by_now(std::uint64_t offset, std::uint64_t bytes) noexcept;
  void ring_doorbell() noexcept;

  ControlLayout layout_;
  Descriptor segment_memory_;
  Descriptor doorbell_;
  Mapping shared_;
  Mapping counters_;  // read-only here
  Mapping rings_;
  Mapping segment_;
  std::size_t segment_bytes_;
  std::atomic<std::uint64_t> backed_{0};
};

}  // namespace stretto::fabric::cluster
