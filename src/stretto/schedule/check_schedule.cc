#include <algorithm>
#include <utility>

#include "stretto/schedule/access.h"
#include "stretto/schedule/check.h"
#include "stretto/schedule/step_fault.h"

namespace stretto::schedule {
namespace {

/// Whether `offsets` cut [0, total) into consecutive ranges.
bool are_offsets(std::span<const std::uint32_t> offsets, std::size_t total) {
  return !offsets.empty() && offsets.front() == 0 && offsets.back() == total &&
         std::is_sorted(offsets.begin(), offsets.end());
}

Found check_form(const Schedule& schedule, const Shape& shape, Rank rank) {
  if (schedule.me != rank) return violation(rank, "has the schedule of rank " + std::to_string(schedule.me));
  if (schedule.shape != shape) return violation(rank, "has the schedule of another shape: " + describe(schedule.shape));
  if (!are_offsets(schedule.round_offsets, schedule.steps.size())) {
    return violation(rank, "its rounds do not cut its steps into consecutive ranges");
  }
  for (std::uint32_t i = 0; i < schedule.steps.size(); ++i) {
    const Step& step = schedule.steps[i];
    if (const std::string fault = fault_of(shape, rank, schedule.scratch_blocks, step); !fault.empty()) {
      return violation(schedule, i, fault);
    }
    if (std::uint64_t{step.dependency_offset} + step.dependency_count > schedule.dependencies.size()) {
      return violation(schedule, i, "its dependencies lie outside of the list of dependencies");
    }
    for (const std::uint32_t earlier : schedule.dependencies_of(i)) {
      if (earlier >= i)
        return violation(schedule, i, "waits for step " + std::to_string(earlier) + ", not an earlier one");
    }
  }
  return {};
}

/// Successors must be the dependencies turned round, or an executor that counts down would stall or start too early.
Found check_successors(const Schedule& schedule) {
  if (schedule.successor_offsets.size() != schedule.steps.size() + 1 ||
      !are_offsets(schedule.successor_offsets, schedule.successors.size())) {
    return violation(schedule.me, "its successors are not cut into one range per step");
  }
  std::vector<std::pair<std::uint32_t, std::uint32_t>> waits;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> wakes;
  for (std::uint32_t i = 0; i < schedule.steps.size(); ++i) {
    for (const std::uint32_t earlier : schedule.dependencies_of(i)) waits.emplace_back(earlier, i);
    for (const std::uint32_t later : schedule.successors_of(i)) wakes.emplace_back(i, later);
  }
  std::sort(waits.begin(), waits.end());
  std::sort(wakes.begin(), wakes.end());
  const auto [wait, wake] = std::mismatch(waits.begin(), waits.end(), wakes.begin(), wakes.end());
  if (wait == waits.end() && wake == wakes.end()) return {};
  const std::uint32_t step = wait != waits.end() ? wait->first : wake->first;
  return violation(schedule, step, "its successors are not the steps that wait for it");
}

/// Which steps a step waits for, also through others: a bit per pair of steps.
class Ancestors {
 public:
  explicit Ancestors(const Schedule& schedule)
      : words_((schedule.steps.size() + 63) / 64), bits_(words_ * schedule.steps.size()) {
    for (std::uint32_t i = 0; i < schedule.steps.size(); ++i) {
      std::uint64_t* const mine = bits_.data() + i * words_;
      for (const std::uint32_t earlier : schedule.dependencies_of(i)) {
        const std::uint64_t* const theirs = bits_.data() + earlier * words_;
        for (std::size_t word = 0; word <= earlier / 64; ++word) mine[word] |= theirs[word];
        mine[earlier / 64] |= std::uint64_t{1} << (earlier % 64);
      }
    }
  }

  bool waits_for(std::uint32_t step, std::uint32_t earlier) const {
    return (bits_[step * words_ + earlier / 64] >> (earlier % 64) & 1U) != 0;
  }

 private:
  std::size_t words_;
  std::vector<std::uint64_t> bits_;
};

Found check_dependencies(const Schedule& schedule) {
  const Ancestors ancestors(schedule);
  AccessTracker tracker(schedule.shape, schedule.me, schedule.scratch_blocks);
  std::vector<std::uint32_t> conflicts;
  for (std::uint32_t i = 0; i < schedule.steps.size(); ++i) {
    conflicts.clear();
    tracker.add(i, schedule.steps[i], conflicts);
    for (const std::uint32_t earlier : conflicts) {
      if (ancestors.waits_for(i, earlier)) continue;
      return violation(schedule, i,
                       "does not wait for step " + std::to_string(earlier) + " (" + describe(schedule.steps[earlier]) +
                           "), which touches the same data");
    }
  }
  return {};
}

Found check_rounds(const Schedule& schedule) {
  for (std::uint32_t round = 0; round < schedule.rounds(); ++round) {
    bool has_received = false;
    for (std::uint32_t i = schedule.round_offsets[round]; i < schedule.round_offsets[round + 1]; ++i) {
      has_received |= schedule.steps[i].kind == StepKind::receive;
      if (has_received && schedule.steps[i].kind == StepKind::send) {
        return violation(schedule, i, "sends after a receive of the same round");
      }
    }
  }
  return {};
}

}  // namespace

Found check_schedule(const Schedule& schedule, const Shape& shape, Rank rank) {
  if (Found found = check_form(schedule, shape, rank)) return found;
  if (Found found = check_successors(schedule)) return found;
  if (Found found = check_rounds(schedule)) return found;
  return check_dependencies(schedule);
}

}  // namespace stretto::schedule
