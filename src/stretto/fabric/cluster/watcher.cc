#include "stretto/fabric/cluster/watcher.h"

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "stretto/base/error.h"

namespace stretto::fabric::cluster {

namespace {

[[noreturn]] void fail() {
  throw Error(ErrorCode::out_of_resources, std::string("cannot watch one more descriptor: ") + std::strerror(errno) +
                                               "; raise the limit of open files (ulimit -n)");
}

}  // namespace

Watcher::Watcher() : set_(epoll_create1(EPOLL_CLOEXEC)) {
  if (!set_) fail();
}

void Watcher::add(int descriptor, std::uint64_t tag) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLRDHUP;
  event.data.u64 = tag;
  if (epoll_ctl(set_.number(), EPOLL_CTL_ADD, descriptor, &event) != 0) fail();
}

void Watcher::remove(int descriptor) noexcept { epoll_ctl(set_.number(), EPOLL_CTL_DEL, descriptor, nullptr); }

std::size_t Watcher::wait(std::span<std::uint64_t> tags, int timeout_ms) const {
  std::array<epoll_event, 64> events;
  const int most = static_cast<int>(std::min(tags.size(), events.size()));
  int count = 0;
  do {
    count = epoll_wait(set_.number(), events.data(), most, timeout_ms);
  } while (count < 0 && errno == EINTR);
  const auto found = static_cast<std::size_t>(std::max(count, 0));
  for (std::size_t i = 0; i < found; ++i) tags[i] = events[i].data.u64;
  return found;
}

}  // namespace stretto::fabric::cluster
