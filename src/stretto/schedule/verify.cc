#include "stretto/schedule/verify.h"

#include <utility>
#include <vector>

#include "stretto/base/error.h"
#include "stretto/schedule/access.h"
#include "stretto/schedule/check.h"
#include "stretto/schedule/materialize.h"

namespace stretto::schedule {
namespace {

std::string described(Rank rank, std::uint32_t step, const Step& what, const std::string& reason) {
  return "rank " + std::to_string(rank) + ", step " + std::to_string(step) + " (" + describe(what) + "): " + reason;
}

/// `step` as rank 0 would write it if `me` were rank 0. Blocks move along with ranks where they belong to ranks.
Step turned_back(const Shape& shape, Rank me, Step step) {
  const auto turn = [&](Rank rank) { return rank >= me ? rank - me : rank + (shape.size - me); };
  const bool moves = shape.operation == Operation::allgather && step.count == 1;
  if (step.is_message()) step.peer = turn(step.peer);
  if (moves && step.source_buffer == Buffer::output) step.source_first = turn(step.source_first);
  if (moves && step.destination_buffer == Buffer::output) step.destination_first = turn(step.destination_first);
  return step;
}

/// Whether rank `me` does what rank 0 does, peers moved on by `me`.
Found check_symmetry(const Shape& shape, Rank me, const Program& mine, const Program& first) {
  if (mine.round_offsets != first.round_offsets)
    return violation(me, "claims symmetry, but has other rounds than rank 0");
  for (std::uint32_t i = 0; i < mine.steps.size(); ++i) {
    const std::string here = describe(turned_back(shape, me, mine.steps[i]));
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

std::optional<Violation> verify(std::span<const Schedule> schedules, const Shape& shape) {
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
  if (Found found = run_on_symbols(schedules, shape, links, order, /*in_place=*/false)) return found;
  return run_on_symbols(schedules, shape, links, order, /*in_place=*/true);
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
      if (Found found = check_symmetry(shape, me, program, first)) return found;
    }
    schedules.push_back(assemble(shape, me, std::move(program)));
  }
  return verify(schedules, shape);
}

}  // namespace stretto::schedule
