#include "stretto/fabric/bootstrap/process_set.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace stretto::fabric {

ProcessSet::ProcessSet(Reactor& reactor, OutputStream& output, OutputStream& errors, Ended ended)
    : reactor_(reactor), output_(output), errors_(errors), ended_(std::move(ended)) {}

ProcessSet::~ProcessSet() {
  for (auto& [number, member] : members_) {
    reactor_.forget(member.process.exit_descriptor());
    output_.abandon(member.process.output().number());
    errors_.abandon(member.process.errors().number());
    stop_feeding(member);
  }
}

void ProcessSet::start(std::uint32_t number, const ProcessPlan& plan, const std::string& tag) {
  const Process& process = members_.emplace(number, Member{Process(plan), {}}).first->second.process;
  reactor_.watch(process.exit_descriptor(), POLLIN, [this, number](short) { collect(number); });
  output_.carry(process.output().number(), tag);
  errors_.carry(process.errors().number(), tag);
}

void ProcessSet::feed(std::uint32_t number, std::vector<std::byte> bytes) {
  Member& member = members_.at(number);  // map nodes don't move, and the descriptor is forgotten before they go
  member.unfed = std::move(bytes);
  reactor_.watch(member.process.input().number(), POLLOUT, [this, &member](short) { feed_on(member); });
}

void ProcessSet::feed_on(Member& member) {
  const ssize_t count = ::write(member.process.input().number(), member.unfed.data(), member.unfed.size());
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  // A process that has ended is noticed by its exit.
  member.unfed.erase(member.unfed.begin(), count < 0 ? member.unfed.end() : member.unfed.begin() + count);
  if (member.unfed.empty()) stop_feeding(member);
}

void ProcessSet::stop_feeding(Member& member) {
  if (member.process.input()) reactor_.forget(member.process.input().number());
}

void ProcessSet::signal(std::uint32_t number, int signal) const {
  if (const auto found = members_.find(number); found != members_.end()) found->second.process.signal(signal);
}

void ProcessSet::signal_all(int signal) const {
  for (const auto& [number, member] : members_) member.process.signal(signal);
}

void ProcessSet::collect(std::uint32_t number) {
  const auto found = members_.find(number);
  if (found == members_.end()) return;
  Member& member = found->second;
  const std::optional<ExitStatus> status = member.process.collect();
  if (!status) return;
  output_.finish(member.process.output().number());
  errors_.finish(member.process.errors().number());
  stop_feeding(member);
  reactor_.forget(member.process.exit_descriptor());
  members_.erase(found);
  ended_(number, *status);
}

}  // namespace stretto::fabric
