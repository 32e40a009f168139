#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "stretto/schedule/schedule.h"

namespace stretto {

/// How far a run of a plan has come: each step's state, those that may start now, and what is known of each peer.
/// Of steps that may start at once those go first that the schedule lists first: so algorithms, and prices, mean it.
class StepStates {
 public:
  enum class State : std::uint8_t { waiting, started, complete };
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  /// What all runs of a schedule begin with, in the form in which a run keeps it.
  class Beginning {
   public:
    Beginning() = default;
    /// `initial(step)`: as what a step begins that waits for no other one. Such that are complete from the beginning
    /// are waited for by none.
    template <class Initial>
    Beginning(const schedule::Schedule& schedule, std::size_t peers, Initial&& initial)
        : steps_(schedule.steps.size()),
          left_(static_cast<std::uint32_t>(steps_)),
          peers_(static_cast<std::uint32_t>(peers)),
          words_(2 * steps_ + (2 * steps_ + peers + sizeof(std::uint32_t) - 1) / sizeof(std::uint32_t)) {
      for (std::uint32_t step = 0; step < steps_; ++step) words_[step] = schedule.steps[step].dependency_count;
      for (std::uint32_t step = 0; step < steps_; ++step) {
        if (words_[step] > 0) continue;
        const State state = initial(step);
        reinterpret_cast<std::uint8_t*>(words_.data() + 2 * steps_)[step] = static_cast<std::uint8_t>(state);
        if (state == State::waiting) words_[steps_ + first_steps_++] = step;
        if (state != State::complete) continue;
        --left_;
        for (const std::uint32_t successor : schedule.successors_of(step)) --words_[successor];
      }
      std::reverse(words_.data() + steps_, words_.data() + steps_ + first_steps_);
    }

   private:
    friend class StepStates;
    std::size_t steps_ = 0;
    std::uint32_t left_ = 0;
    std::uint32_t peers_ = 0;
    std::uint32_t first_steps_ = 0;  // that may start
    std::vector<std::uint32_t> words_;
  };

  /// REQUIRES: no other one before.
  void reset(const Beginning& beginning) {
    const std::vector<std::uint32_t>& words = beginning.words_;
    if (words_ == nullptr) {
      if (words.size() > own_.size()) large_ = std::make_unique_for_overwrite<std::uint32_t[]>(words.size());
      words_ = large_ != nullptr ? large_.get() : own_.data();
    }
    std::copy(words.begin(), words.end(), words_);
    steps_ = beginning.steps_;
    left_ = beginning.left_;
    unheard_ = beginning.peers_;
    runnables_ = first_incomplete_ = 0;
  }

  /// Makes the first steps runnable.
  void begin(const Beginning& beginning) noexcept { runnables_ = beginning.first_steps_; }

  /// Takes a step that may start, and marks it as started. none: there is none now.
  std::uint32_t start_next() noexcept {
    if (runnables_ == 0) return none;
    const std::uint32_t step = runnable()[--runnables_];
    states()[step] = static_cast<std::uint8_t>(State::started);
    return step;
  }

  /// The same, if it is that one.
  bool start_if_next(std::uint32_t step) noexcept {
    return runnables_ > 0 && runnable()[runnables_ - 1] == step && start_next() == step;
  }

  void complete(std::uint32_t step, const schedule::Schedule& schedule) noexcept {
    states()[step] = static_cast<std::uint8_t>(State::complete);
    --left_;
    const std::span<const std::uint32_t> successors = schedule.successors_of(step);
    for (auto each = successors.rbegin(); each != successors.rend(); ++each) {
      if (--words_[*each] == 0) runnable()[runnables_++] = *each;
    }
  }

  /// The same for the first `count` steps, those that were complete from the beginning aside. REQUIRES: a run has just
  /// begun.
  void complete_first(std::uint32_t count, const schedule::Schedule& schedule) noexcept {
    for (std::uint32_t step = 0; step < count; ++step) {
      if (of(step) != State::complete) complete(step, schedule);
    }
    std::uint32_t* const end = runnable() + runnables_;
    runnables_ = static_cast<std::uint32_t>(
        std::remove_if(runnable(), end, [count](std::uint32_t step) { return step < count; }) - runnable());
  }

  State of(std::uint32_t step) const noexcept { return static_cast<State>(states()[step]); }
  /// Whether `step` waits for one other step only.
  bool waits_for_one(std::uint32_t step) const noexcept { return words_[step] == 1; }
  bool all_complete() const noexcept { return left_ == 0; }

  /// Notes that the one message which a step waits for has come. False: it had come before.
  bool note_message(std::uint32_t step) noexcept { return std::exchange(messages()[step], std::uint8_t{1}) == 0; }

  bool has_message(std::uint32_t step) const noexcept { return messages()[step] != 0; }

  // Of peers, by their place in the plan's list.

  bool heard_by(std::size_t peer) const noexcept { return (peers()[peer] & has_heard) != 0; }
  void set_heard_by(std::size_t peer) noexcept { unheard_ -= note(peer, has_heard) ? 1U : 0U; }
  bool heard_by_all() const noexcept { return unheard_ == 0; }
  /// Notes that it has been told that data are held for it. False: it had been.
  bool note_told_of_held(std::size_t peer) noexcept { return note(peer, is_told_of_held); }
  /// Whether it has asked for those.
  bool has_asked(std::size_t peer) const noexcept { return (peers()[peer] & asks) != 0; }
  void set_has_asked(std::size_t peer) noexcept { note(peer, asks); }

  /// The first step that is not complete; their number when all are.
  std::uint32_t first_incomplete() noexcept {
    while (first_incomplete_ < steps_ && of(first_incomplete_) == State::complete) ++first_incomplete_;
    return first_incomplete_;
  }

 private:
  std::uint32_t* runnable() noexcept { return words_ + steps_; }
  std::uint8_t* states() const noexcept { return reinterpret_cast<std::uint8_t*>(words_ + 2 * steps_); }
  std::uint8_t* messages() const noexcept { return states() + steps_; }
  enum OfPeer : std::uint8_t { has_heard = 1, is_told_of_held = 2, asks = 4 };
  std::uint8_t* peers() const noexcept { return messages() + steps_; }
  bool note(std::size_t peer, OfPeer what) noexcept {
    const std::uint8_t known = std::exchange(peers()[peer], static_cast<std::uint8_t>(peers()[peer] | what));
    return (known & what) == 0;
  }

  // By step: how many of its dependencies are not complete. Then the steps that may start, the first one last. Then
  // bytes: by step, its state, and whether its message has come; and by peer, what is known of it.
  std::uint32_t* words_ = nullptr;
  std::size_t steps_ = 0;
  std::uint32_t runnables_ = 0;
  std::uint32_t left_ = 0;
  std::uint32_t unheard_ = 0;
  std::uint32_t first_incomplete_ = 0;
  std::unique_ptr<std::uint32_t[]> large_;
  std::array<std::uint32_t, 64> own_;  // enough for small groups
};

}  // namespace stretto
