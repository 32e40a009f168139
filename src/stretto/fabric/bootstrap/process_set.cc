#include "stretto/fabric/bootstrap/process_set.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "stretto/fabric/bootstrap/socket.h"

namespace stretto::fabric {

ProcessSet::ProcessSet(Reactor& reactor, Ended ended, std::function<void()> output_lost)
    : reactor_(reactor), ended_(std::move(ended)), output_lost_(std::move(output_lost)) {}

ProcessSet::~ProcessSet() {
  for (const auto& [number, member] : members_) {
    reactor_.forget(member.process.exit_descriptor());
    reactor_.forget(member.process.output().number());
    reactor_.forget(member.process.errors().number());
  }
}

Process& ProcessSet::start(std::uint32_t number, const ProcessPlan& plan, const std::string& tag) {
  Member& member =
      members_.emplace(number, Member{Process(plan), LineForwarder(tag), LineForwarder(tag)}).first->second;
  reactor_.watch(member.process.exit_descriptor(), POLLIN, [this, number](short) { collect(number); });
  watch_stream(member.process.output(), member.output, STDOUT_FILENO);
  watch_stream(member.process.errors(), member.errors, STDERR_FILENO);
  return member.process;
}

void ProcessSet::signal(std::uint32_t number, int signal) const {
  if (const auto found = members_.find(number); found != members_.end()) found->second.process.signal(signal);
}

void ProcessSet::signal_all(int signal) const {
  for (const auto& [number, member] : members_) member.process.signal(signal);
}

void ProcessSet::watch_stream(const Descriptor& from, LineForwarder& forwarder, int to) {
  // Map nodes don't move, and the descriptor is forgotten before the member goes.
  reactor_.watch(from.number(), POLLIN,
                 [this, number = from.number(), &forwarder, to](short) { forward(number, forwarder, to); });
}

/// Passes on what can be read now; at most as much as the largest pipe holds, so that one writer can't keep us here.
void ProcessSet::forward(int from, LineForwarder& forwarder, int to) {
  std::array<char, 16384> buffer;
  for (int turn = 0; turn < 64; ++turn) {
    const ssize_t count = ::read(from, buffer.data(), buffer.size());
    if (count > 0) {
      write_out(to, forwarder.feed({buffer.data(), static_cast<std::size_t>(count)}));
    } else if (count < 0 && errno == EINTR) {
      continue;
    } else {
      if (count == 0) reactor_.forget(from);
      return;
    }
  }
}

void ProcessSet::write_out(int to, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(to, text.data(), text.size());
    if (count >= 0) {
      text.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno == EAGAIN) {
      wait_for(to, POLLOUT, std::chrono::hours(1));  // someone made our output non-blocking
    } else if (errno != EINTR) {
      return output_lost_();
    }
  }
}

void ProcessSet::collect(std::uint32_t number) {
  const auto found = members_.find(number);
  if (found == members_.end()) return;
  const std::optional<ExitStatus> status = found->second.process.collect();
  if (!status) return;
  Member& member = found->second;
  const int output = member.process.output().number();
  const int errors = member.process.errors().number();
  forward(output, member.output, STDOUT_FILENO);
  forward(errors, member.errors, STDERR_FILENO);
  write_out(STDOUT_FILENO, member.output.finish());
  write_out(STDERR_FILENO, member.errors.finish());
  reactor_.forget(member.process.exit_descriptor());
  reactor_.forget(output);
  reactor_.forget(errors);
  members_.erase(found);
  ended_(number, *status);
}

}  // namespace stretto::fabric
