#include "stretto/fabric/bootstrap/reactor.h"

#include <poll.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "stretto/fabric/bootstrap/socket.h"

namespace stretto::fabric {

void Reactor::watch(int descriptor, short events, Callback callback) {
  watches_.insert_or_assign(descriptor, Watch{events, std::move(callback)});
}

void Reactor::change(int descriptor, short events) { watches_.at(descriptor).events = events; }

void Reactor::forget(int descriptor) { watches_.erase(descriptor); }

void Reactor::turn() {
  std::vector<pollfd> entries;
  for (const auto& [descriptor, watch] : watches_) entries.push_back({descriptor, watch.events, 0});
  if (::poll(entries.data(), entries.size(), -1) < 0) {
    if (errno == EINTR) return;
    throw_io("poll");
  }
  for (const pollfd& entry : entries) {
    if (entry.revents == 0) continue;
    const auto found = watches_.find(entry.fd);
    if (found == watches_.end()) continue;             // forgotten by an earlier callback of this turn
    const Callback callback = found->second.callback;  // a copy: it may forget itself
    callback(entry.revents);
  }
}

}  // namespace stretto::fabric
