#include "stretto/schedule/verify.h"

#include <utility>
#include <vector>

#include "stretto/base/error.h"
#include "stretto/schedule/check.h"
#include "stretto/schedule/materialize.h"
#include "stretto/schedule/step_fault.h"

namespace stretto::schedule {
namespace {

std::string described(Rank rank, std::uint32_t step, const Step& what, const std::string& reason) {
  return "rank " + std::to_string(rank) + ", step " + std::to_string(step) + " (" + describe(what) + "): " + reason;
}

/// Steps as rank 0 would write them if some other rank were rank 0. Blocks move along with ranks where they belong to
/// ranks: a block for each, or a vector cut into as many segments for each.
class TurnBack {
 public:
  TurnBack(const Algorithm& algorithm, const Shape& shape, Rank me)
      : shape_(shape),
        me_(me),
        blocks_(vector_blocks(shape)),
        segments_(blocks_ % shape.size == 0 ? blocks_ / shape.size : 0),
        slots_are_blocks_(!algorithm.needs_equal_blocks()) {}

  Step operator()(Step step) const {
    if (step.is_message()) step.peer = turned(step.peer);
    step.source_first = turned(step.source_buffer, step.source_first, step.count);
    step.destination_first = turned(step.destination_buffer, step.destination_first, step.count);
    return step;
  }

 private:
  Rank turned(Rank rank) const { return rank >= me_ ? rank - me_ : rank + (shape_.size - me_); }

  std::uint32_t turned(Buffer buffer, std::uint32_t first, std::uint32_t count) const {
    const bool is_whole = count == blocks_;
    const bool is_vector = buffer == Buffer::scratch ? slots_are_blocks_
                           : buffer == Buffer::input ? input_blocks(shape_, me_) == blocks_
                                                     : output_blocks(shape_, me_) == blocks_;
    if (segments_ == 0 || is_whole || !is_vector) return first;
    const std::uint32_t block = first % blocks_;
    return first - block + turned(block / segments_) * segments_ + block % segments_;
  }

  const Shape& shape_;
  Rank me_;
  std::uint32_t blocks_;
  std::uint32_t segments_;  ///< blocks that belong to each rank; 0 if they belong to none
  bool slots_are_blocks_;
};

/// Whether rank `me` does what rank 0 does, peers moved on by `me`.
Found check_symmetry(const TurnBack& turn_back, Rank me, const Program& mine, const Program& first) {
  if (mine.round_offsets != first.round_offsets)
    return violation(me, "claims symmetry, but has other rounds than rank 0");
  for (std::uint32_t i = 0; i < mine.steps.size(); ++i) {
    const std::string here = describe(turn_back(mine.steps[i]));
    const std::string there = describe(first.steps[i]);
    if (here == there) continue;
    const std::string reason = "claims symmetry, but turned back to rank 0 it is '" + here + "', not '" + there + "'";
    return Violation{me, i, reason, described(me, i, mine.steps[i], reason)};
  }
  return {};
}

}  // namespace

Found violation(const Schedule& schedule, std::uint32_t step, const std::string& reason) {
  return Violation{schedule.me, step, reason, described(schedule.me, step, schedule.steps[step], reason)};
}

Found violation(Rank rank, const std::string& reason) {
  return Violation{rank, {}, reason, "rank " + std::to_string(rank) + ": " + reason};
}

std::optional<Violation> verify(std::span<const Schedule> schedules, const Shape& shape, bool equal_blocks) {
  if (const std::string defect = defect_of(shape); !defect.empty()) throw Error(ErrorCode::invalid_argument, defect);
  if (schedules.size() != shape.size) {
    return violation(0, "there are " + std::to_string(schedules.size()) + " schedules for a " + describe(shape));
  }
  for (Rank rank = 0; rank < shape.size; ++rank) {
    if (Found found = check_schedule(schedules[rank], shape, rank)) return found;
  }
  Links links;
  if (Found found = match_messages(schedules, links)) return found;
  std::vector<StepAt> order;
  if (Found found = find_order(schedules, links, order)) return found;
  if (shape.operation == Operation::barrier) return run_barrier(schedules, shape, links, order);
  Layout layout{.in_place = false, .equal_blocks = equal_blocks};
  if (Found found = run_on_symbols(schedules, shape, links, order, layout)) return found;
  if (!may_be_in_place(shape.operation)) return {};
  layout.in_place = true;
  return run_on_symbols(schedules, shape, links, order, layout);
}

std::optional<Violation> verify(const Algorithm& algorithm, const Shape& shape) {
  algorithm.require(shape);
  const bool is_symmetric = algorithm.rotation_symmetric(shape);
  const Program first = write_program(algorithm, shape, 0);
  std::vector<Schedule> schedules;
  for (Rank me = 0; me < shape.size; ++me) {
    Program program = write_program(algorithm, shape, me);
    for (std::uint32_t i = 0; i < program.steps.size(); ++i) {
      const std::string reason = fault_of(shape, me, program.scratch_blocks, program.steps[i]);
      if (!reason.empty()) return Violation{me, i, reason, described(me, i, program.steps[i], reason)};
    }
    if (is_symmetric) {
      if (Found found = check_symmetry(TurnBack(algorithm, shape, me), me, program, first)) return found;
    }
    schedules.push_back(assemble(shape, me, std::move(program)));
  }
  return verify(schedules, shape, algorithm.needs_equal_blocks());
}

}  // namespace stretto::schedule
