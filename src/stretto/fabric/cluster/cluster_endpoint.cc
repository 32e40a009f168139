#include "stretto/fabric/cluster/cluster_endpoint.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "stretto/base/arena.h"

namespace stretto::fabric {

namespace {

// How often a node that polls asks the launcher for news; one that sleeps is woken by them.
constexpr std::uint32_t passes_between_questions = 8192;

/// Runs a function under the baton, after whatever holds it now.
template <class Function>
struct Posted : Item {
  explicit Posted(Function later) : Item(&Posted::arrive), function(std::move(later)) {}

  static void arrive(Item* item) noexcept {
    auto* const posted = static_cast<Posted*>(item);
    Function function = std::move(posted->function);
    arena::destroy(posted);
    function();
  }

  Function function;
};

}  // namespace

template <class Function>
void ClusterEndpoint::post(Function function) {
  context().post(arena::make<Posted<Function>>(std::move(function)));
}

ClusterEndpoint::ClusterEndpoint(Bootstrap& bootstrap, Context& context, std::unique_ptr<Segment> segment)
    : Endpoint(bootstrap.rank(), bootstrap.size(), context, std::move(segment)),
      bootstrap_(bootstrap),
      route_(bootstrap.size(), nullptr),
      transport_of_(bootstrap.size(), nullptr) {
  if (bootstrap_.failure_descriptor() >= 0) watcher_.add(bootstrap_.failure_descriptor(), 0);
}

ClusterEndpoint::~ClusterEndpoint() = default;

void ClusterEndpoint::add_transport(std::unique_ptr<cluster::Transport> transport, std::span<const NodeId> peers) {
  for (const NodeId peer : peers) route_[peer] = transport_of_[peer] = transport.get();
  watcher_.add(transport->descriptor(), 0);
  transports_.push_back(std::move(transport));
}

void ClusterEndpoint::open() { open_ = true; }

[[gnu::hot]] void ClusterEndpoint::send(NodeId to, MessageType type, ConstByteSpan header, ConstByteSpan payload) {
  check_send(to, header, payload);
  if (cluster::Transport* const transport = route_to(to)) {
    count_request();
    transport->send(to, type, header, payload);
  } else if (to == self()) {
    send_to_self(type, header, payload);
  }
}

void ClusterEndpoint::send_to_self(MessageType type, ConstByteSpan header, ConstByteSpan payload) {
  std::vector<std::byte> bytes(header.begin(), header.end());
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  post([this, type, header_bytes = header.size(), bytes = std::move(bytes)] {
    const ConstByteSpan all(bytes);
    deliver({self(), type, all.first(header_bytes), all.subspan(header_bytes)});
  });
}

std::unique_ptr<Way> ClusterEndpoint::way_to(NodeId peer) {
  check_peer(peer);
  cluster::Transport* const transport = transport_of_[peer];
  std::unique_ptr<Way> way = transport == nullptr ? nullptr : transport->way_to(peer, request_count());
  return way == nullptr ? Endpoint::way_to(peer) : std::move(way);
}

std::shared_ptr<Multicast> ClusterEndpoint::multicast_to(std::span<const NodeId> peers) {
  for (const NodeId peer : peers) check_peer(peer);
  cluster::Transport* const transport = peers.empty() ? nullptr : transport_of_[peers.front()];
  const bool reaches_all = transport != nullptr && std::all_of(peers.begin(), peers.end(), [&](NodeId peer) {
                             return transport_of_[peer] == transport;
                           });
  return reaches_all ? transport->multicast_to(peers) : nullptr;
}

void ClusterEndpoint::put(NodeId to, Offset target, ConstByteSpan source, Notification notification,
                          Completion* completion) {
  check_peer(to);
  if (cluster::Transport* const transport = route_to(to)) {
    count_request();
    transport->put(to, target, source, notification, completion);
  } else if (to == self() && !lost(to)) {
    put_to_self(target, source, notification, completion);
  } else if (completion != nullptr) {
    complete_later(completion, true);
  }
}

void ClusterEndpoint::get(NodeId from, Offset source, ByteSpan destination, Completion* completion) {
  check_peer(from);
  if (cluster::Transport* const transport = route_to(from)) {
    count_request();
    transport->get(from, source, destination, completion);
  } else if (from == self() && !lost(from)) {
    get_from_self(source, destination, completion);
  } else {
    complete_later(completion, true);
  }
}

void ClusterEndpoint::put_to_self(Offset target, ConstByteSpan source, Notification notification,
                                  Completion* completion) {
  const std::optional<ByteSpan> place = window(self(), target, source.size());
  if (place) {
    if (!source.empty()) std::memmove(place->data(), source.data(), source.size());
    post([this, notification] { notify(self(), notification); });
  }
  if (completion != nullptr) complete_later(completion, !place);
}

void ClusterEndpoint::get_from_self(Offset source, ByteSpan destination, Completion* completion) {
  const std::optional<ByteSpan> place = window(self(), source, destination.size());
  if (place && !destination.empty()) std::memmove(destination.data(), place->data(), destination.size());
  complete_later(completion, !place);
}

bool ClusterEndpoint::maps(NodeId peer) const {
  const cluster::Transport* const transport = transport_of_[peer];
  return transport == nullptr || transport->maps();
}

bool ClusterEndpoint::can_receive_from(NodeId peer) const {
  const cluster::Transport* const transport = transport_of_[peer];
  return transport != nullptr && transport->can_receive_from();
}

std::byte* ClusterEndpoint::peer_pointer(NodeId peer, Offset offset, std::size_t bytes) {
  check_peer(peer);
  // Also of a peer that is gone: its memory stays where it was mapped.
  if (cluster::Transport* const transport = transport_of_[peer]) return transport->peer_pointer(peer, offset, bytes);
  return segment().contains(offset, bytes) ? segment().pointer(offset) : nullptr;
}

bool ClusterEndpoint::reads(NodeId peer) const noexcept {
  const cluster::Transport* const transport = transport_of_[peer];
  return transport != nullptr && transport->reads(peer);
}

bool ClusterEndpoint::is_read_by(NodeId peer) const noexcept {
  const cluster::Transport* const transport = transport_of_[peer];
  return transport != nullptr && transport->is_read_by(peer);
}

void ClusterEndpoint::read_private(NodeId from, Offset source, ByteSpan destination) {
  check_peer(from);
  if (!reads(from)) return Endpoint::read_private(from, source, destination);
  transport_of_[from]->read_private(from, source, destination);
}

[[gnu::hot]] bool ClusterEndpoint::progress() {
  bool happened = false;
  for (const auto& transport : transports_) happened |= transport->progress();
  if (++passes_ >= passes_between_questions || look_at_bootstrap_.load(std::memory_order_relaxed)) {
    passes_ = 0;
    look_at_bootstrap_.store(false, std::memory_order_relaxed);
    happened |= ask_bootstrap();
  }
  return happened;
}

// What nobody told us, and what only the launcher knows.
bool ClusterEndpoint::ask_bootstrap() {
  if (!open_) return false;
  bool happened = false;
  for (const auto& [peer, cause] : std::exchange(early_, {})) {
    on_peer_lost(peer, cause);
    happened = true;
  }
  if (launcher_lost_) return happened;
  try {
    for (const PeerLoss& loss : bootstrap_.lost_peers()) {
      happened = true;
      // Of a peer of this host the kernel tells us itself, after its last words.
      if (transport_of_[loss.rank] == nullptr || transport_of_[loss.rank]->sees_death()) continue;
      on_peer_lost(loss.rank, Error(ErrorCode::peer_lost, "node " + std::to_string(loss.rank) + ": " + loss.reason));
    }
  } catch (const Error& error) {
    launcher_lost_ = true;
    happened = true;
    if (bootstrap_.failure_descriptor() >= 0) watcher_.remove(bootstrap_.failure_descriptor());
    for (NodeId peer = 0; peer < size(); ++peer) {
      if (peer != self()) on_peer_lost(peer, error);
    }
  }
  return happened;
}

bool ClusterEndpoint::arm(Alarm alarm) {
  if (Context::serving()) return false;
  bool armed = false;
  // Who holds the baton may find something to do.
  context().try_enter([&] { armed = arm_transports(alarm); });
  return armed;
}

bool ClusterEndpoint::arm_transports(Alarm alarm) {
  if (!early_.empty()) return false;
  for (std::size_t i = 0; i < transports_.size(); ++i) {
    if (transports_[i]->arm(alarm)) continue;
    while (i > 0) transports_[--i]->disarm();
    return false;
  }
  return true;
}

void ClusterEndpoint::disarm() {
  for (const auto& transport : transports_) transport->disarm();
  look_at_bootstrap_.store(true, std::memory_order_relaxed);
}

bool ClusterEndpoint::let_flow() {
  bool flows = false;
  if (Context::serving()) return flows;
  context().try_enter([&] {
    for (const auto& transport : transports_) flows |= transport->let_flow();
  });
  return flows;
}

bool ClusterEndpoint::flushed() const {
  return std::all_of(transports_.begin(), transports_.end(), [](const auto& one) { return one->flushed(); });
}

void ClusterEndpoint::leave() {
  for (const auto& transport : transports_) transport->leave();
  std::fill(route_.begin(), route_.end(), nullptr);
}

bool ClusterEndpoint::left() const {
  return std::all_of(transports_.begin(), transports_.end(), [](const auto& one) { return one->left(); });
}

void ClusterEndpoint::disconnect(NodeId peer) {
  route_[peer] = nullptr;
  if (transport_of_[peer] != nullptr) transport_of_[peer]->disconnect(peer);
}

std::optional<ByteSpan> ClusterEndpoint::window(NodeId from, Offset offset, std::uint64_t bytes) {
  if (segment().contains(offset, bytes)) return ByteSpan(segment().pointer(offset), bytes);
  on_peer_lost(from,
               Error(ErrorCode::bad_input, "node " + std::to_string(from) + " asked for " + std::to_string(bytes) +
                                               " bytes at offset " + std::to_string(offset) +
                                               ", outside of the allocated segment of node " + std::to_string(self())));
  return std::nullopt;
}

void ClusterEndpoint::complete_later(Completion* completion, bool lost) {
  if (!deaf_) post([completion, lost] { completion->complete(lost); });
}

void ClusterEndpoint::on_peer_lost(NodeId peer, const Error& cause) {
  if (!open_) {
    early_.emplace_back(peer, cause);
    look_at_bootstrap_.store(true, std::memory_order_relaxed);
  } else if (deaf_) {
    disconnect(peer);
  } else if (!gone(peer)) {
    lose(peer, cause);
  }
}

void ClusterEndpoint::lose_later(NodeId peer, const Error& cause) {
  route_[peer] = nullptr;
  if (!open_) return on_peer_lost(peer, cause);  // who hears of it then does so later in any case
  post([this, peer, cause] { on_peer_lost(peer, cause); });
}

void ClusterEndpoint::on_peer_left(NodeId peer) {
  route_[peer] = nullptr;
  if (!deaf_) note_left(peer);
}

void ClusterEndpoint::on_peer_ended(NodeId peer) {
  if (!deaf_) note_ended(peer);
}

bool ClusterEndpoint::may_linger(NodeId peer) const {
  return transport_of_[peer] != nullptr && transport_of_[peer]->may_linger(peer);
}

}  // namespace stretto::fabric
