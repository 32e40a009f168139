#include "stretto/schedule/materialize.h"

#include <algorithm>
#include <map>
#include <utility>

#include "stretto/base/error.h"
#include "stretto/schedule/access.h"
#include "stretto/schedule/step_fault.h"

namespace stretto::schedule {
namespace {

class Recorder final : public Sink {
 public:
  std::vector<Step> steps;

 private:
  void emit(const Step& step) override { steps.push_back(step); }
};

/// Numbers the messages on each directed edge.
void number_messages(std::vector<Step>& steps) {
  std::map<std::pair<Rank, StepKind>, std::uint32_t> next;
  for (Step& step : steps) {
    if (step.is_message()) step.tag = next[{step.peer, step.kind}]++;
  }
}

/// Fills Schedule::dependencies, without those that another dependency of the same step waits for itself.
void find_dependencies(Schedule& schedule) {
  AccessTracker tracker(schedule.shape, schedule.me, schedule.scratch_blocks);
  std::vector<std::uint32_t> earlier;
  std::vector<std::uint32_t> implied_for(schedule.steps.size(), 0);  // by which step's number (plus 1) it was marked
  for (std::uint32_t i = 0; i < schedule.steps.size(); ++i) {
    earlier.clear();
    tracker.add(i, schedule.steps[i], earlier);
    std::sort(earlier.begin(), earlier.end());
    earlier.erase(std::unique(earlier.begin(), earlier.end()), earlier.end());
    for (const std::uint32_t step : earlier) {
      for (const std::uint32_t implied : schedule.dependencies_of(step)) implied_for[implied] = i + 1;
    }
    schedule.steps[i].dependency_offset = static_cast<std::uint32_t>(schedule.dependencies.size());
    for (const std::uint32_t step : earlier) {
      if (implied_for[step] != i + 1) schedule.dependencies.push_back(step);
    }
    schedule.steps[i].dependency_count =
        static_cast<std::uint32_t>(schedule.dependencies.size()) - schedule.steps[i].dependency_offset;
  }
}

/// Fills Schedule::successors by turning the dependencies round.
void find_successors(Schedule& schedule) {
  std::vector<std::uint32_t>& offsets = schedule.successor_offsets;
  offsets.assign(schedule.steps.size() + 1, 0);
  for (const std::uint32_t step : schedule.dependencies) ++offsets[step + 1];
  for (std::size_t i = 1; i < offsets.size(); ++i) offsets[i] += offsets[i - 1];

  std::vector<std::uint32_t> next(offsets.begin(), offsets.end() - 1);
  schedule.successors.resize(schedule.dependencies.size());
  for (std::uint32_t i = 0; i < schedule.steps.size(); ++i) {
    for (const std::uint32_t step : schedule.dependencies_of(i)) schedule.successors[next[step]++] = i;
  }
}

}  // namespace

Program write_program(const Algorithm& algorithm, const Shape& shape, Rank me) {
  algorithm.require(shape);
  if (me >= shape.size) {
    throw Error(ErrorCode::invalid_argument,
                "rank " + std::to_string(me) + " is not a rank of a group of " + std::to_string(shape.size));
  }
  Recorder recorder;
  Program program;
  const std::uint32_t rounds = algorithm.rounds(shape);
  program.round_offsets.reserve(std::size_t{rounds} + 1);
  program.round_offsets.push_back(0);
  for (std::uint32_t round = 0; round < rounds; ++round) {
    algorithm.steps(shape, me, round, recorder);
    program.round_offsets.push_back(static_cast<std::uint32_t>(recorder.steps.size()));
  }
  program.steps = std::move(recorder.steps);
  program.scratch_blocks = algorithm.scratch_blocks(shape, me);
  return program;
}

Schedule assemble(const Shape& shape, Rank me, Program program) {
  for (const Step& step : program.steps) {
    if (const std::string fault = fault_of(shape, me, program.scratch_blocks, step); !fault.empty()) {
      throw Error(ErrorCode::internal, "rank " + std::to_string(me) + " cannot '" + describe(step) + "' in a " +
                                           describe(shape) + ": " + fault);
    }
  }
  Schedule schedule;
  schedule.shape = shape;
  schedule.me = me;
  schedule.scratch_blocks = program.scratch_blocks;
  schedule.steps = std::move(program.steps);
  schedule.round_offsets = std::move(program.round_offsets);
  number_messages(schedule.steps);
  find_dependencies(schedule);
  find_successors(schedule);
  return schedule;
}

Schedule materialize(const Algorithm& algorithm, const Shape& shape, Rank me) {
  return assemble(shape, me, write_program(algorithm, shape, me));
}

}  // namespace stretto::schedule
