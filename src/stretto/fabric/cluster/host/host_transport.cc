#include "stretto/fabric/cluster/host/host_transport.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "stretto/fabric/bootstrap/socket.h"

namespace stretto::fabric::cluster {

namespace {

// Tags of the watcher: what kind of thing is readable, and of which place.
constexpr std::uint64_t tag_door = 0;
constexpr std::uint64_t tag_doorbell = 1;
constexpr std::uint64_t tag_peer = 2;

constexpr std::uint64_t tag_of_peer(std::uint32_t place) noexcept { return tag_peer + place; }

// While a peer is too busy to take a call, its descriptor says nothing: try again after a while.
constexpr int retry_ms = 1;

bool is_readable(const Descriptor& descriptor) noexcept {
  pollfd query{descriptor.number(), POLLIN, 0};
  return descriptor && poll(&query, 1, 0) == 1;
}

}  // namespace

HostTransport::HostTransport(NodeId self, Segment& segment, const HostOptions& options, TransportSink& sink)
    : self_(self),
      segment_(segment),
      options_(options),
      sink_(sink),
      secret_(make_secret()),
      door_(watcher_, tag_door, secret_) {
  if (!valid_ring_lines(options.ring_lines)) {
    throw Error(ErrorCode::invalid_argument,
                "ring_lines is " + std::to_string(options.ring_lines) + "; it must be a power of two from " +
                    std::to_string(least_ring_lines) + " to " + std::to_string(most_ring_lines));
  }
}

std::vector<std::byte> HostTransport::address() {
  const HostCard card = make_card(door_.name(), secret_, options_.ring_lines, segment_.capacity());
  const ConstByteSpan bytes = bytes_of(card);
  return {bytes.begin(), bytes.end()};
}

// Every node of the host makes the same list, so that a place means the same node to all.
std::vector<HostPeer> HostTransport::list_peers(std::span<const NodeId> peers, const AddressOf& address_of) const {
  std::vector<NodeId> nodes(peers.begin(), peers.end());
  nodes.push_back(self_);
  std::sort(nodes.begin(), nodes.end());
  if (nodes.size() > max_host_nodes) {
    throw Error(ErrorCode::not_supported, std::to_string(nodes.size()) +
                                              " nodes of the job are on this host; at most " +
                                              std::to_string(max_host_nodes) + " can share one");
  }
  std::vector<HostPeer> list(nodes.size());
  for (std::uint32_t place = 0; place < nodes.size(); ++place) {
    list[place].node = nodes[place];
    list[place].place = place;
    if (nodes[place] == self_) continue;
    try {
      list[place].card = parse_card(address_of(nodes[place]));
    } catch (const Error& error) {
      throw Error(error.code(), "node " + std::to_string(nodes[place]) + ": " + error.message());
    }
  }
  return list;
}

void HostTransport::start(std::span<const NodeId> peers, AddressOf address_of) {
  peers_ = list_peers(peers, address_of);
  peer_of_.assign(peers_.back().node + std::size_t{1}, nullptr);
  for (HostPeer& peer : peers_) peer_of_[peer.node] = &peer;
  place_ = peer_of(self_).place;
  control_ = std::make_unique<Control>(ControlLayout{static_cast<std::uint32_t>(peers_.size()), options_.ring_lines});
  shared_ = &control_->shared();
  multicasts_ = std::make_unique<MulticastRings>(
      *control_, place_,
      [this](HostPeer& peer, std::uint8_t kind, ConstByteSpan header, ConstByteSpan payload) noexcept {
        send_to(peer, kind, header, payload);
      });
  sender_words_ = (peers_.size() + 63) / 64;
  watcher_.add(control_->doorbell(), tag_doorbell);
  const auto is_peer = [this](NodeId node) {
    return node < peer_of_.size() && node != self_ && peer_of_[node] != nullptr;
  };
  door_.open(is_peer, {control_->memory(), segment_.descriptor(), control_->doorbell()});
  std::vector<HostPeer*> unknown;
  for (HostPeer& peer : peers_) {
    if (peer.node != self_) unknown.push_back(&peer);
  }
  for (auto first = peers_.begin();;) {
    call_on_all(unknown);
    // Who was introduced once stays so.
    first = std::find_if_not(first, peers_.end(), [this](const HostPeer& peer) { return introduced(peer); });
    if (first == peers_.end()) break;
    look_around(!unknown.empty() || door_.retry_later() ? retry_ms : -1);
  }
  door_.close();
  starting_ = false;
}

// Both have seen each other: from then on each one's end is seen by the other.
bool HostTransport::introduced(const HostPeer& peer) const {
  if (peer.node == self_ || peer.ended) return true;
  return peer.standing == Standing::present && door_.served(peer.node);
}

// Leaves those on whom to call again.
void HostTransport::call_on_all(std::vector<HostPeer*>& unknown) {
  std::erase_if(unknown, [this](HostPeer* peer) {
    Connection connection = call_on(peer->card, self_);
    if (connection.outcome == Outcome::later) return false;
    note_call(*peer, std::move(connection));
    return true;
  });
}

void HostTransport::note_call(HostPeer& peer, Connection connection) {
  peer.standing = Standing::called;
  if (connection.outcome == Outcome::closed) {
    end(peer, gone(peer, "nobody listens at its socket"));
    return;
  }
  peer.connection = std::move(connection.socket);
  watcher_.add(peer.connection.number(), tag_of_peer(peer.place));
  watch_process(peer);
}

// Where the kernel has nothing to offer for that, its connection alone tells of its end.
void HostTransport::watch_process(HostPeer& peer) {
  if (peer.card.process == getpid()) return;  // a node of this process, as in tests
  const auto process = static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(peer.card.process), 0));
  if (process >= 0) {
    peer.process = Descriptor(process);
    watcher_.add(process, tag_of_peer(peer.place));
  } else if (errno == ESRCH) {
    end(peer, gone(peer, "its process has ended"));
  } else if (is_shortage(errno)) {
    throw_io("cannot watch the process of node " + std::to_string(peer.node));
  }
}

bool HostTransport::look_around(int timeout_ms) {
  std::array<std::uint64_t, 64> tags;
  const std::size_t count = watcher_.wait(tags, timeout_ms);
  // Also unasked: a caller for whom there was no room is not readable.
  bool happened = starting_ && door_.serve();
  for (std::size_t i = 0; i < count; ++i) {
    if (tags[i] >= tag_peer) happened |= hear_from(peers_[tags[i] - tag_peer]);
  }
  if (starting_) return happened;
  for (const auto& [peer, cause] : std::exchange(ended_, {})) end(*peer, cause);
  return happened;
}

// The peer's connection or its pidfd is readable.
bool HostTransport::hear_from(HostPeer& peer) {
  if (peer.lingers) return await_end(peer);
  bool happened = false;
  while (peer.connection && !peer.ended) {
    Answer answer = read_answer(peer.connection.number());
    switch (answer.kind) {
      case Answer::Kind::nothing:
        // The connection outlives the process when a child of it holds on to the other end.
        if (!is_readable(peer.process)) return happened;
        end(peer, gone(peer, "its process has ended"));
        break;
      case Answer::Kind::welcome: meet(peer, std::move(answer.welcome)); break;
      case Answer::Kind::goodbye: peer.said_goodbye = true; break;
      case Answer::Kind::closed: end(peer, gone(peer, "its connection is closed")); break;
      case Answer::Kind::cut_off:
        if (!starting_) {
          end(peer, fault(peer, "it sent a packet that is none of ours"));
          break;
        }
        throw Error(ErrorCode::out_of_resources,
                    "cannot open the shared memory of node " + std::to_string(peer.node) +
                        ": each peer of the host takes five descriptors; raise the limit of open files (ulimit -n)");
      case Answer::Kind::bad: end(peer, fault(peer, "it sent a packet that is none of ours")); break;
    }
    happened = true;
  }
  return happened;
}

// A peer that hears of its loss fails what it does with this node, and closes the connection.
bool HostTransport::await_end(HostPeer& peer) {
  const Answer::Kind kind = read_answer(peer.connection.number()).kind;
  const bool has_ended = kind == Answer::Kind::closed || (kind == Answer::Kind::nothing && is_readable(peer.process));
  if (!has_ended) return false;
  peer.lingers = false;
  unwatch(peer);
  sink_.on_peer_ended(peer.node);
  return true;
}

void HostTransport::meet(HostPeer& peer, Welcome welcome) {
  if (peer.standing != Standing::called) {
    end(peer, fault(peer, "it introduced itself twice"));
    return;
  }
  const ControlLayout layout{static_cast<std::uint32_t>(peers_.size()), peer.card.ring_lines};
  try {
    peer.memory = std::make_unique<PeerMemory>(std::move(welcome.control), std::move(welcome.segment),
                                               std::move(welcome.doorbell), layout, peer.card.segment_bytes);
  } catch (const Error& error) {
    end(peer, Error(error.code(), "node " + std::to_string(peer.node) + ": " + error.message()));
    return;
  }
  peer.multicasts.reserve(multicast_rings);  // so that to begin one takes no memory
  peer.outbox.emplace(*peer.memory, bells_, sink_, options_.direct);
  peer.reader = {RingReader(peer.memory->ring(layout.short_ring_to(place_)), layout.short_lines,
                            &control_->consumed(control_->layout().counter_of_short(peer.place))),
                 RingReader(peer.memory->ring(layout.ring_to(place_)), layout.ring_lines,
                            &control_->consumed(control_->layout().counter_of(peer.place)))};
  peer.standing = Standing::present;
  peer.is_read = can_read(peer);
  if (peer.is_read) {
    peer.memory->shared().readers[place_ / 64].fetch_or(std::uint64_t{1} << (place_ % 64), std::memory_order_relaxed);
  }
}

bool HostTransport::can_read(const HostPeer& peer) const {
  if (!options_.direct || options_.process_reads == ProcessReads::off) return false;
  if (options_.process_reads == ProcessReads::automatic && !are_process_reads_fast()) return false;
  return peer.card.private_memory().is_readable();
}

// The end of a peer, in good order or not. Until `start` has returned nobody is there to hear of it.
void HostTransport::end(HostPeer& peer, const Error& cause) {
  peer.ended = true;
  unwatch(peer);
  if (starting_) {
    ended_.emplace_back(&peer, cause);
    return;
  }
  // All that it wrote before the end is in its rings: nothing of a peer's last words is lost.
  notice_senders();
  while (is_noticed(peer) && peer.has_whole_message()) receive(peer);
  if (peer.standing == Standing::lost) return;
  if (peer.said_goodbye) {
    let_go(peer, Standing::left);
    sink_.on_peer_left(peer.node);
  } else {
    sink_.on_peer_lost(peer.node, cause);
  }
}

Error HostTransport::gone(const HostPeer& peer, const std::string& evidence) {
  return {ErrorCode::peer_lost, "node " + std::to_string(peer.node) + " (process " + std::to_string(peer.card.process) +
                                    " of this host) is gone: " + evidence};
}

Error HostTransport::fault(const HostPeer& peer, const std::string& what) {
  return {ErrorCode::bad_input, "node " + std::to_string(peer.node) + " broke the protocol: " + what};
}

void HostTransport::disconnect(NodeId node) {
  HostPeer& peer = peer_of(node);
  if (peer.standing == Standing::lost) return;
  let_go(peer, Standing::lost);
  door_.dismiss(node);  // which tells it, if it lives
}

void HostTransport::let_go(HostPeer& peer, Standing standing) {
  peer.lingers = standing == Standing::lost && !peer.ended;
  multicasts_->forget(peer, peer.lingers);
  peer.standing = standing;
  peer.ended = true;
  if (!peer.lingers) unwatch(peer);
  if (peer.outbox) peer.outbox->drop();
  peer.waiting = false;
  std::erase(waiting_, &peer);
  for (const auto& [id, get] : std::exchange(peer.gets, {})) sink_.complete_later(get.completion, true);
}

void HostTransport::unwatch(HostPeer& peer) {
  if (peer.connection) watcher_.remove(peer.connection.number());
  if (peer.process) watcher_.remove(peer.process.number());
  peer.connection.reset();
  peer.process.reset();
}

bool HostTransport::arm(Alarm /*alarm*/) {
  if (control_ == nullptr) return true;
  SharedPage& shared = control_->shared();
  // Old rings are taken off before arming: one that comes later belongs to this sleep.
  eventfd_t ignored = 0;
  eventfd_read(control_->doorbell(), &ignored);
  shared.armed.store(1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!anything_to_do()) return true;
  shared.armed.store(0, std::memory_order_relaxed);
  return false;
}

void HostTransport::disarm() {
  if (control_ != nullptr) control_->shared().armed.store(0, std::memory_order_relaxed);
  look_around_.store(true, std::memory_order_relaxed);
}

void HostTransport::leave() {
  door_.leave();
  for (HostPeer& peer : peers_) {
    if (peer.standing == Standing::present) let_go(peer, Standing::left);
  }
}

}  // namespace stretto::fabric::cluster
