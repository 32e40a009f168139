#include "stretto/fabric/cluster/tcp/tcp_carrier.h"

#include <sys/epoll.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "stretto/base/error.h"
#include "stretto/fabric/bootstrap/socket.h"
#include "stretto/fabric/cluster/network/address.h"
#include "stretto/fabric/cluster/tcp/socket.h"
#include "stretto/fabric/cluster/tcp/tcp_link.h"

namespace stretto::fabric::cluster::network {

namespace {

// Many small frames, or the beginning of a large one, of which the rest is received where it belongs.
constexpr std::size_t buffer_bytes = std::size_t{8} * 1024;
// Of large data, before who sleeps is woken for them, unless it wakes up by itself.
constexpr std::size_t much_bytes = std::size_t{512} * 1024;
// Before other sockets have their turn.
constexpr std::size_t bytes_in_a_row = std::size_t{1} << 20U;
constexpr std::uint32_t events_of_connections = EPOLLIN | EPOLLOUT | EPOLLRDHUP;
constexpr std::size_t most_pieces_at_once = 48;
// Before the only socket is read without asking first; from then on between questions about all else.
constexpr unsigned polls_between_looks = 64;

}  // namespace

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

// Sending.

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

// Of the only connection the kernel need not keep the books, where it is read all the time (docs/decisions/0059). Some
// poll without taking the watch from who sleeps with it: that one is still to be woken when they have gone.
void TcpCarrier::choose_unwatched() {
  const bool is_only = sockets_.size() == 1 && sockets_.front()->stage == Stage::open && unsent_ == 0;
  if (!is_only) {
    watch_again();
  } else if (unwatched_ == nullptr && !armed_.load(std::memory_order_relaxed) && ++polls_ >= polls_between_looks) {
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
  const bool armed = watch_again() && ready_.empty() && !callers_ && !ticked_ && !look();
  if (armed) armed_.store(true, std::memory_order_relaxed);
  return armed;
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

}  // namespace stretto::fabric::cluster::network
