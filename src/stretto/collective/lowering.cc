#include "stretto/collective/lowering.h"

#include <algorithm>
#include <span>
#include <utility>

namespace stretto {

namespace {

using schedule::Buffer;
using schedule::Rank;
using schedule::Schedule;
using schedule::Step;
using schedule::StepKind;

/// A rank's steps of one round, as the algorithm writes them.
class Round final : public schedule::Sink {
 public:
  Round(const schedule::Algorithm& algorithm, const schedule::Shape& shape, Rank rank, std::uint32_t round) {
    algorithm.steps(shape, rank, round, *this);
  }
  std::span<const Step> steps() const noexcept { return steps_; }

 private:
  void emit(const Step& step) override { steps_.push_back(step); }

  std::vector<Step> steps_;
};

bool overlap(const schedule::BlockRef& a, const schedule::BlockRef& b) {
  return a.buffer == b.buffer && a.first < b.first + b.count && b.first < a.first + a.count;
}

bool touches(const Step& step, const schedule::BlockRef& blocks) {
  return (step.kind != StepKind::receive && overlap(step.source(), blocks)) ||
         (step.kind != StepKind::send && overlap(step.destination(), blocks));
}

// Whether two places may be the same memory, also where the caller passes input and output in place.
bool may_overlap(const schedule::Shape& shape, Rank me, schedule::BlockRef a, schedule::BlockRef b) {
  if (a.buffer == Buffer::scratch || b.buffer == Buffer::scratch || a.buffer == b.buffer) return overlap(a, b);
  if (a.buffer == Buffer::output) std::swap(a, b);
  if (schedule::input_blocks(shape, me) == 0 || schedule::output_blocks(shape, me) == 0) return false;
  const std::int64_t first = std::int64_t{a.first} + schedule::in_place_offset(shape, me);
  return first < std::int64_t{b.first} + b.count && b.first < first + std::int64_t{a.count};
}

// Whether a rank writes nothing in a round that it also sends in it. Then none of its combinations waits for a peer to
// be through with what it was granted, and two ranks that grant each other something cannot wait for each other.
bool leaves_alone_what_it_sends(std::span<const Step> steps, const schedule::Shape& shape, Rank rank) {
  return std::none_of(steps.begin(), steps.end(), [&](const Step& send) {
    return send.kind == StepKind::send && std::any_of(steps.begin(), steps.end(), [&](const Step& other) {
             return other.kind != StepKind::send && may_overlap(shape, rank, send.source(), other.destination());
           });
  });
}

// The place of the reduce by which a rank first touches what steps[at] receives into scratch; the number of steps if
// there is no such receive or what comes first is no reduce.
std::size_t reader_of(std::span<const Step> steps, std::size_t at) {
  if (at >= steps.size() || steps[at].kind != StepKind::receive || steps[at].count == 0) return steps.size();
  const schedule::BlockRef landing = steps[at].destination();
  if (landing.buffer != Buffer::scratch) return steps.size();
  for (std::size_t next = at + 1; next < steps.size(); ++next) {
    if (!touches(steps[next], landing)) continue;
    const bool combines = steps[next].kind == StepKind::reduce &&
                          (steps[next].source() == landing || steps[next].destination() == landing);
    return combines ? next : steps.size();
  }
  return steps.size();
}

// The place among `steps` of message number `ordinal` of that kind with `peer`; their number if there is none.
std::size_t find_message(std::span<const Step> steps, StepKind kind, Rank peer, std::size_t ordinal) {
  for (std::size_t at = 0; at < steps.size(); ++at) {
    if (steps[at].kind == kind && steps[at].peer == peer && ordinal-- == 0) return at;
  }
  return steps.size();
}

/// One schedule being lowered.
class Pass {
 public:
  Pass(const schedule::Algorithm& algorithm, const Schedule& schedule) : algorithm_(algorithm), schedule_(schedule) {
    const std::size_t steps = schedule.steps.size();
    lowering_.in_place.resize(steps, false);
    lowering_.reader.resize(steps, Lowering::none);
    lowering_.source_from.resize(steps, Lowering::none);
    lowering_.base_from.resize(steps, Lowering::none);
    lowering_.copy_before.resize(steps, Lowering::none);
    lowering_.follows.resize(steps, Lowering::none);
    round_of_.resize(steps);
    for (std::uint32_t round = 0; round < schedule.rounds(); ++round) {
      for (std::uint32_t step = begin_of(round); step < end_of(round); ++step) round_of_[step] = round;
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
      if (step_at(step).kind == StepKind::receive && may_be_ready_early(step)) lowering_.ready_early.push_back(step);
      note_scratch(step);
    }
    return std::move(lowering_);
  }

 private:
  const Step& step_at(std::uint32_t step) const { return schedule_.steps[step]; }
  std::uint32_t begin_of(std::uint32_t round) const { return schedule_.round_offsets[round]; }
  std::uint32_t end_of(std::uint32_t round) const { return schedule_.round_offsets[round + 1]; }
  Round peers_round(Rank peer, std::uint32_t round) const { return {algorithm_, schedule_.shape, peer, round}; }

  // The steps of the round that `step` is in.
  std::span<const Step> round_around(std::uint32_t step) const {
    const std::uint32_t round = round_of_[step];
    return std::span(schedule_.steps).subspan(begin_of(round), end_of(round) - begin_of(round));
  }

  // Which message of its kind with its peer `step` is in its round: the same number at the other end.
  std::size_t ordinal_of(std::uint32_t step) const {
    const auto first = schedule_.steps.begin() + begin_of(round_of_[step]);
    return static_cast<std::size_t>(std::count_if(first, schedule_.steps.begin() + step, [&](const Step& other) {
      return other.kind == step_at(step).kind && other.peer == step_at(step).peer;
    }));
  }

  void mark_receive(std::uint32_t step) {
    if (round_of_[step] > 0 || !leaves_alone_what_it_sends(round_around(step), schedule_.shape, schedule_.me)) return;
    const std::span<const Step> round = round_around(step);
    const std::uint32_t first = begin_of(round_of_[step]);
    const std::size_t found = reader_of(round, step - first);
    if (found == round.size()) return;
    const auto reader = first + static_cast<std::uint32_t>(found);
    const bool is_source = step_at(reader).source() == step_at(step).destination();
    lowering_.in_place[step] = true;
    lowering_.reader[step] = reader;
    lowering_.taken_in_place.push_back(step);
    (is_source ? lowering_.source_from : lowering_.base_from)[reader] = step;
  }

  void mark_send(std::uint32_t step) {
    if (step_at(step).count == 0) return;
    lowering_.in_place[step] = round_of_[step] == 0 && is_taken_in_place(step);
    for (const std::uint32_t before : schedule_.dependencies_of(step)) {
      const bool made_it =
          step_at(before).kind == StepKind::reduce && step_at(before).destination() == step_at(step).source();
      if (made_it) lowering_.follows[step] = before;
    }
  }

  bool is_taken_in_place(std::uint32_t send) const {
    const Rank peer = step_at(send).peer;
    const Round there = peers_round(peer, round_of_[send]);
    const std::size_t receive = find_message(there.steps(), StepKind::receive, schedule_.me, ordinal_of(send));
    return reader_of(there.steps(), receive) != there.steps().size() &&
           leaves_alone_what_it_sends(there.steps(), schedule_.shape, peer);
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

  bool may_be_ready_early(std::uint32_t step) const {
    const Step& receive = step_at(step);
    const auto before = schedule_.dependencies_of(step);
    if (lowering_.in_place[step] || before.size() != 1) return false;
    const std::uint32_t granted = before.front();
    const Step& send = step_at(granted);
    if (send.kind != StepKind::send || send.peer != receive.peer || !lowering_.in_place[granted]) return false;
    const Round takes = peers_round(receive.peer, round_of_[granted]);
    const Round gives = peers_round(receive.peer, round_of_[step]);
    const std::size_t taken = find_message(takes.steps(), StepKind::receive, schedule_.me, ordinal_of(granted));
    const std::size_t given = find_message(gives.steps(), StepKind::send, schedule_.me, ordinal_of(step));
    const std::size_t reader = reader_of(takes.steps(), taken);
    return takes.steps()[reader].destination() == gives.steps()[given].source();
  }

  static void add(Lowering::Slots& slots, const schedule::BlockRef& blocks) {
    if (blocks.buffer != Buffer::scratch || blocks.count == 0) return;
    slots.first = slots.end == 0 ? blocks.first : std::min(slots.first, blocks.first);
    slots.end = std::max(slots.end, blocks.first + blocks.count);
  }

  void note_scratch(std::uint32_t step) {
    const Step& what = step_at(step);
    if (what.kind != StepKind::receive) add(lowering_.scratch, what.source());
    if (what.kind != StepKind::send) add(lowering_.scratch, what.destination());
    const bool lands_elsewhere = lowering_.reader[step] != Lowering::none;
    const bool comes_from_elsewhere = lowering_.source_from[step] != Lowering::none;
    if (what.kind != StepKind::receive && !comes_from_elsewhere) add(lowering_.scratch_in_place, what.source());
    if (what.kind != StepKind::send && !lands_elsewhere) add(lowering_.scratch_in_place, what.destination());
  }

  const schedule::Algorithm& algorithm_;
  const Schedule& schedule_;
  std::vector<std::uint32_t> round_of_;
  Lowering lowering_;
};

}  // namespace

Lowering lower(const schedule::Algorithm& algorithm, const Schedule& schedule) {
  return Pass(algorithm, schedule).run();
}

}  // namespace stretto
