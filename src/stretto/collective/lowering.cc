#include "stretto/collective/lowering.h"

#include <algorithm>
#include <map>
#include <utility>

namespace stretto {

namespace {

using schedule::Buffer;
using schedule::Rank;
using schedule::Schedule;
using schedule::Step;
using schedule::StepKind;

bool overlap(const schedule::BlockRef& a, const schedule::BlockRef& b) {
  return a.buffer == b.buffer && a.first < b.first + b.count && b.first < a.first + a.count;
}

bool touches(const Step& step, const schedule::BlockRef& blocks) {
  return (step.kind != StepKind::receive && overlap(step.source(), blocks)) ||
         (step.kind != StepKind::send && overlap(step.destination(), blocks));
}

/// Blocks of a rank that have been marked. Where its input and output may be in place, they are the same blocks.
class MarkedBlocks {
 public:
  MarkedBlocks(const schedule::Shape& shape, Rank rank) {
    const std::uint32_t inputs = schedule::input_blocks(shape, rank);
    const std::uint32_t outputs = schedule::output_blocks(shape, rank);
    const bool one_axis = inputs != 0 && outputs != 0;
    const std::int64_t in_place = one_axis ? schedule::in_place_offset(shape, rank) : 0;
    input_begin_ = static_cast<std::size_t>(std::max<std::int64_t>(in_place, 0));
    output_begin_ = static_cast<std::size_t>(std::max<std::int64_t>(-in_place, 0));
    scratch_begin_ = std::max(input_begin_ + inputs, output_begin_ + outputs);
  }

  void mark(const schedule::BlockRef& blocks) {
    const std::size_t first = place_of(blocks);
    if (marks_.size() < first + blocks.count) marks_.resize(first + blocks.count, false);
    std::fill_n(marks_.begin() + static_cast<std::ptrdiff_t>(first), blocks.count, true);
  }
  bool any_of(const schedule::BlockRef& blocks) const {
    const auto at = [this](std::size_t place) {
      return marks_.begin() + static_cast<std::ptrdiff_t>(std::min(place, marks_.size()));
    };
    const std::size_t first = place_of(blocks);
    return std::find(at(first), at(first + blocks.count), true) != at(first + blocks.count);
  }

 private:
  std::size_t place_of(const schedule::BlockRef& blocks) const {
    switch (blocks.buffer) {
      case Buffer::input: return input_begin_ + blocks.first;
      case Buffer::output: return output_begin_ + blocks.first;
      case Buffer::scratch: break;
    }
    return scratch_begin_ + blocks.first;
  }

  std::size_t input_begin_ = 0;
  std::size_t output_begin_ = 0;
  std::size_t scratch_begin_ = 0;
  std::vector<bool> marks_;
};

/// A rank's steps of one round, as the algorithm writes them.
class Round final : public schedule::Sink {
 public:
  Round(const schedule::Algorithm& algorithm, const schedule::Shape& shape, Rank rank, std::uint32_t round) {
    algorithm.steps(shape, rank, round, *this);
    leaves_alone_what_it_sends_ = !writes_what_it_sends(shape, rank);
  }

  static constexpr std::size_t none = ~std::size_t{0};

  const Step& operator[](std::size_t at) const { return steps_[at]; }
  /// The place of message number `ordinal` of that kind with `peer`, or `none`.
  std::size_t find(StepKind kind, Rank peer, std::uint32_t ordinal) const {
    for (std::size_t at = 0; at < steps_.size(); ++at) {
      if (steps_[at].kind == kind && steps_[at].peer == peer && ordinal-- == 0) return at;
    }
    return none;
  }

  /// The place of the reduce that takes what steps[at] receives from where it lies at its sender; `none` if it is not
  /// taken from there.
  std::size_t reader_of(std::size_t at) const { return leaves_alone_what_it_sends_ ? first_reduce_of(at) : none; }

 private:
  void emit(const Step& step) override { steps_.push_back(step); }

  // Where it doesn't, none of its combinations waits for a peer to be through with what it was granted, and two ranks
  // that grant each other something cannot wait for each other.
  bool writes_what_it_sends(const schedule::Shape& shape, Rank rank) const {
    MarkedBlocks sent(shape, rank);
    for (const Step& step : steps_) {
      if (step.kind == StepKind::send) sent.mark(step.source());
    }
    return std::any_of(steps_.begin(), steps_.end(), [&](const Step& step) {
      return step.kind != StepKind::send && sent.any_of(step.destination());
    });
  }

  // The reduce by which the rank first touches what steps[at] receives into scratch.
  std::size_t first_reduce_of(std::size_t at) const {
    if (at == none || steps_[at].kind != StepKind::receive || steps_[at].count == 0) return none;
    const schedule::BlockRef landing = steps_[at].destination();
    if (landing.buffer != Buffer::scratch) return none;
    for (std::size_t next = at + 1; next < steps_.size(); ++next) {
      if (!touches(steps_[next], landing)) continue;
      const bool combines = steps_[next].kind == StepKind::reduce &&
                            (steps_[next].source() == landing || steps_[next].destination() == landing);
      return combines ? next : none;
    }
    return none;
  }

  std::vector<Step> steps_;
  bool leaves_alone_what_it_sends_ = false;
};

/// One schedule being lowered.
class Pass {
 public:
  Pass(const schedule::Algorithm& algorithm, const Schedule& schedule)
      : algorithm_(algorithm), schedule_(schedule), all_do_as_i_do_(algorithm.rotation_symmetric(schedule.shape)) {
    const std::size_t steps = schedule.steps.size();
    lowering_.in_place.resize(steps, false);
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
      if (step_at(step).kind == StepKind::receive && may_be_ready_early(step)) lowering_.ready_early.push_back(step);
      note_scratch(step);
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
    if (!sent) return {there[place].source(), false, {}};
    const std::size_t reader = there.reader_of(place);
    if (reader == Round::none) return {there[place].destination(), false, {}};
    return {there[place].destination(), true, there[reader].destination()};
  }

  void mark_receive(std::uint32_t step) {
    if (round_of_[step] > 0) return;
    const std::size_t found = rounds_.front().reader_of(step);
    if (found == Round::none) return;
    const auto reader = static_cast<std::uint32_t>(found);
    const bool is_source = step_at(reader).source() == step_at(step).destination();
    lowering_.in_place[step] = true;
    lowering_.reader[step] = reader;
    lowering_.taken_in_place.push_back(step);
    (is_source ? lowering_.source_from : lowering_.base_from)[reader] = step;
  }

  void mark_send(std::uint32_t step) {
    if (step_at(step).count == 0) return;
    lowering_.in_place[step] = round_of_[step] == 0 && other_end(step).takes_in_place;
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

  bool may_be_ready_early(std::uint32_t step) const {
    const Step& receive = step_at(step);
    const auto before = schedule_.dependencies_of(step);
    if (lowering_.in_place[step] || before.size() != 1) return false;
    const std::uint32_t granted = before.front();
    const Step& send = step_at(granted);
    if (send.kind != StepKind::send || send.peer != receive.peer || !lowering_.in_place[granted]) return false;
    return other_end(granted).combined_into == other_end(step).blocks;
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
