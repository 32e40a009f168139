#include <algorithm>
#include <iterator>
#include <tuple>

#include "stretto/schedule/check.h"

namespace stretto::schedule {
namespace {

struct Message {
  Rank from = 0;
  Rank to = 0;
  std::uint32_t tag = 0;
  std::uint32_t step = 0;  ///< in the schedule of `from` (a send) or of `to` (a receive)
  std::uint32_t round = 0;

  auto identity() const { return std::tie(from, to, tag); }
};

std::vector<Message> messages_of(std::span<const Schedule> schedules, StepKind kind) {
  std::vector<Message> messages;
  for (const Schedule& schedule : schedules) {
    for (std::uint32_t round = 0; round < schedule.rounds(); ++round) {
      for (std::uint32_t i = schedule.round_offsets[round]; i < schedule.round_offsets[round + 1]; ++i) {
        const Step& step = schedule.steps[i];
        if (step.kind != kind) continue;
        const bool sends = kind == StepKind::send;
        messages.push_back({sends ? schedule.me : step.peer, sends ? step.peer : schedule.me, step.tag, i, round});
      }
    }
  }
  std::sort(messages.begin(), messages.end(),
            [](const Message& a, const Message& b) { return a.identity() < b.identity(); });
  return messages;
}

}  // namespace

Found match_messages(std::span<const Schedule> schedules, Links& links) {
  const std::vector<Message> sends = messages_of(schedules, StepKind::send);
  const std::vector<Message> receives = messages_of(schedules, StepKind::receive);
  links.clear();
  for (const Schedule& schedule : schedules) links.emplace_back(schedule.steps.size());

  auto receive = receives.begin();
  for (auto send = sends.begin(); send != sends.end(); ++send) {
    const Schedule& sender = schedules[send->from];
    if (send != sends.begin() && std::prev(send)->identity() == send->identity()) {
      return violation(sender, send->step, "has the tag of an earlier message to the same rank");
    }
    if (receive == receives.end() || send->identity() < receive->identity()) {
      return violation(sender, send->step, "nobody receives this message");
    }
    const Schedule& receiver = schedules[receive->to];
    if (receive->identity() < send->identity()) return violation(receiver, receive->step, "nobody sends this message");
    if (sender.steps[send->step].count != receiver.steps[receive->step].count) {
      return violation(receiver, receive->step,
                       "its message has " + std::to_string(sender.steps[send->step].count) + " blocks");
    }
    if (send->round != receive->round) {
      return violation(receiver, receive->step, "its message is sent in another round, " + std::to_string(send->round));
    }
    links[send->from][send->step] = {receive->to, receive->step};
    links[receive->to][receive->step] = {send->from, send->step};
    ++receive;
  }
  if (receive == receives.end()) return {};
  return violation(schedules[receive->to], receive->step, "nobody sends this message");
}

Found find_order(std::span<const Schedule> schedules, const Links& links, std::vector<StepAt>& order) {
  std::vector<std::vector<std::uint32_t>> waiting;  // dependencies that are not complete, for each step
  std::vector<std::vector<bool>> has_come;          // messages: whether this end has started
  std::vector<StepAt> ready;
  for (const Schedule& schedule : schedules) {
    has_come.emplace_back(schedule.steps.size());
    std::vector<std::uint32_t>& counts = waiting.emplace_back();
    for (std::uint32_t i = 0; i < schedule.steps.size(); ++i) {
      counts.push_back(schedule.steps[i].dependency_count);
      if (counts.back() == 0) ready.push_back({schedule.me, i});
    }
  }
  const auto complete = [&](StepAt at) {
    order.push_back(at);
    for (const std::uint32_t later : schedules[at.rank].successors_of(at.step)) {
      if (--waiting[at.rank][later] == 0) ready.push_back({at.rank, later});
    }
  };
  for (std::size_t next = 0; next < ready.size(); ++next) {
    const StepAt at = ready[next];
    const Step& step = schedules[at.rank].steps[at.step];
    if (!step.is_message()) {
      complete(at);
      continue;
    }
    has_come[at.rank][at.step] = true;
    const StepAt other = links[at.rank][at.step];
    if (!has_come[other.rank][other.step]) continue;  // completes when the other end comes
    complete(step.kind == StepKind::send ? at : other);
    complete(step.kind == StepKind::send ? other : at);
  }
  for (const Schedule& schedule : schedules) {
    for (std::uint32_t i = 0; i < schedule.steps.size(); ++i) {
      const StepAt other = links[schedule.me][i];
      if (!has_come[schedule.me][i] || has_come[other.rank][other.step]) continue;
      return violation(schedule, i,
                       "deadlock: its other end, step " + std::to_string(other.step) + " of rank " +
                           std::to_string(other.rank) + ", never starts");
    }
  }
  return {};
}

}  // namespace stretto::schedule
