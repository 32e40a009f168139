#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "stretto/fabric/endpoint.h"
#include "stretto/fabric/local/reach.h"

namespace stretto::fabric {

class InProcessEndpoint;

/// Something on its way between two nodes of one process. Runs at the target, under the target's baton, and
/// frees itself; a parcel that never arrives is freed by `discard`.
struct Parcel : Item {
  using Discard = void (*)(Parcel*) noexcept;

  Parcel(Run run_function, Discard discard_function, InProcessEndpoint& from_endpoint,
         InProcessEndpoint& to_endpoint) noexcept
      : Item(run_function), discard(discard_function), from(from_endpoint), to(to_endpoint) {}

  Discard discard;
  InProcessEndpoint& from;
  InProcessEndpoint& to;
};

/// Brings parcels to their target: at once (`local`) or later, in virtual time, or never (`sim`).
class Carrier {
 public:
  virtual ~Carrier() = default;
  /// Takes the parcel; `bytes` is what a network would carry. Called under the sender's baton.
  virtual void carry(Parcel* parcel, std::size_t bytes) = 0;
  /// The same, of what leaves at once with the parcel that this sender gave last, since it is alike.
  virtual void carry_along(Parcel* parcel, std::size_t bytes) { carry(parcel, bytes); }
  /// Whether that is any different, between those two.
  virtual bool carries_along(NodeId /*from*/, NodeId /*to*/) const { return false; }
  /// A parcel on its way from `from` that has come by now, since its target looks for it; null: there is none. Called
  /// under the target's baton.
  virtual Parcel* look_for(NodeId /*from*/, NodeId /*to*/) { return nullptr; }
  /// Whether it ever finds one.
  virtual bool looks() const { return false; }
};

/// The endpoint of a node whose peers live in the same process.
///
/// Where segments are reached, put, get and peer_pointer touch them; otherwise every byte travels in a parcel and is
/// validated by its target.
class InProcessEndpoint final : public Endpoint {
 public:
  InProcessEndpoint(NodeId self, std::uint32_t size, Context& context, std::unique_ptr<Segment> segment,
                    Carrier& carrier, Reach reach);

  /// All endpoints of the job, this one included, by node. Before first use.
  void connect(std::vector<InProcessEndpoint*> peers) { peers_ = std::move(peers); }

  void send(NodeId to, MessageType type, ConstByteSpan header, ConstByteSpan payload) override;
  std::shared_ptr<Multicast> multicast_to(std::span<const NodeId> peers) override;
  void put(NodeId to, Offset target, ConstByteSpan source, Notification notification, Completion* completion) override;
  void get(NodeId from, Offset source, ByteSpan destination, Completion* completion) override;
  bool maps(NodeId) const override { return maps(); }
  std::byte* peer_pointer(NodeId peer, Offset offset, std::size_t bytes) override;
  std::optional<Offset> offset_for_peers(const void* address, std::size_t bytes) const override;
  bool reads(NodeId) const noexcept override { return reach_ == Reach::reads; }
  bool is_read_by(NodeId peer) const noexcept override { return reads(peer); }
  void read_private(NodeId from, Offset source, ByteSpan destination) override;
  bool progress() override { return false; }
  Received receive_from(NodeId peer, const Awaited& awaited, MessageHandler& receiver) override;
  bool can_receive_from(NodeId) const override { return carrier_.looks(); }

 protected:
  void disconnect(NodeId peer) override;

 private:
  class OneForSeveral;
  struct MessageParcel;
  struct PutParcel;
  struct GetRequest;
  struct GetReply;
  struct Completed;
  struct Goodbye;

  // A get that waits for its reply. The reply names it by number, so that a late one harms nothing.
  struct PendingGet {
    NodeId from;
    ByteSpan destination;
    Completion* completion;
  };

  MessageParcel* make_message(NodeId to, MessageType type, ConstByteSpan header, ConstByteSpan payload);
  bool maps() const { return reach_ != Reach::messages; }
  void complete_later(Completion* completion, bool lost);
  void reject(NodeId from, const char* what, Offset offset, std::size_t bytes);

  Carrier& carrier_;
  Reach reach_;
  std::vector<InProcessEndpoint*> peers_;
  std::map<std::uint64_t, PendingGet> gets_;
  std::uint64_t next_get_ = 0;
};

}  // namespace stretto::fabric
