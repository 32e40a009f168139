#include "stretto/fabric/bootstrap/socket.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>

#include "stretto/base/error.h"

namespace stretto::fabric {
namespace {

// A host that vanished is noticed after 10 s and three questions, where nothing is under way.
constexpr int idle_seconds = 10;
constexpr int question_seconds = 2;
constexpr int questions = 3;

using AddressList = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

AddressList resolve(const std::string& host, const std::string& port, int flags) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | flags;
  addrinfo* found = nullptr;
  const int failure = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
  if (failure == 0) return {found, &::freeaddrinfo};
  throw Error(ErrorCode::io, "cannot resolve \"" + host + "\": " + ::gai_strerror(failure));
}

bool is_wildcard(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    return reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr == htonl(INADDR_ANY);
  }
  const auto* v6 = reinterpret_cast<const sockaddr_in6*>(address);
  return address->sa_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&v6->sin6_addr);
}

HostPort local_endpoint(int descriptor) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &length) != 0) throw_io("getsockname");
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  const int failure = ::getnameinfo(reinterpret_cast<sockaddr*>(&address), length, host.data(), host.size(),
                                    port.data(), port.size(), NI_NUMERICHOST | NI_NUMERICSERV);
  if (failure != 0) throw Error(ErrorCode::io, std::string("getnameinfo: ") + ::gai_strerror(failure));
  return {host.data(), port.data()};
}

/// Connects within launcher_patience; the error number, 0 for success.
int connect_patiently(int descriptor, const addrinfo& address) {
  if (::connect(descriptor, address.ai_addr, address.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  if (!wait_for(descriptor, POLLOUT, launcher_patience)) return ETIMEDOUT;
  int failure = 0;
  socklen_t length = sizeof failure;
  if (::getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &failure, &length) != 0) return errno;
  return failure;
}

}  // namespace

bool is_shortage(int error) noexcept {
  return error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS;
}

std::string describe(int error) {
  const bool of_descriptors = error == EMFILE || error == ENFILE;
  return std::generic_category().message(error) + (of_descriptors ? "; raise the limit of open files (ulimit -n)" : "");
}

void throw_io(const std::string& what) {
  const int error = errno;
  throw Error(is_shortage(error) ? ErrorCode::out_of_resources : ErrorCode::io, what + ": " + describe(error));
}

std::string HostPort::text() const {
  return host.find(':') == std::string::npos ? host + ":" + port : "[" + host + "]:" + port;
}

HostPort parse_endpoint(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon != std::string_view::npos) {
    std::string_view host = text.substr(0, colon);
    const std::string_view port = text.substr(colon + 1);
    const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
    if (bracketed) host = host.substr(1, host.size() - 2);
    const bool digits = !port.empty() && port.size() <= 5 &&
                        std::ranges::all_of(port, [](char digit) { return digit >= '0' && digit <= '9'; });
    if (!host.empty() && digits && host.find_first_of(bracketed ? "[]" : ":[]") == std::string_view::npos) {
      return {std::string(host), std::string(port)};
    }
  }
  throw Error(ErrorCode::bad_input, "\"" + std::string(text) + "\" is not HOST:PORT or [IPv6]:PORT");
}

void set_option(const Descriptor& socket, int level, int option, int value) noexcept {
  ::setsockopt(socket.number(), level, option, &value, sizeof value);
}

void keep_alive(const Descriptor& socket) {
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, idle_seconds);
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, question_seconds);
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, questions);
}

bool wait_for(int descriptor, short events, std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    pollfd entry{descriptor, events, 0};
    const int ready = ::poll(&entry, 1, static_cast<int>(std::max<decltype(left)>(left, 0)));
    if (ready > 0) return true;
    if (ready == 0) return false;
    if (errno != EINTR) throw_io("poll");
  }
}

Descriptor connect_to(const HostPort& endpoint) {
  const AddressList addresses = resolve(endpoint.host, endpoint.port, 0);
  int failure = EADDRNOTAVAIL;
  for (const addrinfo* address = addresses.get(); address != nullptr; address = address->ai_next) {
    Descriptor socket(::socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) {
      failure = errno;
      continue;
    }
    failure = connect_patiently(socket.number(), *address);
    if (failure != 0) continue;
    set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
    keep_alive(socket);
    const int flags = ::fcntl(socket.number(), F_GETFL);
    if (flags < 0 || ::fcntl(socket.number(), F_SETFL, flags & ~O_NONBLOCK) < 0) throw_io("fcntl");
    return socket;
  }
  errno = failure;
  throw_io("cannot connect to " + endpoint.text());
}

Listener listen_on(const std::string& host) {
  const AddressList addresses = resolve(host, "0", AI_PASSIVE);
  if (is_wildcard(addresses->ai_addr)) {
    throw Error(ErrorCode::invalid_argument,
                "cannot bind to \"" + host + "\": name the one address at which the other hosts reach this one");
  }
  Listener listener;
  listener.descriptor = Descriptor(::socket(addresses->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int number = listener.descriptor.number();
  if (number < 0) throw_io("socket");
  if (::bind(number, addresses->ai_addr, addresses->ai_addrlen) != 0) throw_io("cannot bind to \"" + host + "\"");
  if (::listen(number, SOMAXCONN) != 0) throw_io("cannot listen on \"" + host + "\"");
  keep_alive(listener.descriptor);
  listener.endpoint = local_endpoint(number);
  return listener;
}

Descriptor accept_at(int listener) {
  for (;;) {
    Descriptor accepted(::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (accepted) return accepted;
    if (is_shortage(errno)) throw_io("cannot accept a connection");
    const bool caller_is_gone = errno == ECONNABORTED || errno == EPROTO || errno == EPERM;
    if (errno != EINTR && !caller_is_gone) return {};
  }
}

}  // namespace stretto::fabric
