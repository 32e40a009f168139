// The part of LargeMessages that sends just what a reduce makes, while that is made.

#include <algorithm>

#include "stretto/collective/collective_service.h"
#include "stretto/collective/large_messages.h"
#include "stretto/collective/operation.h"

namespace stretto {

LargeMessages::Follower LargeMessages::follower_of(std::uint32_t reduce, std::size_t at,
                                                   std::size_t most) const noexcept {
  if (operation_.call_.reduction().combine_twice == nullptr) return {};
  const std::uint32_t send = only_follower_of(reduce);
  if (send == Plan::none || !may_follow(send) || transfers_[send].bytes != at) return {};
  const std::size_t end = std::min(at + most, writable(send));
  if (end <= at) return {};
  return {send, {place_of(send, at), transfers_[send].window.in_one_piece(at, end)}};
}

// Not what the peer had better find written past the caches.
bool LargeMessages::stores_at_once(const Follower& follower) {
  return transfers_.is_at_hand(follower.send) ||
         operation_.service_.copy_for(step_at(follower.send).node).goes_without();
}

std::uint32_t LargeMessages::only_follower_of(std::uint32_t reduce) const noexcept {
  std::uint32_t only = Plan::none;
  for (const std::uint32_t successor : operation_.plan().schedule().successors_of(reduce)) {
    if (!follows(successor, reduce)) continue;
    if (only != Plan::none) return Plan::none;
    only = successor;
  }
  return only;
}

void LargeMessages::note_combined(std::uint32_t step, std::size_t upto, std::uint32_t stored) {
  for (const std::uint32_t receive : {step_at(step).left_from, step_at(step).right_from}) {
    if (transfers_.is_granted(receive)) say_taken(receive, upto);
  }
  if (stored != Plan::none) {
    const std::size_t before = transfers_[stored].bytes;
    wrote(stored, upto);
    spend(upto - before);
  }
  let_followers_write(step, upto);
}

bool LargeMessages::follows(std::uint32_t send, std::uint32_t reduce) const noexcept {
  return operation_.plan().lowering().follows[send] == reduce;
}

// Whether nothing else is waited for.
bool LargeMessages::may_follow(std::uint32_t send) const noexcept {
  return operation_.states_.waits_for_one(send) && !transfers_.empty() && transfers_[send].place != nullptr;
}

void LargeMessages::let_followers_write(std::uint32_t reduce, std::size_t upto) {
  for (const std::uint32_t successor : operation_.plan().schedule().successors_of(reduce)) {
    if (follows(successor, reduce)) follow(successor, upto);
  }
}

// So much of what a send waits for has been made.
void LargeMessages::follow(std::uint32_t send, std::size_t upto) {
  if (!may_follow(send) || transfers_[send].bytes >= upto) return;
  const std::size_t before = transfers_[send].bytes;
  write_piece(send, upto);
  spend(transfers_[send].bytes - before);
}

}  // namespace stretto
