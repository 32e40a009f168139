#include "stretto/collective/lowering.h"

#include <map>
#include <utility>

#include "stretto/schedule/in_place.h"

namespace stretto {

namespace {

using schedule::Rank;
using schedule::Round;
using schedule::Schedule;
using schedule::Step;
using schedule::StepKind;

/// One schedule being lowered.
class Pass {
 public:
  Pass(const schedule::Algorithm& algorithm, const Schedule& schedule)
      : algorithm_(algorithm), schedule_(schedule), all_do_as_i_do_(algorithm.rotation_symmetric(schedule.shape)) {
    const std::size_t steps = schedule.steps.size();
    lowering_.in_place.resize(steps, false);
    lowering_.lent.resize(steps, false);
    lowering_.reader.resize(steps, Lowering::none);
    lowering_.source_from.resize(steps, Lowering::none);
    lowering_.base_from.resize(steps, Lowering::none);
    lowering_.copy_before.resize(steps, Lowering::none);
    lowering_.follows.resize(steps, Lowering::none);
    round_of_.reserve(steps);
    ordinals_.reserve(steps);
    for (std::uint32_t round = 0; round < schedule.rounds(); ++round) {
      rounds_.emplace_back(algorithm, schedule.shape, schedule.me, round);
      std::map<std::pair<StepKind, Rank>, std::uint32_t> messages;
      for (std::uint32_t step = begin_of(round); step < end_of(round); ++step) {
        round_of_.push_back(round);
        ordinals_.push_back(messages[{step_at(step).kind, step_at(step).peer}]++);
      }
    }
  }

  Lowering run() {
    for (std::uint32_t step = 0; step < schedule_.steps.size(); ++step) {
      switch (step_at(step).kind) {
        case StepKind::receive: mark_receive(step); break;
        case StepKind::send: mark_send(step); break;
        case StepKind::copy: mark_copy(step); break;
        case StepKind::reduce: break;
      }
    }
    for (std::uint32_t step = 0; step < schedule_.steps.size(); ++step) {
      if (step_at(step).kind == StepKind::receive && is_answer(step)) {
        lowering_.answers.push_back({step, schedule_.dependencies_of(step).front()});
      }
    }
    return std::move(lowering_);
  }

 private:
  const Step& step_at(std::uint32_t step) const { return schedule_.steps[step]; }
  std::uint32_t begin_of(std::uint32_t round) const { return schedule_.round_offsets[round]; }
  std::uint32_t end_of(std::uint32_t round) const { return schedule_.round_offsets[round + 1]; }

  /// What the rank at a message's other end does with it.
  struct OtherEnd {
    schedule::BlockRef blocks;         ///< what it sends, or where it receives
    bool lends = false;                ///< it sends, and lends what it grants
    bool lends_copies = false;         ///< the same of what nobody combines
    bool takes_in_place = false;       ///< it receives, and reads what it gets where it lies here
    schedule::BlockRef combined_into;  ///< if so, where to
  };

  OtherEnd other_end(std::uint32_t message) const {
    const Rank peer = step_at(message).peer;
    const std::uint32_t round = round_of_[message];
    if (!all_do_as_i_do_) return other_end(message, Round(algorithm_, schedule_.shape, peer, round), schedule_.me);
    // The peer does with me what I do with who is as far from me as I am from the peer.
    const Rank size = schedule_.shape.size;
    const Rank distance = (schedule_.me + size - peer) % size;
    return other_end(message, rounds_[round], (schedule_.me + distance) % size);
  }

  OtherEnd other_end(std::uint32_t message, const Round& there, Rank me) const {
    const bool sent = step_at(message).kind == StepKind::send;
    const std::size_t place = there.find(sent ? StepKind::receive : StepKind::send, me, ordinals_[message]);
    if (!sent) return {there[place].source(), there.lends(), there.lends_copies(), false, {}};
    const std::size_t reader = there.reader_of(place);
    if (reader == Round::none) return {there[place].destination(), false, false, false, {}};
    return {there[place].destination(), false, false, true, there[reader].destination()};
  }

  void mark_receive(std::uint32_t step) {
    if (round_of_[step] > 0) return;
    const std::size_t found = rounds_.front().reader_of(step);
    if (found == Round::none) {
      lowering_.lent[step] = step_at(step).count != 0 && other_end(step).lends_copies;
      return;
    }
    const auto reader = static_cast<std::uint32_t>(found);
    const bool is_source = step_at(reader).source() == step_at(step).destination();
    lowering_.in_place[step] = true;
    lowering_.lent[step] = other_end(step).lends;
    lowering_.reader[step] = reader;
    (is_source ? lowering_.source_from : lowering_.base_from)[reader] = step;
  }

  void mark_send(std::uint32_t step) {
    if (step_at(step).count == 0) return;
    if (round_of_[step] == 0) {
      const Round& round = rounds_.front();
      lowering_.in_place[step] = other_end(step).takes_in_place;
      lowering_.lent[step] = lowering_.in_place[step] ? round.lends() : round.lends_copies();
    }
    for (const std::uint32_t before : schedule_.dependencies_of(step)) {
      const bool made_it =
          step_at(before).kind == StepKind::reduce && step_at(before).destination() == step_at(step).source();
      if (made_it) lowering_.follows[step] = before;
    }
  }

  // Only a copy to where the input may lie anyhow: nobody else writes over its source before the reduce has read it.
  void mark_copy(std::uint32_t step) {
    const auto successors = schedule_.successors_of(step);
    if (successors.size() != 1 || !is_identity_in_place(schedule_.shape, schedule_.me, step_at(step))) return;
    const Step& next = step_at(successors.front());
    if (next.kind != StepKind::reduce || next.destination() != step_at(step).destination()) return;
    lowering_.copy_before[successors.front()] = step;
    lowering_.copy_before[step] = successors.front();
  }

  bool is_answer(std::uint32_t step) const {
    const Step& receive = step_at(step);
    const auto before = schedule_.dependencies_of(step);
    if (lowering_.in_place[step] || before.size() != 1) return false;
    const std::uint32_t granted = before.front();
    const Step& send = step_at(granted);
    if (send.kind != StepKind::send || send.peer != receive.peer || !lowering_.in_place[granted]) return false;
    return other_end(granted).combined_into == other_end(step).blocks;
  }

  const schedule::Algorithm& algorithm_;
  const Schedule& schedule_;
  const bool all_do_as_i_do_;
  std::vector<Round> rounds_;
  std::vector<std::uint32_t> round_of_;
  std::vector<std::uint32_t> ordinals_;  // of messages: which of its kind with its peer in its round; as at the peer
  Lowering lowering_;
};

}  // namespace

Lowering lower(const schedule::Algorithm& algorithm, const Schedule& schedule) {
  return Pass(algorithm, schedule).run();
}

}  // namespace stretto
