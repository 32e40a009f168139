#include "stretto/fabric/endpoint.h"

#include <string>
#include <utility>

namespace stretto::fabric {

namespace {

/// By the endpoint's own functions.
class PlainWay final : public Way {
 public:
  PlainWay(Endpoint& endpoint, NodeId peer) noexcept : endpoint_(endpoint), peer_(peer) {}

  void send(MessageType type, ConstByteSpan header, ConstByteSpan payload) override {
    endpoint_.send(peer_, type, header, payload);
  }
  Received receive(const Awaited& awaited, MessageHandler& receiver) override {
    return endpoint_.receive_from(peer_, awaited, receiver);
  }

 private:
  Endpoint& endpoint_;
  NodeId peer_;
};

}  // namespace

Endpoint::Endpoint(NodeId self, std::uint32_t size, Context& context, std::unique_ptr<Segment> segment)
    : self_(self),
      size_(size),
      context_(context),
      segment_(std::move(segment)),
      handlers_(message_types, nullptr),
      lost_(size, false),
      left_(size, false) {}

void Endpoint::read_private(NodeId from, Offset /*source*/, ByteSpan /*destination*/) {
  throw Error(ErrorCode::internal, "the memory of node " + std::to_string(from) + " cannot be read from here");
}

std::optional<Offset> Endpoint::offset_for_peers(const void* address, std::size_t bytes) const {
  const std::int64_t offset = segment_->offset_of(address);
  if (offset < 0 || !segment_->contains(static_cast<Offset>(offset), bytes)) return std::nullopt;
  return static_cast<Offset>(offset);
}

void Endpoint::set_handler(MessageType type, MessageHandler& handler) {
  handlers_[static_cast<std::size_t>(type)] = &handler;
}

void Endpoint::add_observer(EndpointObserver& observer) { observers_.push_back(&observer); }

void Endpoint::lose(NodeId peer, const Error& cause) {
  if (lost_[peer]) return;
  lost_[peer] = true;
  disconnect(peer);
  for (EndpointObserver* const observer : observers_) observer->on_peer_lost(peer, cause);
}

void Endpoint::note_left(NodeId peer) {
  if (gone(peer)) return;
  left_[peer] = true;
  for (EndpointObserver* const observer : observers_) observer->on_peer_left(peer);
}

void Endpoint::note_ended(NodeId peer) {
  for (EndpointObserver* const observer : observers_) observer->on_peer_ended(peer);
}

void Endpoint::refuse_type(const Message& message) {
  throw Error(ErrorCode::bad_input, "message of unknown type " + std::to_string(static_cast<unsigned>(message.type)) +
                                        " from node " + std::to_string(message.from));
}

Error Endpoint::no_memory_for(NodeId from) {
  return {ErrorCode::out_of_resources, "no memory for a message of node " + std::to_string(from)};
}

void Endpoint::notify(NodeId from, Notification notification) {
  if (lost_[from]) return;
  for (EndpointObserver* const observer : observers_) observer->on_notification(from, notification);
}

void Endpoint::refuse_peer(NodeId peer) const {
  throw Error(ErrorCode::invalid_argument, "node " + std::to_string(peer) + " does not exist: the job has " +
                                               std::to_string(size_) + " nodes, numbered from 0");
}

void Endpoint::refuse_sizes(std::size_t header_bytes, std::size_t payload_bytes) {
  throw Error(ErrorCode::invalid_argument,
              "a message with a header of " + std::to_string(header_bytes) + " bytes and a payload of " +
                  std::to_string(payload_bytes) + " is too large: at most " + std::to_string(max_header_bytes) +
                  " and together " + std::to_string(max_message_bytes) + "; move more with put or get");
}

std::unique_ptr<Way> Endpoint::way_to(NodeId peer) {
  check_peer(peer);
  return std::make_unique<PlainWay>(*this, peer);
}

}  // namespace stretto::fabric
