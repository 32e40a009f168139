#include "stretto/fabric/local/in_process_endpoint.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "stretto/base/arena.h"

namespace stretto::fabric {

// Header and payload follow the parcel in its block.
struct InProcessEndpoint::MessageParcel : Parcel {
  MessageParcel(InProcessEndpoint& sender, InProcessEndpoint& target, MessageType message_type, ConstByteSpan header,
                ConstByteSpan payload) noexcept
      : Parcel(&MessageParcel::arrive, &MessageParcel::discard_block, sender, target),
        type(message_type),
        header_bytes(static_cast<std::uint32_t>(header.size())),
        payload_bytes(static_cast<std::uint32_t>(payload.size())) {
    if (!header.empty()) std::memcpy(data(), header.data(), header.size());
    copy_bytes(data() + header.size(), payload);
  }

  static void arrive(Item* item) noexcept {
    auto* const parcel = static_cast<MessageParcel*>(item);
    parcel->to.deliver(parcel->message());
    discard_block(parcel);
  }

  Message message() noexcept {
    return {from.self(), type, {data(), header_bytes}, {data() + header_bytes, payload_bytes}};
  }

  static void discard_block(Parcel* parcel) noexcept {
    const auto* const message = static_cast<MessageParcel*>(parcel);
    arena::release(parcel, sizeof(MessageParcel) + message->header_bytes + message->payload_bytes);
  }

  std::byte* data() noexcept { return reinterpret_cast<std::byte*>(this + 1); }

  MessageType type;
  std::uint32_t header_bytes;
  std::uint32_t payload_bytes;
};

namespace {

template <class T>
void discard_heap(Parcel* parcel) noexcept {
  delete static_cast<T*>(parcel);
}

}  // namespace

// The data are already there (empty `data`) or come along.
struct InProcessEndpoint::PutParcel : Parcel {
  PutParcel(InProcessEndpoint& sender, InProcessEndpoint& receiver, Offset offset, ConstByteSpan source,
            Notification value)
      : Parcel(&PutParcel::arrive, &discard_heap<PutParcel>, sender, receiver),
        target(offset),
        notification(value),
        data(source.begin(), source.end()) {}

  static void arrive(Item* item) noexcept {
    const std::unique_ptr<PutParcel> parcel(static_cast<PutParcel*>(item));
    InProcessEndpoint& to = parcel->to;
    const NodeId from = parcel->from.self();
    if (to.lost(from)) return;
    if (!to.segment().contains(parcel->target, parcel->data.size())) {
      to.reject(from, "put", parcel->target, parcel->data.size());
      return;
    }
    copy_bytes(to.segment().pointer(parcel->target), parcel->data);
    to.notify(from, parcel->notification);
  }

  Offset target;
  Notification notification;
  std::vector<std::byte> data;
};

struct InProcessEndpoint::GetReply : Parcel {
  GetReply(InProcessEndpoint& owner, InProcessEndpoint& asker, std::uint64_t get_id, ConstByteSpan bytes)
      : Parcel(&GetReply::arrive, &discard_heap<GetReply>, owner, asker),
        id(get_id),
        data(bytes.begin(), bytes.end()) {}

  static void arrive(Item* item) noexcept {
    const std::unique_ptr<GetReply> reply(static_cast<GetReply*>(item));
    const auto found = reply->to.gets_.find(reply->id);
    if (found == reply->to.gets_.end()) return;  // its owner was declared lost in between
    const PendingGet get = found->second;
    reply->to.gets_.erase(found);
    copy_bytes(get.destination.data(), reply->data);
    get.completion->complete(false);
  }

  std::uint64_t id;
  std::vector<std::byte> data;
};

struct InProcessEndpoint::GetRequest : Parcel {
  GetRequest(InProcessEndpoint& asker, InProcessEndpoint& owner, Offset offset, std::size_t byte_count,
             std::uint64_t get_id)
      : Parcel(&GetRequest::arrive, &discard_heap<GetRequest>, asker, owner),
        source(offset),
        bytes(byte_count),
        id(get_id) {}

  static void arrive(Item* item) noexcept {
    const std::unique_ptr<GetRequest> request(static_cast<GetRequest*>(item));
    InProcessEndpoint& owner = request->to;
    const NodeId asker = request->from.self();
    if (owner.lost(asker)) return;
    if (!owner.segment().contains(request->source, request->bytes)) {
      owner.reject(asker, "get", request->source, request->bytes);
      return;
    }
    const ConstByteSpan data(owner.segment().pointer(request->source), request->bytes);
    owner.carrier_.carry(new GetReply(owner, request->from, request->id, data), data.size());
  }

  Offset source;
  std::size_t bytes;
  std::uint64_t id;
};

struct InProcessEndpoint::Completed : Item {
  Completed(Completion* done, bool was_lost) noexcept : Item(&Completed::arrive), completion(done), lost(was_lost) {}

  static void arrive(Item* item) noexcept {
    auto* const completed = static_cast<Completed*>(item);
    Completion* const completion = completed->completion;
    const bool lost = completed->lost;
    arena::destroy(completed);
    completion->complete(lost);
  }

  Completion* completion;
  bool lost;
};

struct InProcessEndpoint::Goodbye : Parcel {
  Goodbye(InProcessEndpoint& leaver, InProcessEndpoint& left)
      : Parcel(&Goodbye::arrive, &discard_heap<Goodbye>, leaver, left) {}

  static void arrive(Item* item) noexcept {
    const std::unique_ptr<Goodbye> goodbye(static_cast<Goodbye*>(item));
    const NodeId peer = goodbye->from.self();
    goodbye->to.lose(peer, Error(ErrorCode::peer_lost, "node " + std::to_string(peer) + " closed the connection"));
  }
};

InProcessEndpoint::InProcessEndpoint(NodeId self, std::uint32_t size, Context& context,
                                     std::unique_ptr<Segment> segment, Carrier& carrier, Reach reach)
    : Endpoint(self, size, context, std::move(segment)), carrier_(carrier), reach_(reach) {}

void InProcessEndpoint::send(NodeId to, MessageType type, ConstByteSpan header, ConstByteSpan payload) {
  check_send(to, header, payload);
  if (!lost(to)) carrier_.carry(make_message(to, type, header, payload), header.size() + payload.size());
}

InProcessEndpoint::MessageParcel* InProcessEndpoint::make_message(NodeId to, MessageType type, ConstByteSpan header,
                                                                  ConstByteSpan payload) {
  void* const block = arena::allocate(sizeof(MessageParcel) + header.size() + payload.size());
  return ::new (block) MessageParcel(*this, *peers_[to], type, header, payload);
}

// A parcel for each, which leave together.
class InProcessEndpoint::OneForSeveral final : public Multicast {
 public:
  OneForSeveral(InProcessEndpoint& from, std::span<const NodeId> peers)
      : from_(from), peers_(peers.begin(), peers.end()) {}

  void send(MessageType type, ConstByteSpan header, ConstByteSpan payload) override {
    bool is_first = true;
    for (const NodeId peer : peers_) {
      if (from_.lost(peer)) continue;
      MessageParcel* const parcel = from_.make_message(peer, type, header, payload);
      const std::size_t bytes = header.size() + payload.size();
      std::exchange(is_first, false) ? from_.carrier_.carry(parcel, bytes) : from_.carrier_.carry_along(parcel, bytes);
    }
  }

 private:
  InProcessEndpoint& from_;
  std::vector<NodeId> peers_;
};

std::shared_ptr<Multicast> InProcessEndpoint::multicast_to(std::span<const NodeId> peers) {
  for (const NodeId peer : peers) check_peer(peer);
  const bool can_be = std::all_of(peers.begin(), peers.end(), [this](NodeId peer) {
    return peer != self() && carrier_.carries_along(self(), peer);
  });
  return can_be && !peers.empty() ? std::make_shared<OneForSeveral>(*this, peers) : nullptr;
}

Received InProcessEndpoint::receive_from(NodeId peer, const Awaited& awaited, MessageHandler& receiver) {
  Parcel* const parcel = carrier_.look_for(peer, self());
  if (parcel == nullptr) return Received::nothing;
  if (parcel->run != &MessageParcel::arrive) {
    parcel->run(parcel);
    return Received::something;
  }
  const Message message = static_cast<MessageParcel*>(parcel)->message();
  Received received = Received::something;
  if (!lost(peer)) {
    if (awaited.foreseen != nullptr && awaited.foreseen->is(message)) {
      copy_bytes(awaited.foreseen->payload.data(), message.payload);
      received = Received::foreseen;
    } else {
      receiver.on_message(message);
    }
  }
  parcel->discard(parcel);
  return received;
}

void InProcessEndpoint::put(NodeId to, Offset target, ConstByteSpan source, Notification notification,
                            Completion* completion) {
  check_peer(to);
  if (lost(to)) {
    if (completion != nullptr) complete_later(completion, true);
    return;
  }
  InProcessEndpoint& peer = *peers_[to];
  const bool in_place = maps() && peer.segment().contains(target, source.size());
  if (in_place) copy_bytes(peer.segment().pointer(target), source);
  carrier_.carry(new PutParcel(*this, peer, target, in_place ? ConstByteSpan() : source, notification), source.size());
  if (completion != nullptr) complete_later(completion, false);
}

void InProcessEndpoint::get(NodeId from, Offset source, ByteSpan destination, Completion* completion) {
  check_peer(from);
  if (lost(from)) {
    complete_later(completion, true);
    return;
  }
  InProcessEndpoint& peer = *peers_[from];
  if (maps() && peer.segment().contains(source, destination.size())) {
    copy_bytes(destination.data(), {peer.segment().pointer(source), destination.size()});
    complete_later(completion, false);
    return;
  }
  const std::uint64_t id = next_get_++;
  gets_.emplace(id, PendingGet{from, destination, completion});
  carrier_.carry(new GetRequest(*this, peer, source, destination.size(), id), sizeof(Offset) * 2);
}

std::byte* InProcessEndpoint::peer_pointer(NodeId peer, Offset offset, std::size_t bytes) {
  check_peer(peer);
  const Segment& segment = peers_[peer]->segment();
  const bool in_place = reach_ == Reach::everything || (maps() && segment.contains(offset, bytes));
  return in_place ? segment.pointer(offset) : nullptr;
}

// All addresses may be the peers' own, too: an offset from the segment's start, though it may lie far outside.
std::optional<Offset> InProcessEndpoint::offset_for_peers(const void* address, std::size_t bytes) const {
  if (reach_ == Reach::messages) return std::nullopt;
  if (reach_ != Reach::everything) return Endpoint::offset_for_peers(address, bytes);
  return reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(segment().pointer(0));
}

void InProcessEndpoint::read_private(NodeId from, Offset source, ByteSpan destination) {
  check_peer(from);
  if (!reads(from)) return Endpoint::read_private(from, source, destination);
  copy_bytes(destination.data(), {reinterpret_cast<const std::byte*>(private_address(source)), destination.size()});
}

void InProcessEndpoint::disconnect(NodeId peer) {
  for (auto it = gets_.begin(); it != gets_.end();) {
    if (it->second.from == peer) {
      complete_later(it->second.completion, true);
      it = gets_.erase(it);
    } else {
      ++it;
    }
  }
  if (peer != self()) carrier_.carry(new Goodbye(*this, *peers_[peer]), 0);
}

void InProcessEndpoint::complete_later(Completion* completion, bool lost) {
  context().post(arena::make<Completed>(completion, lost));
}

void InProcessEndpoint::reject(NodeId from, const char* what, Offset offset, std::size_t bytes) {
  lose(from, Error(ErrorCode::bad_input, "node " + std::to_string(from) + " asked for a " + what + " of " +
                                             std::to_string(bytes) + " bytes at offset " + std::to_string(offset) +
                                             ", outside of the allocated segment of node " + std::to_string(self())));
}

}  // namespace stretto::fabric
