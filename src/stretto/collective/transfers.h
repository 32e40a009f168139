#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "stretto/collective/plan.h"
#include "stretto/collective/transfer.h"

namespace stretto {

/// How far the messages of an operation have come that are too large to be sent unasked, or are lent: by step, and what
/// follows from that alone. Before the first of them there is no room for any. Pure.
class Transfers {
 public:
  bool empty() const noexcept { return of_step_.empty(); }
  void make_room(std::size_t steps) { of_step_.resize(steps); }
  /// Forgets all of a call that is over, for another one like it.
  void renew() noexcept { std::fill(of_step_.begin(), of_step_.end(), Transfer()); }

  // REQUIRE: there is room.

  Transfer& operator[](std::uint32_t step) noexcept { return of_step_[step]; }
  const Transfer& operator[](std::uint32_t step) const noexcept { return of_step_[step]; }
  std::size_t size() const noexcept { return of_step_.size(); }
  auto begin() noexcept { return of_step_.begin(); }
  auto begin() const noexcept { return of_step_.begin(); }
  auto end() noexcept { return of_step_.end(); }
  auto end() const noexcept { return of_step_.end(); }

  // Of any step, room or not.

  /// Of a receive that is pulled, or Plan::none: whether its data are in the sender's memory, and whether they are not
  /// mapped there.
  bool is_granted(std::uint32_t step) const noexcept {
    return step != Plan::none && !empty() && (of_step_[step].place != nullptr || is_private(step));
  }
  bool is_private(std::uint32_t step) const noexcept {
    return step != Plan::none && !empty() && of_step_[step].private_at != 0;
  }
  /// Of such a receive: whether who reads its data is to claim them.
  bool is_claimed(std::uint32_t step) const noexcept {
    return is_granted(step) && !is_private(step) && of_step_[step].offered == Sharing::claims;
  }
  /// Whether the step's peer was told where our memory is, and whether it has said anything of the step.
  bool is_told(std::uint32_t step) const noexcept { return !empty() && of_step_[step].told; }
  bool is_known(std::uint32_t step) const noexcept { return !empty() && of_step_[step].known; }
  /// Of a complete send: whether its data are still to be read.
  bool is_lent_out(std::uint32_t step) const noexcept { return !empty() && of_step_[step].lent; }

  // REQUIRE: there is room.

  /// Of a granted receive: how far it can be read from byte `at` on in one go.
  std::size_t readable_from(std::uint32_t step, std::size_t at) const noexcept {
    return at + of_step_[step].window.in_one_piece(at, of_step_[step].bytes);
  }
  /// Where a message is staged here: in our segment, or -1.
  std::int64_t staging_of(std::uint32_t step) const noexcept {
    const std::uint32_t by = of_step_[step].staged_by;
    return of_step_[by == Plan::none ? step : by].staging;
  }
  /// Whether its writer gets the lines at once, wherever the reader is: it has read there last, or they were claimed
  /// for it.
  bool is_at_hand(std::uint32_t step) const noexcept {
    const Transfer& message = of_step_[step];
    const bool begins = message.offered == Sharing::turns && message.bytes < message.window.bytes();
    return begins || message.offered == Sharing::claims || message.sharing != Sharing::none;
  }

 private:
  std::vector<Transfer> of_step_;
};

}  // namespace stretto
