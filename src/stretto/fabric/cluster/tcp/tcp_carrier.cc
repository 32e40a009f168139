#include "stretto/fabric/cluster/tcp/tcp_carrier.h"

#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <optional>
#include <utility>

#include "stretto/base/error.h"
#include "stretto/fabric/bootstrap/socket.h"
#include "stretto/fabric/cluster/network/address.h"
#include "stretto/fabric/cluster/tcp/frame_stream.h"
#include "stretto/fabric/cluster/tcp/socket.h"

namespace stretto::fabric::cluster::network {

/// What a carrier gives out: its links are connections.
class Connection {};

namespace {

// Many small frames, or the beginning of a large one, of which the rest is received where it belongs.
constexpr std::size_t buffer_bytes = std::size_t{8} * 1024;
// Of large data, before who sleeps is woken for them, unless it wakes up by itself.
constexpr std::size_t much_bytes = std::size_t{512} * 1024;
// Before other sockets have their turn.
constexpr std::size_t bytes_in_a_row = std::size_t{1} << 20U;
// Callers that have not said who they are, beside the expected ones; of more, the oldest is dropped.
constexpr std::size_t spare_callers = 128;
constexpr int seconds_for_an_answer = 5;
constexpr std::uint32_t events_of_connections = EPOLLIN | EPOLLOUT | EPOLLRDHUP;
constexpr std::size_t most_pieces_at_once = 48;
// Before the only socket is read without asking first; from then on between questions about all else.
constexpr unsigned polls_between_looks = 64;

enum class Stage : std::uint8_t {
  dialing,  ///< the connection is being made
  asking,   ///< dialled, and waiting for the answer
  called,   ///< accepted, and waiting for the hello
  open,
};

std::string reason_of(int error) { return error == 0 ? "closed by the other end" : describe(error); }

iovec piece(ConstByteSpan bytes) { return {const_cast<std::byte*>(bytes.data()), bytes.size()}; }

/// A frame that has not left whole.
struct Unsent {
  FramePrefix prefix;
  ConstByteSpan header;
  ConstByteSpan data;
  std::vector<std::byte> own;  // instead of all these: what is left of a frame that nobody keeps
  std::size_t left;            // bytes
  Sending* sending;            // null: `own`

  void add_to(std::vector<iovec>& pieces) const {
    if (sending == nullptr) {
      pieces.push_back(piece(ConstByteSpan(own).last(left)));
      return;
    }
    std::size_t done = sizeof(FramePrefix) + header.size() + data.size() - left;
    for (const ConstByteSpan part : {ConstByteSpan(prefix), header, data}) {
      const std::size_t skipped = std::min(done, part.size());
      done -= skipped;
      if (skipped < part.size()) pieces.push_back(piece(part.subspan(skipped)));
    }
  }
};

}  // namespace

/// One TCP connection.
struct TcpCarrier::Socket {
  Socket(Descriptor of, Stage first) : descriptor(std::move(of)), stage(first) {}

  Moved send_some(std::span<const iovec> pieces) { return network::send_some(descriptor, open_packet, pieces); }
  /// Whether anybody waits for it to be writable.
  bool wants_room() const noexcept;

  Descriptor descriptor;
  OpenPacket open_packet;
  Stage stage;
  Link* link = nullptr;  // null while `called`
  bool readable = false;
  bool writable = false;
  bool hung_up = false;        // the end of the stream is there to be read
  bool queued = false;         // in ready_
  bool deaf = false;           // what comes is no stream of frames
  bool has_come = false;       // anything, since that was last asked
  bool is_heard_late = false;  // wakes nobody before much has come
  bool holds_more = false;     // in the kernel
  int ticks = 0;               // while asking
  std::vector<std::byte> greeting;
  FrameReader reader;
};

/// All that joins this process to another one.
struct TcpCarrier::Link final : Connection {
  ProcessId process = {};
  ConnectionOwner* owner = nullptr;  // null: the other end made it, and nobody here has asked for it
  std::vector<IpAddress> untried;    // the next one last
  std::string trying;                // the address that is dialled, for people
  std::uint16_t port = 0;
  Socket* dialled = nullptr;
  Socket* accepted = nullptr;
  Socket* sends = nullptr;  // one of them, once it is open
  std::deque<Unsent> unsent;
  std::optional<std::string> broken;  // why nothing moves any more
  bool is_met = false;                // it was open once, or is broken
};

bool TcpCarrier::Socket::wants_room() const noexcept {
  return stage != Stage::open || link == nullptr || !link->unsent.empty();
}

TcpCarrier::TcpCarrier(FrameSink& sink, const std::string& interface)
    : sink_(sink),
      interfaces_(own_addresses(interface)),
      events_(epoll_create1(EPOLL_CLOEXEC)),
      clock_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)),
      buffer_(buffer_bytes) {
  if (!events_ || !clock_) throw_io("cannot watch sockets");
  if (interfaces_.empty()) {
    throw Error(ErrorCode::not_supported,
                interface.empty() ? "this host has no network interface with an IP address"
                                  : "this host has no network interface \"" + interface +
                                        "\" with an IP address; STRETTO_NETWORK names it (`ip addr` lists them)");
  }
  ListeningSocket listening = listen_at(interface.empty() ? nullptr : &interfaces_.front());
  listening_ = std::move(listening.socket);
  own_ = {random_nonce(), listening.port, interfaces_};
  if (!interface.empty()) own_.interfaces.resize(1);
  if (!watch(listening_, EPOLLIN, &listening_) || !watch(clock_, EPOLLIN, &clock_)) throw_io("cannot watch a socket");
}

TcpCarrier::~TcpCarrier() = default;

// Connections.

Connection* TcpCarrier::connect(ConstByteSpan address, ConnectionOwner& owner) {
  const TcpAddress peer = decode_tcp_address(address);
  std::unique_ptr<Link>& link = links_[peer.process];
  if (link == nullptr) {
    link = std::make_unique<Link>();
    link->process = peer.process;
  }
  link->owner = &owner;
  if (link->accepted != nullptr || link->broken) return link.get();
  link->port = peer.port;
  link->untried = by_nearness(peer.interfaces, interfaces_);
  std::reverse(link->untried.begin(), link->untried.end());
  dial_next(*link, "it published no address");
  return link.get();
}

// Tries the next address; without one, the link can still live by the other end's call.
void TcpCarrier::dial_next(Link& link, const std::string& failure) {
  std::string reason = failure;
  while (!link.untried.empty()) {
    const IpAddress address = link.untried.back();
    link.untried.pop_back();
    Descriptor socket = begin_connect(address, link.port);
    if (!socket) {
      reason = address.text() + ": " + reason_of(errno);
      continue;
    }
    link.dialled = &add({std::move(socket), Stage::dialing});
    link.dialled->link = &link;
    link.trying = address.text();
    return;
  }
  if (link.accepted != nullptr) {
    use(link, *link.accepted);
  } else {
    fail(link, "it cannot be reached: " + reason);
  }
}

void TcpCarrier::close(Connection* connection) {
  auto& link = static_cast<Link&>(*connection);
  for (Socket* const socket : {link.dialled, link.accepted}) {
    if (socket != nullptr) drop(*socket);
  }
  std::deque<Unsent> unsent = std::exchange(link.unsent, {});
  unsent_ -= unsent.size();
  for (const Unsent& frame : unsent) {
    if (frame.sending != nullptr) frame.sending->sent();
  }
  links_.erase(ProcessId(link.process));
}

void TcpCarrier::fail(Link& link, const std::string& why) {
  if (link.broken) return;
  note_met(link);
  link.broken = why;
  link.sends = nullptr;
  if (link.owner != nullptr) link.owner->failed(why.c_str());
}

// Sending.

void TcpCarrier::use(Link& link, Socket& socket) {
  note_met(link);
  link.sends = &socket;
  drain(link);
}

bool TcpCarrier::try_send(Connection* to, ConstByteSpan header, ConstByteSpan data) {
  auto& link = static_cast<Link&>(*to);
  if (link.sends == nullptr || !link.unsent.empty()) return false;
  const FramePrefix prefix = prefix_of(header, data);
  const std::array pieces{piece(prefix), piece(header), piece(data)};
  const Moved moved = link.sends->send_some(pieces);
  const std::size_t all = prefix.size() + header.size() + data.size();
  if (moved.bytes == 0 || moved.bytes == all) return moved.bytes == all;
  Unsent rest{prefix, {}, {}, {prefix.begin(), prefix.end()}, all - moved.bytes, nullptr};
  rest.own.insert(rest.own.end(), header.begin(), header.end());
  rest.own.insert(rest.own.end(), data.begin(), data.end());
  link.unsent.push_back(std::move(rest));
  ++unsent_;
  return true;
}

bool TcpCarrier::send(Connection* to, ConstByteSpan header, ConstByteSpan data, Sending& sending) {
  auto& link = static_cast<Link&>(*to);
  if (link.broken) throw Error(ErrorCode::peer_lost, *link.broken);
  const FramePrefix prefix = prefix_of(header, data);
  const std::size_t all = prefix.size() + header.size() + data.size();
  Moved moved;
  if (link.sends != nullptr && link.unsent.empty()) {
    moved = link.sends->send_some(std::array{piece(prefix), piece(header), piece(data)});
    if (moved.bytes == all) return true;
  }
  // An error is told when what has arrived is read.
  link.unsent.push_back({prefix, header, data, {}, all - moved.bytes, &sending});
  ++unsent_;
  return false;
}

void TcpCarrier::drain(Link& link) {
  std::vector<iovec> pieces;
  while (link.sends != nullptr && !link.unsent.empty()) {
    pieces.clear();
    for (const Unsent& frame : link.unsent) {
      if (pieces.size() + 3 > most_pieces_at_once) break;
      frame.add_to(pieces);
    }
    std::size_t moved = link.sends->send_some(pieces).bytes;
    if (moved == 0) return;
    while (!link.unsent.empty() && link.unsent.front().left <= moved) {
      moved -= link.unsent.front().left;
      Sending* const sending = link.unsent.front().sending;
      link.unsent.pop_front();
      --unsent_;
      if (sending != nullptr) sending->sent();  // and may send more
    }
    if (moved != 0) link.unsent.front().left -= moved;
  }
}

bool TcpCarrier::flush() { return unsent_ == 0; }

// To the kernel, more than otherwise. So much stands before what is sent next, which is why it gets less while somebody
// is there to give it more in time.
void TcpCarrier::hand_over(Link& link) {
  if (link.sends == nullptr || link.unsent.empty()) return;
  set_send_buffer(link.sends->descriptor, SendBuffer::large);
  link.sends->holds_more = has_let_flow_ = true;
  drain(link);
}

// Data are on their way of which some have just come, and of whose frame, a large one, some have not: of a peer that
// stops in the middle nobody waits for more than once.
bool TcpCarrier::let_flow() {
  for (const auto& [process, link] : links_) hand_over(*link);
  bool flows = false;
  for (const auto& socket : sockets_) {
    const bool has_come = std::exchange(socket->has_come, false);
    if (!has_come || socket->stage != Stage::open || socket->deaf || !socket->reader.is_in_large_frame()) continue;
    set_least_heard(socket->descriptor, much_bytes);
    socket->is_heard_late = has_let_flow_ = flows = true;
  }
  return flows;
}

void TcpCarrier::return_to_usual() {
  has_let_flow_ = false;
  hear_all();
  for (const auto& socket : sockets_) {
    if (std::exchange(socket->holds_more, false)) set_send_buffer(socket->descriptor, SendBuffer::usual);
  }
}

// What flowed may have come meanwhile, or its end.
void TcpCarrier::hear_all() {
  for (const auto& socket : sockets_) {
    if (!std::exchange(socket->is_heard_late, false)) continue;
    set_least_heard(socket->descriptor, 1);
    socket->readable = true;
    queue(*socket);
  }
}

// Events.

TcpCarrier::Socket& TcpCarrier::add(Socket fresh) {
  auto socket = std::make_unique<Socket>(std::move(fresh));
  if (!watch(socket->descriptor, events_of_connections, socket.get())) throw_io("cannot watch a socket");
  return *sockets_.emplace_back(std::move(socket));
}

bool TcpCarrier::watch(const Descriptor& descriptor, std::uint32_t what, void* tag) {
  epoll_event event{what | EPOLLET, {.ptr = tag}};
  return epoll_ctl(events_.number(), EPOLL_CTL_ADD, descriptor.number(), &event) == 0;
}

void TcpCarrier::stop_watching(const Descriptor& descriptor) {
  epoll_ctl(events_.number(), EPOLL_CTL_DEL, descriptor.number(), nullptr);
}

// Of the only connection the kernel need not keep the books, where it is read all the time (docs/decisions/0059).
void TcpCarrier::choose_unwatched() {
  const bool is_only = sockets_.size() == 1 && sockets_.front()->stage == Stage::open && unsent_ == 0;
  if (!is_only) {
    watch_again();
  } else if (unwatched_ == nullptr && ++polls_ >= polls_between_looks) {
    unwatched_ = sockets_.front().get();
    stop_watching(unwatched_->descriptor);
  }
}

// Returns whether that can be done: who cannot be woken for a connection loses it.
bool TcpCarrier::watch_again() {
  polls_ = 0;
  Socket* const socket = std::exchange(unwatched_, nullptr);
  if (socket == nullptr || watch(socket->descriptor, events_of_connections, socket)) return true;
  end(*socket, "it cannot be watched: " + describe(errno));
  return false;
}

// Returns whether anything came.
bool TcpCarrier::advance_unwatched() {
  unwatched_->readable = true;
  return advance(*unwatched_);
}

void TcpCarrier::queue(Socket& socket) {
  if (!std::exchange(socket.queued, true)) ready_.push_back(&socket);
}

// Notes what the kernel has to tell.
bool TcpCarrier::look() {
  bool any = false;
  std::array<epoll_event, 64> events;
  const int count = epoll_wait(events_.number(), events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<std::size_t>(i)];
    any |= note(event.events, event.data.ptr);
  }
  return any;
}

// Returns whether that is of use to anybody.
bool TcpCarrier::note(std::uint32_t happened, void* tag) {
  if (tag == &listening_) return callers_ = true;
  if (tag == &clock_) return ticked_ = true;
  auto& socket = *static_cast<Socket*>(tag);
  if (happened == EPOLLOUT && !socket.wants_room()) return false;
  socket.hung_up = socket.hung_up || (happened & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
  socket.readable = socket.readable || socket.hung_up || (happened & EPOLLIN) != 0;
  socket.writable = socket.writable || (happened & EPOLLOUT) != 0;
  queue(socket);
  return true;
}

bool TcpCarrier::arm(Alarm alarm) {
  if (has_let_flow_ && alarm == Alarm::none) hear_all();
  return watch_again() && ready_.empty() && !callers_ && !ticked_ && !look();
}

bool TcpCarrier::progress() {
  dropped_.clear();
  if (has_let_flow_) return_to_usual();
  choose_unwatched();
  const bool came = unwatched_ != nullptr && advance_unwatched();
  if (unwatched_ != nullptr && ready_.empty() && ++polls_ % polls_between_looks != 0) return came;
  return progress_watched() || came;
}

bool TcpCarrier::progress_watched() {
  const bool happened = look() || !ready_.empty();
  if (callers_) answer_callers();
  if (ticked_) give_up_on_the_silent();
  turn_.swap(ready_);
  for (Socket* const socket : turn_) {
    socket->queued = false;
    if (socket->descriptor) advance(*socket);
  }
  turn_.clear();
  return happened;
}

// Returns whether anything came.
bool TcpCarrier::advance(Socket& socket) {
  if (socket.stage == Stage::dialing) advance_dial(socket);
  if (!socket.descriptor || socket.stage == Stage::dialing) return false;
  if (std::exchange(socket.writable, false) && socket.link != nullptr && socket.link->sends == &socket) {
    drain(*socket.link);
  }
  return socket.readable && !socket.deaf && receive(socket);
}

void TcpCarrier::advance_dial(Socket& socket) {
  if (!socket.writable && !socket.hung_up) return;
  Link& link = *socket.link;
  if (const int failure = connect_result(socket.descriptor); failure != 0) {
    end(socket, reason_of(failure));
    return;
  }
  const auto hello = encode(Hello{own_.process, link.process});
  if (socket.send_some(std::array{piece(hello)}).bytes != hello.size()) {
    end(socket, "it hung up");
    return;
  }
  socket.stage = Stage::asking;
  if (asked_++ == 0) set_clock(1);
}

void TcpCarrier::answer_callers() {
  callers_ = false;
  try {
    while (Descriptor descriptor = accept_next(listening_)) answer(std::move(descriptor));
  } catch (const Error&) {
    // For want of a descriptor, or of a watch: it may be one that the job needs, or else a stranger.
    if (met_ < expected_) throw;
  }
}

void TcpCarrier::answer(Descriptor caller) {
  const auto is_caller = [](const auto& socket) { return socket->stage == Stage::called; };
  const auto callers = static_cast<std::size_t>(std::count_if(sockets_.begin(), sockets_.end(), is_caller));
  if (callers >= expected_ + spare_callers) drop(**std::find_if(sockets_.begin(), sockets_.end(), is_caller));
  add({std::move(caller), Stage::called});
}

void TcpCarrier::note_met(Link& link) {
  if (!std::exchange(link.is_met, true)) ++met_;
}

// Ticks every so many seconds; 0: never.
void TcpCarrier::set_clock(time_t seconds) {
  const itimerspec ticks{{seconds, 0}, {seconds, 0}};
  timerfd_settime(clock_.number(), 0, &ticks, nullptr);
}

void TcpCarrier::give_up_on_the_silent() {
  ticked_ = false;
  std::uint64_t ticks = 0;
  if (read(clock_.number(), &ticks, sizeof ticks) < 0) return;
  std::vector<Socket*> silent;
  for (const auto& socket : sockets_) {
    if (socket->stage == Stage::asking && ++socket->ticks > seconds_for_an_answer) silent.push_back(socket.get());
  }
  for (Socket* const socket : silent) end(*socket, "who is there does not answer");
}

// What arrives.

// Returns whether anything came.
bool TcpCarrier::receive(Socket& socket) {
  std::size_t received = 0;
  while (received < bytes_in_a_row) {
    const ByteSpan place = place_in(socket);
    const Moved moved = receive_some(socket.descriptor, place, buffer_);
    received += moved.bytes;
    socket.has_come = socket.has_come || moved.bytes != 0;
    if (moved.bytes != 0) take(socket, std::min(moved.bytes, place.size()), moved.bytes);
    if (!socket.descriptor || socket.deaf) return true;
    if (moved.ended) {
      end(socket, reason_of(moved.error));
      return true;
    }
    // A stream that did not fill all there was room for is empty, but its end is not read yet where there is one.
    if (moved.bytes == 0 || (moved.bytes < place.size() + buffer_.size() && !socket.hung_up)) {
      socket.readable = false;
      return received != 0;
    }
  }
  queue(socket);
  return true;
}

// Where what comes next belongs, if that is known.
ByteSpan TcpCarrier::place_in(Socket& socket) {
  return socket.reader.place(
      [&](ConstByteSpan header, std::size_t bytes) { return sink_.place_for(socket.link, header, bytes); });
}

// So many bytes have come, of which the first ones are where they belong.
void TcpCarrier::take(Socket& socket, std::size_t in_place, std::size_t bytes) {
  const auto on_frame = [&](ConstByteSpan header, ConstByteSpan data) { sink_.on_frame(socket.link, header, data); };
  if (in_place != 0) socket.reader.filled(in_place, on_frame);
  ConstByteSpan arrived = ConstByteSpan(buffer_).first(bytes - in_place);
  if (socket.stage != Stage::open) greet(socket, arrived);
  if (socket.stage != Stage::open || !socket.descriptor) return;
  try {
    socket.reader.read(arrived, on_frame);
  } catch (const Error& error) {
    socket.deaf = true;
    sink_.on_no_frame(socket.link, error.message().c_str());
    if (socket.link->owner == nullptr) close(socket.link);
  }
}

// Completes the greeting from `arrived`, and leaves in it what is behind.
void TcpCarrier::greet(Socket& socket, ConstByteSpan& arrived) {
  const std::size_t whole = socket.stage == Stage::called ? Hello::bytes : Answer::bytes;
  const std::size_t more = std::min(whole - socket.greeting.size(), arrived.size());
  socket.greeting.insert(socket.greeting.end(), arrived.begin(), arrived.begin() + static_cast<std::ptrdiff_t>(more));
  arrived = arrived.subspan(more);
  if (socket.greeting.size() < whole) return;
  if (!(socket.stage == Stage::called ? greet_caller(socket) : greet_called(socket)))
    end(socket, "it is another process");
}

bool TcpCarrier::greet_caller(Socket& socket) {
  Hello hello;
  try {
    hello = decode_hello(socket.greeting);
  } catch (const Error&) {
    return false;
  }
  if (hello.called != own_.process) return false;
  std::unique_ptr<Link>& link = links_[hello.caller];
  if (link == nullptr) {
    link = std::make_unique<Link>();
    link->process = hello.caller;
  }
  const auto answer = encode(Answer{own_.process});
  if (link->accepted != nullptr || link->broken) return false;
  if (socket.send_some(std::array{piece(answer)}).bytes != answer.size()) return false;
  socket.stage = Stage::open;
  socket.link = link.get();
  link->accepted = &socket;
  if (link->dialled == nullptr) use(*link, socket);
  return true;
}

bool TcpCarrier::greet_called(Socket& socket) {
  try {
    if (decode_answer(socket.greeting).called != socket.link->process) return false;
  } catch (const Error&) {
    return false;
  }
  socket.stage = Stage::open;
  if (--asked_ == 0) set_clock(0);
  use(*socket.link, socket);
  return true;
}

// The end of a socket, and what follows from it.
void TcpCarrier::end(Socket& socket, const std::string& why) {
  Link* const link = socket.link;
  const bool was_open = socket.stage == Stage::open;
  drop(socket);
  if (link == nullptr) return;
  if (!was_open) {
    dial_next(*link, link->trying + ": " + why);
  } else if (link->owner == nullptr) {
    close(link);
  } else {
    fail(*link, "the connection ended: " + why);
  }
}

void TcpCarrier::drop(Socket& socket) {
  if (Link* const link = std::exchange(socket.link, nullptr)) {
    if (link->dialled == &socket) link->dialled = nullptr;
    if (link->accepted == &socket) link->accepted = nullptr;
    if (link->sends == &socket) link->sends = nullptr;
  }
  if (socket.stage == Stage::asking && --asked_ == 0) set_clock(0);
  // A child that was forked meanwhile keeps the connection, and with it what epoll knows of it.
  stop_watching(socket.descriptor);
  if (unwatched_ == &socket) unwatched_ = nullptr;
  socket.descriptor.reset();
  std::erase(ready_, &socket);
  const auto found =
      std::find_if(sockets_.begin(), sockets_.end(), [&](const auto& one) { return one.get() == &socket; });
  dropped_.push_back(std::move(*found));
  sockets_.erase(found);
}

std::vector<std::string> TcpCarrier::networks(Connection* connection) const {
  const auto& link = static_cast<const Link&>(*connection);
  if (link.sends == nullptr) return {};
  return {"tcp/" + interface_of(link.sends->descriptor)};
}

}  // namespace stretto::fabric::cluster::network
