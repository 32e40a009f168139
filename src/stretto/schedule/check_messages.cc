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

/// Runs all ranks, each step as soon as it can be done.
class Progress {
 public:
  Progress(std::span<const Schedule> schedules, const Links& links, std::vector<StepAt>& order)
      : schedules_(schedules), links_(links), order_(order) {
    for (const Schedule& schedule : schedules) {
      has_started_.emplace_back(schedule.steps.size());
      turn_.push_back(next_receive(schedule, 0));
      std::vector<std::uint32_t>& counts = waiting_.emplace_back();
      for (std::uint32_t i = 0; i < schedule.steps.size(); ++i) {
        counts.push_back(schedule.steps[i].dependency_count);
        if (counts.back() == 0) ready_.push_back({schedule.me, i});
      }
    }
  }

  Found run() {
    for (std::size_t next = 0; next < ready_.size(); ++next) {
      const StepAt at = ready_[next];
      const Step& step = schedules_[at.rank].steps[at.step];
      has_started_[at.rank][at.step] = true;
      if (step.is_message()) {
        receive_in_turn(step.kind == StepKind::receive ? at.rank : step.peer);
      } else {
        complete(at);
      }
    }
    return find_deadlock();
  }

 private:
  static std::uint32_t next_receive(const Schedule& schedule, std::uint32_t step) {
    while (step < schedule.steps.size() && schedule.steps[step].kind != StepKind::receive) ++step;
    return step;
  }

  /// Whether an end of a message is: it has started and, of a receive, has its turn.
  bool is_there(StepAt message) const {
    const bool is_send = schedules_[message.rank].steps[message.step].kind == StepKind::send;
    return has_started_[message.rank][message.step] && (is_send || message.step <= turn_[message.rank]);
  }

  void receive_in_turn(Rank me) {
    const Schedule& schedule = schedules_[me];
    for (std::uint32_t& turn = turn_[me]; turn < schedule.steps.size(); turn = next_receive(schedule, turn + 1)) {
      const StepAt send = links_[me][turn];
      if (!has_started_[me][turn] || !is_there(send)) return;
      complete(send);
      complete({me, turn});
    }
  }

  void complete(StepAt at) {
    order_.push_back(at);
    for (const std::uint32_t later : schedules_[at.rank].successors_of(at.step)) {
      if (--waiting_[at.rank][later] == 0) ready_.push_back({at.rank, later});
    }
  }

  Found find_deadlock() const {
    for (const Schedule& schedule : schedules_) {
      for (std::uint32_t i = 0; i < schedule.steps.size(); ++i) {
        if (!schedule.steps[i].is_message() || !has_started_[schedule.me][i]) continue;
        const StepAt other = links_[schedule.me][i];
        if (is_there(other)) continue;
        return violation(schedule, i,
                         "deadlock: its other end, step " + std::to_string(other.step) + " of rank " +
                             std::to_string(other.rank) + ", never starts, or waits for a receive before it");
      }
    }
    return {};
  }

  std::span<const Schedule> schedules_;
  const Links& links_;
  std::vector<StepAt>& order_;
  std::vector<std::vector<std::uint32_t>> waiting_;  // for so many dependencies, by step
  std::vector<std::vector<bool>> has_started_;
  std::vector<std::uint32_t> turn_;  // by rank: the first receive that has not come
  std::vector<StepAt> ready_;
};

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
  return Progress(schedules, links, order).run();
}

}  // namespace stretto::schedule
