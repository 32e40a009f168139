// How a TcpCarrier's process meets others, and parts from them.

#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <utility>

#include "stretto/base/error.h"
#include "stretto/fabric/cluster/network/address.h"
#include "stretto/fabric/cluster/tcp/tcp_link.h"

namespace stretto::fabric::cluster::network {

namespace {

// Callers that have not said who they are, beside the expected ones; of more, the oldest is dropped.
constexpr std::size_t spare_callers = 128;
constexpr int seconds_for_an_answer = 5;

}  // namespace

// Who dials.

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

// Who is called.

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

// Both.

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

void TcpCarrier::use(Link& link, Socket& socket) {
  note_met(link);
  link.sends = &socket;
  drain(link);
}

void TcpCarrier::note_met(Link& link) {
  if (!std::exchange(link.is_met, true)) ++met_;
}

std::vector<std::string> TcpCarrier::networks(Connection* connection) const {
  const auto& link = static_cast<const Link&>(*connection);
  if (link.sends == nullptr) return {};
  return {"tcp/" + interface_of(link.sends->descriptor)};
}

// The end.

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

void TcpCarrier::fail(Link& link, const std::string& why) {
  if (link.broken) return;
  note_met(link);
  link.broken = why;
  link.sends = nullptr;
  if (link.owner != nullptr) link.owner->failed(why.c_str());
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

}  // namespace stretto::fabric::cluster::network
