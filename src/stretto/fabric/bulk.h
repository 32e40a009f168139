#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "stretto/fabric/endpoint.h"

namespace stretto::fabric {

/// Messages with a payload of any size, over an endpoint's small ones.
///
/// What fits goes as it is. For more the sender keeps the payload in its segment and *offers* it. The receiver hands it
/// to the handler as one message, from where it lies if it reaches that memory (whose owner might change it meanwhile),
/// else after fetching it by `get`; and says so, upon which the sender frees it. One per node, used under the baton.
class Bulk final : private MessageHandler, private EndpointObserver {
 public:
  explicit Bulk(Endpoint& endpoint);
  ~Bulk() override;

  /// Like Endpoint::send, but for any payload. Throws Error(out_of_resources) when the segment cannot hold it.
  void send(NodeId to, MessageType type, ConstByteSpan header, ConstByteSpan payload);

  /// Like Endpoint::set_handler, for messages sent by `send`.
  void set_handler(MessageType type, MessageHandler& handler);

 private:
  struct Fetch;

  struct Offer {
    std::uint64_t offset;
    std::uint64_t payload_bytes;
    std::uint32_t header_bytes;
    MessageType type;

    std::size_t bytes() const noexcept { return header_bytes + payload_bytes; }
  };

  void on_message(const Message& message) override;
  void on_notification(NodeId, Notification) override {}
  void on_peer_lost(NodeId peer, const Error& /*cause*/) override {
    if (!endpoint_.may_linger(peer)) release_offers_to(peer);
  }
  void on_peer_left(NodeId peer) override { release_offers_to(peer); }
  void on_peer_ended(NodeId peer) override { release_offers_to(peer); }
  void release_offers_to(NodeId peer);
  void accept(NodeId from, const Offer& offer);
  void fetch(NodeId from, const Offer& offer);
  void arrived(Fetch& fetch, bool lost);
  void deliver(NodeId from, const Offer& offer, const std::byte* bytes);
  void give_back(NodeId from, const Offer& offer);

  Endpoint& endpoint_;
  std::vector<MessageHandler*> handlers_;
  std::map<Offset, NodeId> offered_;                        // by where the payload lies: to whom
  std::map<const Fetch*, std::unique_ptr<Fetch>> fetches_;  // determinism: looked up, never walked
};

}  // namespace stretto::fabric
