#include "conjugate_gradient/mailbox.h"

#include <string_view>

#include "stretto/core/extension.h"

namespace conjugate_gradient {
namespace {

using stretto::Event;
using stretto::Future;
using stretto::Node;
using stretto::NodeId;

constexpr std::string_view part_name = "conjugate_gradient mailbox";
constexpr int delivery_priority = 100;

// By reference, so that the values that came out of the message move on.
void deliver_letter(Node& node, NodeId from, std::uint64_t number, Mailbox::Values& values) {
  Mailbox::of(node).deliver(from, number, std::move(values));
}

const bool registered =
    stretto::register_extension([](Node& node) { node.attach(part_name, std::make_shared<Mailbox>(node)); });

}  // namespace

Mailbox::Mailbox(Node& node) : node_(node) { node.endpoint().add_observer(*this); }

Mailbox& Mailbox::of(Node& node) {
  static_cast<void>(registered);
  return *static_cast<Mailbox*>(node.part(part_name));
}

Event Mailbox::send(NodeId to, Values values) {
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    number = sent_[to]++;
  }
  return node_.spawn_on<&deliver_letter>(to, stretto::SpawnOptions().priority(delivery_priority), node_.id(), number,
                                         std::move(values));
}

Future<Mailbox::Letter> Mailbox::receive(NodeId from) {
  Awaited wanted{node_.events().create(), std::make_shared<Future<Letter>::State>()};
  const Future<Letter> future(wanted.arrived, wanted.content);
  stretto::Cause failure;
  {
    const std::lock_guard lock(mutex_);
    const Place place(from, received_[from]++);
    if (const auto found = arrived_.find(place); found != arrived_.end()) {
      wanted.content->value = std::move(found->second);
      arrived_.erase(found);
    } else if (lost_ != nullptr) {
      failure = lost_;
    } else {
      awaited_.emplace(place, std::move(wanted));
      return future;
    }
  }
  node_.events().complete(future.event(), failure);
  return future;
}

void Mailbox::deliver(NodeId from, std::uint64_t number, Values values) {
  auto letter = std::make_shared<const Values>(std::move(values));
  Event arrived;
  {
    const std::lock_guard lock(mutex_);
    const auto found = awaited_.find({from, number});
    if (found == awaited_.end()) {
      arrived_.emplace(Place(from, number), std::move(letter));
      return;
    }
    found->second.content->value = std::move(letter);
    arrived = found->second.arrived;
    awaited_.erase(found);
  }
  node_.events().complete(arrived);
}

void Mailbox::on_peer_lost(NodeId /*peer*/, const stretto::Error& cause) {
  const auto lost = std::make_shared<const stretto::Error>(stretto::ErrorCode::peer_lost, cause.message());
  std::map<Place, Awaited> hopeless;
  {
    const std::lock_guard lock(mutex_);
    if (lost_ == nullptr) lost_ = lost;
    hopeless.swap(awaited_);
  }
  for (const auto& [place, awaited] : hopeless) node_.events().complete(awaited.arrived, lost);
}

}  // namespace conjugate_gradient
