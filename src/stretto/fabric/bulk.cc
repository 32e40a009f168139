#include "stretto/fabric/bulk.h"

#include <cstring>
#include <new>
#include <string>
#include <utility>

namespace stretto::fabric {

struct Bulk::Fetch final : Completion {
  Fetch(Bulk& owner, NodeId sender, const Offer& offered)
      : bulk(owner),
        from(sender),
        offer(offered),
        bytes(std::make_unique_for_overwrite<std::byte[]>(offered.bytes())) {}

  void complete(bool lost) noexcept override { bulk.arrived(*this, lost); }

  Bulk& bulk;
  NodeId from;
  Offer offer;
  std::unique_ptr<std::byte[]> bytes;
};

Bulk::Bulk(Endpoint& endpoint) : endpoint_(endpoint), handlers_(message_types, nullptr) {
  endpoint.set_handler(MessageType::bulk_offer, *this);
  endpoint.set_handler(MessageType::bulk_fetched, *this);
  endpoint.add_observer(*this);
}

Bulk::~Bulk() = default;

void Bulk::set_handler(MessageType type, MessageHandler& handler) {
  handlers_[static_cast<std::size_t>(type)] = &handler;
  endpoint_.set_handler(type, handler);
}

void Bulk::send(NodeId to, MessageType type, ConstByteSpan header, ConstByteSpan payload) {
  if (header.size() + payload.size() <= max_message_bytes) {
    endpoint_.send(to, type, header, payload);
    return;
  }
  if (endpoint_.gone(to)) return;
  const Offset offset = endpoint_.segment().allocate(header.size() + payload.size());
  std::byte* const place = endpoint_.segment().pointer(offset);
  if (!header.empty()) std::memcpy(place, header.data(), header.size());
  std::memcpy(place + header.size(), payload.data(), payload.size());
  offered_.emplace(offset, to);
  const Offer offer{offset, payload.size(), static_cast<std::uint32_t>(header.size()), type};
  endpoint_.send(to, MessageType::bulk_offer, bytes_of(offer), {});
}

void Bulk::on_message(const Message& message) {
  if (message.type == MessageType::bulk_offer) {
    accept(message.from, read_header<Offer>(message));
    return;
  }
  const auto offset = read_header<Offset>(message);
  const auto found = offered_.find(offset);
  if (found == offered_.end() || found->second != message.from) {
    throw Error(ErrorCode::bad_input, "node " + std::to_string(message.from) + " says it fetched offset " +
                                          std::to_string(offset) + ", which it was not offered");
  }
  offered_.erase(found);
  endpoint_.segment().release(offset);
}

void Bulk::accept(NodeId from, const Offer& offer) {
  const auto index = static_cast<std::size_t>(offer.type);
  if (index >= message_types || handlers_[index] == nullptr || offer.header_bytes > max_header_bytes ||
      offer.payload_bytes > endpoint_.segment().capacity()) {
    throw Error(ErrorCode::bad_input, "node " + std::to_string(from) + " offers a message that cannot be: type " +
                                          std::to_string(index) + ", " + std::to_string(offer.payload_bytes) +
                                          " bytes");
  }
  if (const std::byte* const place = endpoint_.peer_pointer(from, offer.offset, offer.bytes())) {
    deliver(from, offer, place);
    give_back(from, offer);
  } else {
    fetch(from, offer);
  }
}

void Bulk::fetch(NodeId from, const Offer& offer) {
  std::unique_ptr<Fetch> fetching;
  try {
    fetching = std::make_unique<Fetch>(*this, from, offer);
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::out_of_resources, "no memory for the " + std::to_string(offer.payload_bytes) +
                                                 " bytes that node " + std::to_string(from) + " sends");
  }
  Fetch& started = *fetching;
  fetches_.emplace(&started, std::move(fetching));
  endpoint_.get(from, offer.offset, {started.bytes.get(), offer.bytes()}, &started);
}

void Bulk::arrived(Fetch& fetch, bool lost) {
  const auto found = fetches_.find(&fetch);
  const std::unique_ptr<Fetch> done = std::move(found->second);
  fetches_.erase(found);
  if (lost) return;
  endpoint_.answer_for(done->from, [&] {
    give_back(done->from, done->offer);
    deliver(done->from, done->offer, done->bytes.get());
  });
}

void Bulk::deliver(NodeId from, const Offer& offer, const std::byte* bytes) {
  handlers_[static_cast<std::size_t>(offer.type)]->on_message(
      {from, offer.type, {bytes, offer.header_bytes}, {bytes + offer.header_bytes, offer.payload_bytes}});
}

// Its sender needs to keep it no longer.
void Bulk::give_back(NodeId from, const Offer& offer) {
  endpoint_.send(from, MessageType::bulk_fetched, bytes_of(offer.offset), {});
}

void Bulk::release_offers_to(NodeId peer) {
  for (auto it = offered_.begin(); it != offered_.end();) {
    if (it->second == peer) {
      endpoint_.segment().release(it->first);
      it = offered_.erase(it);
    } else {
      ++it;
    }
  }
}

}  // namespace stretto::fabric
