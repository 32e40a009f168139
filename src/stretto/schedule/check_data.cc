#include <string>
#include <utility>
#include <vector>

#include "stretto/schedule/canonical.h"
#include "stretto/schedule/check.h"
#include "stretto/schedule/contribution.h"

namespace stretto::schedule {
namespace {

using Id = ContributionTable::Id;

/// What one rank's blocks hold in a symbolic run.
class SymbolicMemory {
 public:
  SymbolicMemory(const Schedule& schedule, bool in_place)
      : offset_(in_place_offset(schedule.shape, schedule.me)),
        inputs_(input_blocks(schedule.shape, schedule.me)),
        outputs_(output_blocks(schedule.shape, schedule.me)),
        shares_(in_place && inputs_ > 0 && outputs_ > 0),
        ids_(std::size_t{inputs_} + outputs_ + schedule.scratch_blocks, ContributionTable::unset),
        unread_(ids_.size(), false) {}

  Id read(Buffer buffer, std::uint32_t block) {
    unread_[place_of(buffer, block)] = false;
    return ids_[place_of(buffer, block)];
  }
  /// Returns whether what was there was written in vain.
  bool write(Buffer buffer, std::uint32_t block, Id id) {
    const bool in_vain = unread_[place_of(buffer, block)];
    unread_[place_of(buffer, block)] = true;
    ids_[place_of(buffer, block)] = id;
    return in_vain;
  }
  void give(std::uint32_t input_block, Id id) { ids_[place_of(Buffer::input, input_block)] = id; }
  bool is_unread(Buffer buffer, std::uint32_t block) const { return unread_[place_of(buffer, block)]; }

 private:
  std::size_t place_of(Buffer buffer, std::uint32_t block) const {
    if (buffer == Buffer::scratch) return std::size_t{inputs_} + outputs_ + block;
    const std::int64_t output = buffer == Buffer::output ? block : offset_ + block;
    const bool is_output = output >= 0 && output < outputs_ && (buffer == Buffer::output || shares_);
    return is_output ? inputs_ + static_cast<std::size_t>(output) : block;
  }

  std::int64_t offset_;
  std::uint32_t inputs_;
  std::uint32_t outputs_;
  bool shares_;  ///< input lies in output
  std::vector<Id> ids_;
  std::vector<bool> unread_;
};

/// One symbolic run of all ranks.
class SymbolicRun {
 public:
  using Counts = ContributionTable::Counts;

  SymbolicRun(std::span<const Schedule> schedules, const Shape& shape, const Links& links, Layout layout, Counts counts)
      : schedules_(schedules), shape_(shape), links_(links), layout_(layout), table_(counts) {
    for (const Schedule& schedule : schedules) {
      SymbolicMemory& memory = memories_.emplace_back(schedule, layout.in_place);
      for (std::uint32_t b = 0; b < input_blocks(shape, schedule.me); ++b) {
        const std::uint32_t block = block_at(shape, schedule.me, Buffer::input, b);
        memory.give(b, table_.of(block, {schedule.me, schedule.me + 1}));
      }
    }
  }

  Found run(StepAt at) {
    const Schedule& schedule = schedules_[at.rank];
    const Step& step = schedule.steps[at.step];
    SymbolicMemory& memory = memories_[at.rank];
    if (step.kind == StepKind::send) return {};  // read by its receive, which comes next in the order
    if (layout_.in_place && is_identity_in_place(shape_, at.rank, step)) return {};

    const StepAt from = step.kind == StepKind::receive ? links_[at.rank][at.step] : at;
    const Step& giver = schedules_[from.rank].steps[from.step];
    for (std::uint32_t i = 0; i < step.count; ++i) {
      Id id = memories_[from.rank].read(giver.source_buffer, giver.source_first + i);
      if (id == ContributionTable::unset) {
        return violation(schedules_[from.rank], from.step, "reads a block that nothing was written to");
      }
      if (step.kind == StepKind::reduce) {
        const Id before = memory.read(step.destination_buffer, step.destination_first + i);
        const bool source_first = step.order == Order::source_first;
        std::string reason;
        const auto sum = source_first ? table_.combine(id, before, reason) : table_.combine(before, id, reason);
        if (!sum) return violation(schedule, at.step, reason);
        id = *sum;
      }
      if (!belongs_at(at.rank, step.destination_buffer, step.destination_first + i, table_[id])) {
        return violation(schedule, at.step,
                         "puts " + describe(table_[id]) + " where a block of another length belongs");
      }
      const bool in_vain = memory.write(step.destination_buffer, step.destination_first + i, id);
      if (in_vain && !layout_.in_place)
        return violation(schedule, at.step, "writes a block again that was not read since");
    }
    return {};
  }

  /// How each block of a rank's output was combined.
  std::vector<std::string> trees(Rank me) {
    std::vector<std::string> found;
    for (std::uint32_t b = 0; b < output_blocks(shape_, me); ++b) {
      found.push_back(table_[memories_[me].read(Buffer::output, b)].tree);
    }
    return found;
  }

  /// What is wrong in the end.
  Found result() {
    for (const Schedule& schedule : schedules_) {
      const Rank me = schedule.me;
      for (std::uint32_t b = 0; b < output_blocks(shape_, me); ++b) {
        const Id id = memories_[me].read(Buffer::output, b);
        const Id expected = expected_in(me, b);
        if (id == expected) continue;
        return violation(me, "output block " + std::to_string(b) + " ends with " + describe(table_[id]) +
                                 ", not with " + describe(table_[expected]) +
                                 (layout_.in_place ? ", when input and output are in place" : ""));
      }
      for (std::uint32_t b = 0; b < schedule.scratch_blocks && !layout_.in_place; ++b) {
        if (memories_[me].is_unread(Buffer::scratch, b)) {
          return violation(me, "scratch block " + std::to_string(b) + " is written last and never read");
        }
      }
    }
    return {};
  }

 private:
  /// Whether a place of `rank` is as long as what `contribution` stands for.
  bool belongs_at(Rank rank, Buffer buffer, std::uint32_t place, const Contribution& contribution) const {
    if (layout_.equal_blocks) return true;
    if (shape_.operation != Operation::all_to_all) return contribution.block == block_at(shape_, rank, buffer, place);
    return buffer == Buffer::output && contribution.block == rank &&
           contribution.runs == std::vector<RankRun>{{place, place + 1}};
  }

  Id expected_in(Rank me, std::uint32_t place) {
    const std::uint32_t block = block_at(shape_, me, Buffer::output, place);
    switch (shape_.operation) {
      case Operation::broadcast:
      case Operation::scatter: return table_.of(block, {shape_.root, shape_.root + 1});
      case Operation::allgather:
      case Operation::gather: return table_.of(block, {block, block + 1});
      case Operation::all_to_all: return table_.of(me, {place, place + 1});
      case Operation::scan: return table_.of(block, {0, me + 1});
      case Operation::exscan: return table_.of(block, {0, me});
      case Operation::barrier:
      case Operation::reduce:
      case Operation::allreduce:
      case Operation::reduce_scatter:
      case Operation::general_reduce: break;
    }
    return table_.of(block, {0, contributing_ranks(shape_)});
  }

  std::span<const Schedule> schedules_;
  const Shape& shape_;
  const Links& links_;
  Layout layout_;
  ContributionTable table_;
  std::vector<SymbolicMemory> memories_;
};

/// A bit for each rank.
using RankSet = std::vector<std::uint64_t>;

/// Whom a rank of a barrier has heard of, and by which of its receives.
class Hearing {
 public:
  Hearing(Rank me, Rank size) : me_(me), words_((std::size_t{size} + 63) / 64) {}

  void hear(std::uint32_t step, RankSet ranks) { heard_.push_back({step, std::move(ranks)}); }

  /// What the rank knows when `step` starts: a message without blocks waits for all that were received before it.
  RankSet known_before(std::uint32_t step) const {
    RankSet known(words_, 0);
    known[me_ / 64] |= std::uint64_t{1} << (me_ % 64);
    for (const Message& message : heard_) {
      if (message.step >= step) continue;
      for (std::size_t word = 0; word < words_; ++word) known[word] |= message.ranks[word];
    }
    return known;
  }

 private:
  struct Message {
    std::uint32_t step;
    RankSet ranks;
  };

  Rank me_;
  std::size_t words_;
  std::vector<Message> heard_;
};

}  // namespace

Found run_on_symbols(std::span<const Schedule> schedules, const Shape& shape, const Links& links,
                     std::span<const StepAt> order, Layout layout) {
  using Counts = ContributionTable::Counts;
  const Counts counts = shape.reproducible ? Counts::tree : shape.commutative ? Counts::nothing : Counts::order;
  SymbolicRun run(schedules, shape, links, layout, counts);
  for (const StepAt at : order) {
    if (Found found = run.run(at)) return found;
  }
  return run.result();
}

std::vector<std::vector<std::string>> combine_trees(std::span<const Schedule> schedules) {
  Links links;
  std::vector<StepAt> order;
  match_messages(schedules, links);
  find_order(schedules, links, order);
  SymbolicRun run(schedules, schedules.front().shape, links, {}, ContributionTable::Counts::tree);
  for (const StepAt at : order) run.run(at);
  std::vector<std::vector<std::string>> trees;
  for (const Schedule& schedule : schedules) trees.push_back(run.trees(schedule.me));
  return trees;
}

Found run_barrier(std::span<const Schedule> schedules, const Shape& shape, const Links& links,
                  std::span<const StepAt> order) {
  std::vector<Hearing> hearings;
  for (Rank rank = 0; rank < shape.size; ++rank) hearings.emplace_back(rank, shape.size);
  for (const StepAt at : order) {
    if (schedules[at.rank].steps[at.step].kind != StepKind::receive) continue;
    const StepAt from = links[at.rank][at.step];
    hearings[at.rank].hear(at.step, hearings[from.rank].known_before(from.step));
  }
  for (Rank rank = 0; rank < shape.size; ++rank) {
    const RankSet known = hearings[rank].known_before(~std::uint32_t{0});
    for (Rank other = 0; other < shape.size; ++other) {
      if ((known[other / 64] >> (other % 64) & 1U) != 0) continue;
      return violation(rank, "may leave the barrier before rank " + std::to_string(other) + " has come");
    }
  }
  return {};
}

}  // namespace stretto::schedule
