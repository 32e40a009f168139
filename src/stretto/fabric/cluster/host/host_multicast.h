#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "stretto/fabric/cluster/host/control.h"
#include "stretto/fabric/cluster/host/host_peer.h"
#include "stretto/fabric/cluster/host/ring_writer.h"
#include "stretto/fabric/multicast.h"

namespace stretto::fabric::cluster {

class HostMulticast;

/// This node's rings that several peers read. Who sends to several asks for one; where all are taken, that of who has
/// not sent for a while is called back. Owned by the HostTransport; used under the node's baton.
class MulticastRings {
 public:
  /// How often one is asked for in vain before it is looked whether any rests.
  static constexpr std::uint32_t refusals_between_looks = 64;

  struct Ring {
    RingWriter writer;
    HostMulticast* user = nullptr;
    std::vector<HostPeer*> readers;
    bool is_made = false;
    bool is_to_end = false;  ///< its readers have not been told yet that its user is done with it
    bool has_sent = false;   ///< since it was last looked whether it rests
    bool is_retired = false;
  };
  /// Sends to one peer, if that is there, by the edge to it. Throws nothing.
  using SendToOne = std::function<void(HostPeer&, std::uint8_t kind, ConstByteSpan header, ConstByteSpan payload)>;

  /// `place`: this node's, among those of the host.
  MulticastRings(Control& control, std::uint32_t place, SendToOne send_to_one)
      : control_(control), place_(place), send_to_one_(std::move(send_to_one)) {}

  /// What sends to `peers`, the same one for all who ask for these.
  std::shared_ptr<Multicast> to(std::vector<HostPeer*> peers);
  /// What a peer that is lost or has left has not read keeps nobody waiting. `may_read`: it is not known to be gone.
  /// Nothing is written then where it goes on reading.
  void forget(const HostPeer& peer, bool may_read) noexcept;

 private:
  friend class HostMulticast;

  void take(HostMulticast& user) noexcept;
  void begin(Ring& ring, HostMulticast& user);
  void give_back(Ring& ring);
  bool reads_on(const HostPeer& peer, const Ring& ring) const noexcept;
  static bool is_free(Ring& ring);
  static void retire(Ring& ring) noexcept;
  static void try_to_end(Ring& ring);
  static bool write(Ring& ring, std::uint8_t kind, ConstByteSpan header, ConstByteSpan payload) noexcept;
  void call_back_who_rests();
  void make(Ring& ring);
  std::uint32_t number_of(const Ring& ring) const noexcept { return static_cast<std::uint32_t>(&ring - rings_.data()); }
  const ConsumedCounter& counter_of(const HostPeer& peer, const Ring& ring) const noexcept;
  void tell_begin(HostPeer& peer, const Ring& ring);

  Control& control_;
  std::uint32_t place_;
  SendToOne send_to_one_;
  std::array<Ring, multicast_rings> rings_;
  std::uint32_t refusals_ = 0;
  std::vector<std::weak_ptr<HostMulticast>> known_;
  std::array<std::shared_ptr<HostMulticast>, multicast_rings> recent_;  // that were made; who asks again finds them
  std::uint32_t made_ = 0;
};

/// What goes to several peers of this host: by a ring that all of them read, while it has one with room, otherwise to
/// one after the other. So does the first message: a ring is for who sends again.
class HostMulticast final : public Multicast {
 public:
  HostMulticast(MulticastRings& rings, std::vector<HostPeer*> peers) : rings_(rings), peers_(std::move(peers)) {}
  ~HostMulticast() override {
    if (ring_ != nullptr) rings_.give_back(*ring_);
  }

  [[gnu::hot]] void send(MessageType type, ConstByteSpan header, ConstByteSpan payload) override {
    const auto kind = static_cast<std::uint8_t>(type);
    if (ring_ != nullptr) {
      ring_->has_sent = true;
      if (MulticastRings::write(*ring_, kind, header, payload)) return;
    }
    send_otherwise(kind, header, payload);
  }

 private:
  friend class MulticastRings;

  void send_otherwise(std::uint8_t kind, ConstByteSpan header, ConstByteSpan payload);

  MulticastRings& rings_;
  std::vector<HostPeer*> peers_;
  MulticastRings::Ring* ring_ = nullptr;
  bool has_sent_ = false;
};

}  // namespace stretto::fabric::cluster
