#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "stretto/collective/plan.h"

namespace stretto {

/// How far a run of a plan has come: each step's state, those that may start now, and which peers have heard from us.
class StepStates {
 public:
  enum class State : std::uint8_t { waiting, started, complete };

  void reset(const Plan& plan) {
    const std::size_t steps = plan.steps().size();
    const std::size_t peers = plan.peers().size();
    const std::size_t words = 2 * steps + (2 * steps + peers + sizeof(std::uint32_t) - 1) / sizeof(std::uint32_t);
    std::uint32_t* memory = own_.data();
    if (words > own_.size()) {
      large_ = std::make_unique_for_overwrite<std::uint32_t[]>(words);
      memory = large_.get();
    }
    missing_ = memory;
    runnable_ = memory + steps;
    states_ = reinterpret_cast<std::uint8_t*>(memory + 2 * steps);
    messages_ = states_ + steps;
    heard_by_ = messages_ + steps;
    for (std::size_t step = 0; step < steps; ++step) missing_[step] = plan.steps()[step].dependency_count;
    std::fill_n(states_, 2 * steps + peers, std::uint8_t{0});
    left_ = static_cast<std::uint32_t>(steps);
  }

  /// Makes the steps that depend on none runnable.
  void begin(const Plan& plan) noexcept {
    std::copy(plan.first_steps().begin(), plan.first_steps().end(), runnable_);
    runnables_ = static_cast<std::uint32_t>(plan.first_steps().size());
  }

  /// Takes a step that may start, and marks it as started. Plan::none: there is none now.
  std::uint32_t start_next() noexcept {
    if (runnables_ == 0) return Plan::none;
    const std::uint32_t step = runnable_[--runnables_];
    states_[step] = static_cast<std::uint8_t>(State::started);
    return step;
  }

  void complete(std::uint32_t step, const schedule::Schedule& schedule) noexcept {
    states_[step] = static_cast<std::uint8_t>(State::complete);
    --left_;
    for (const std::uint32_t successor : schedule.successors_of(step)) {
      if (--missing_[successor] == 0) runnable_[runnables_++] = successor;
    }
  }

  State of(std::uint32_t step) const noexcept { return static_cast<State>(states_[step]); }
  /// Whether `step` waits for one other step only.
  bool waits_for_one(std::uint32_t step) const noexcept { return missing_[step] == 1; }
  bool all_complete() const noexcept { return left_ == 0; }

  /// Notes that the one message which a step waits for has come. False: it had come before.
  bool note_message(std::uint32_t step) noexcept { return std::exchange(messages_[step], std::uint8_t{1}) == 0; }

  bool has_message(std::uint32_t step) const noexcept { return messages_[step] != 0; }

  bool heard_by(std::size_t peer) const noexcept { return heard_by_[peer] != 0; }
  void set_heard_by(std::size_t peer) noexcept { heard_by_[peer] = 1; }

  /// The first step that is not complete; their number when all are.
  std::uint32_t first_incomplete(const Plan& plan) noexcept {
    while (first_incomplete_ < plan.steps().size() && of(first_incomplete_) == State::complete) ++first_incomplete_;
    return first_incomplete_;
  }

 private:
  std::uint32_t* missing_ = nullptr;  // by step: dependencies that are not complete yet
  std::uint32_t* runnable_ = nullptr;
  std::uint8_t* states_ = nullptr;    // by step
  std::uint8_t* messages_ = nullptr;  // by step: whether its message has come
  std::uint8_t* heard_by_ = nullptr;  // by peer of the plan
  std::uint32_t runnables_ = 0;
  std::uint32_t left_ = 0;
  std::uint32_t first_incomplete_ = 0;
  std::unique_ptr<std::uint32_t[]> large_;
  std::array<std::uint32_t, 64> own_;  // enough for small groups
};

}  // namespace stretto
