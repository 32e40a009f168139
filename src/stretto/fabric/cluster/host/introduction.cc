#include "stretto/fabric/cluster/host/introduction.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "stretto/base/error.h"
#include "stretto/fabric/bootstrap/socket.h"

namespace stretto::fabric::cluster {

namespace {

constexpr std::uint64_t card_magic = 0x367473'6f68747473U;  // changes with the layout of what is shared
constexpr std::size_t most_callers = 2 * max_host_nodes;

enum class PacketKind : std::uint32_t { hello = 0x68656c6c, welcome = 0x77656c63, goodbye = 0x676f6f64 };

struct HelloPacket {
  PacketKind kind;
  NodeId node;
  Secret secret;
};

template <class T>
std::optional<T> read_as(ConstByteSpan bytes) {
  static_assert(std::is_trivially_copyable_v<T>);
  if (bytes.size() != sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

}  // namespace

HostCard parse_card(ConstByteSpan bytes) {
  const std::optional<HostCard> card = read_as<HostCard>(bytes);
  if (card && card->magic == card_magic && card->name_bytes <= card->name.size() &&
      valid_ring_lines(card->ring_lines) && card->segment_bytes > 0) {
    return *card;
  }
  throw Error(ErrorCode::bad_input,
              "it published no valid card for its host; all nodes of a job must run the same version of Stretto");
}

HostCard make_card(std::string_view name, const Secret& secret, std::uint32_t ring_lines, std::size_t segment_bytes) {
  HostCard card;
  card.magic = card_magic;
  card.process = getpid();
  card.segment_bytes = segment_bytes;
  card.ring_lines = ring_lines;
  card.name_bytes = static_cast<std::uint32_t>(std::min(name.size(), card.name.size()));
  std::copy_n(name.begin(), card.name_bytes, card.name.begin());
  card.secret = secret;
  card.secret_at = reinterpret_cast<std::uintptr_t>(&secret);
  return card;
}

Connection call_on(const HostCard& card, NodeId self) {
  Connection connection = connect_locally(card.socket_name());
  if (connection.outcome != Outcome::done) return connection;
  // After its owner's death anyone could listen under the name: nobody else is shown the secret.
  const Credentials other = credentials_of(connection.socket.number());
  const HelloPacket hello{PacketKind::hello, self, card.secret};
  if (other.user != geteuid() || other.process != card.process ||
      send_packet(connection.socket.number(), bytes_of(hello)) != Outcome::done) {
    return {Outcome::closed, {}};
  }
  return connection;
}

Answer read_answer(int socket) {
  Packet packet = receive_packet(socket);
  Answer answer;
  if (packet.outcome == Outcome::later) return answer;
  if (packet.outcome == Outcome::closed) {
    answer.kind = Answer::Kind::closed;
    return answer;
  }
  const std::optional<PacketKind> kind = read_as<PacketKind>(packet.bytes);
  if (packet.outcome == Outcome::cut_off) {
    answer.kind = Answer::Kind::cut_off;
    return answer;
  }
  answer.kind = Answer::Kind::bad;
  if (kind == PacketKind::goodbye && packet.descriptors.empty()) answer.kind = Answer::Kind::goodbye;
  if (kind == PacketKind::welcome && packet.descriptors.size() == max_passed) {
    answer.kind = Answer::Kind::welcome;
    answer.welcome = {std::move(packet.descriptors[0]), std::move(packet.descriptors[1]),
                      std::move(packet.descriptors[2])};
  }
  return answer;
}

Door::Door(Watcher& watcher, std::uint64_t tag, const Secret& secret)
    : watcher_(watcher), tag_(tag), secret_(secret), listener_(listen_locally(name_)) {}

void Door::open(std::function<bool(NodeId)> expected, std::array<int, max_passed> descriptors) {
  expected_ = std::move(expected);
  descriptors_ = descriptors;
  watcher_.add(listener_.number(), tag_);
}

bool Door::serve() {
  bool happened = accept_callers();
  retry_later_ = false;
  for (auto caller = callers_.begin(); caller != callers_.end();) {
    const int number = (caller++)->first;  // hearing it out may end it
    happened |= hear(number);
  }
  return happened;
}

bool Door::accept_callers() {
  bool happened = false;
  while (Descriptor caller = accept_at(listener_.number())) {
    happened = true;
    if (callers_.size() >= most_callers || credentials_of(caller.number()).user != geteuid()) continue;
    const int number = caller.number();
    watcher_.add(number, tag_);
    callers_.emplace(number, std::move(caller));
  }
  return happened;
}

bool Door::hear(int number) {
  const auto waiting = unanswered_.find(number);
  std::optional<NodeId> node;
  if (waiting != unanswered_.end()) {
    node = waiting->second;
    unanswered_.erase(waiting);
  } else {
    const Packet packet = receive_packet(number);
    if (packet.outcome == Outcome::later) return false;
    const std::optional<HelloPacket> hello = read_as<HelloPacket>(packet.bytes);
    if (packet.outcome == Outcome::done && hello && hello->kind == PacketKind::hello &&
        same_secret(hello->secret, secret_) && expected_(hello->node) && !served(hello->node)) {
      node = hello->node;
    }
  }
  Outcome outcome = Outcome::closed;
  if (node) outcome = send_packet(number, bytes_of(PacketKind::welcome), descriptors_);
  if (outcome == Outcome::later) {
    unanswered_.emplace(number, *node);
    retry_later_ = true;
    return false;
  }
  const auto caller = callers_.find(number);
  watcher_.remove(number);
  if (outcome == Outcome::done) guests_.insert_or_assign(*node, std::move(caller->second));
  callers_.erase(caller);
  return true;
}

void Door::close() {
  callers_.clear();
  unanswered_.clear();
  listener_.reset();
}

void Door::leave() {
  // A guest whose socket is full of goodbyes has been told.
  for (const auto& [node, guest] : guests_) send_packet(guest.number(), bytes_of(PacketKind::goodbye));
  guests_.clear();
}

}  // namespace stretto::fabric::cluster
