#include "stretto/fabric/bootstrap/output_stream.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <utility>

#include "stretto/fabric/bootstrap/socket.h"

namespace stretto::fabric {

OutputStream::OutputStream(Reactor& reactor, int descriptor, std::function<void()> lost)
    : reactor_(reactor), descriptor_(descriptor), lost_(std::move(lost)) {}

OutputStream::~OutputStream() {
  for (const auto& [source, lines] : sources_) reactor_.forget(source);
  reactor_.forget(descriptor_);
}

void OutputStream::carry(int source, const std::string& tag) {
  sources_.emplace(source, LineForwarder(tag));
  if (!waiting_) listen(source);
}

void OutputStream::finish(int source) {
  pass_on(source, true);
  write(sources_.at(source).finish());
  abandon(source);
}

void OutputStream::abandon(int source) {
  if (sources_.erase(source) != 0) reactor_.forget(source);
}

void OutputStream::listen(int source) {
  reactor_.watch(source, POLLIN, [this, source](short) { pass_on(source, false); });
}

// At most as much as the largest pipe holds, so that one writer can't keep us here.
void OutputStream::pass_on(int source, bool all) {
  LineForwarder& lines = sources_.at(source);
  std::array<char, 16384> buffer;
  for (int turn = 0; turn < 64 && (all || !waiting_); ++turn) {
    const ssize_t count = ::read(source, buffer.data(), buffer.size());
    if (count > 0) {
      write(lines.feed({buffer.data(), static_cast<std::size_t>(count)}));
    } else if (count == 0 || errno != EINTR) {
      if (count == 0) reactor_.forget(source);
      return;
    }
  }
}

void OutputStream::write(std::string_view text) {
  if (!lost_) return;
  unwritten_ += text;
  if (!waiting_) drain();
}

// In pieces for which a pipe that says it has room has enough: the descriptor is shared with others, so that it may
// block, and not be made to do otherwise.
void OutputStream::drain() {
  std::size_t done = 0;
  while (done < unwritten_.size() && wait_for(descriptor_, POLLOUT, std::chrono::milliseconds(0))) {
    const std::size_t piece = std::min<std::size_t>(unwritten_.size() - done, PIPE_BUF);
    const ssize_t count = ::write(descriptor_, unwritten_.data() + done, piece);
    if (count > 0) done += static_cast<std::size_t>(count);
    if (count >= 0 || errno == EINTR) continue;
    if (errno == EAGAIN) break;
    unwritten_.clear();
    go_on();
    std::exchange(lost_, {})();
    return;
  }
  unwritten_.erase(0, done);
  if (pending()) {
    wait_for_room();
  } else {
    go_on();
  }
}

void OutputStream::wait_for_room() {
  if (std::exchange(waiting_, true)) return;
  for (const auto& [source, lines] : sources_) reactor_.forget(source);
  reactor_.watch(descriptor_, POLLOUT, [this](short) { drain(); });
}

void OutputStream::go_on() {
  if (!std::exchange(waiting_, false)) return;
  reactor_.forget(descriptor_);
  for (const auto& [source, lines] : sources_) listen(source);
}

}  // namespace stretto::fabric
