// The part of LargeMessages that hears what the peers say.

#include <algorithm>
#include <string_view>
#include <utility>

#include "stretto/collective/collective_service.h"
#include "stretto/collective/large_messages.h"
#include "stretto/collective/operation.h"
#include "stretto/collective/operation_entry.h"

namespace stretto {

namespace {

constexpr std::string_view no_elements = "speaks of memory where no elements lie";

}  // namespace

Sharing LargeMessages::sharing_of(std::uint64_t number, NodeId from) const {
  if (number >= kinds_of_sharing) operation_.refuse(from, "shares memory in a way that is not known");
  return static_cast<Sharing>(number);
}

// How far the peer may have come by what we have said, or written.
std::size_t LargeMessages::writable_by_peer(std::uint32_t receive) const noexcept {
  const Transfer& incoming = transfers_[receive];
  if (incoming.sharing == Sharing::turns) {
    const Transfer& counterpart = transfers_[step_at(receive).counterpart];
    return incoming.window.writable_by_turns(counterpart.bytes, step_at(receive).data.bytes);
  }
  const bool answers_us = incoming.sharing == Sharing::answers && incoming.staged_by != Plan::none;
  return answers_us ? transfers_[incoming.staged_by].bytes : incoming.window.writable();
}

std::byte* LargeMessages::memory_of(NodeId from, std::uint64_t offset, std::uint64_t bytes) const {
  std::byte* const memory = endpoint().peer_pointer(from, offset, bytes);
  if (memory == nullptr) operation_.refuse(from, "speaks of memory that it does not have");
  if (!operation_.call_.is_aligned(memory)) operation_.refuse(from, no_elements);
  return memory;
}

void LargeMessages::on_ready(const ReadyHeader& header, NodeId from) {
  const std::uint32_t step = operation_.send_step(from, header.call.tag);
  if (!operation_.has_size(from, header.call, header.bytes, step)) return;
  if (!step_at(step).is_large() || step_at(step).is_pulled || transfer(step).known) {
    operation_.refuse(from, "is ready for data that are not sent");
  }
  Transfer& outgoing = transfer(step);
  if (step_at(step).shares_memory) {
    engage();
    if (header.window == 0 || header.window > header.bytes) operation_.refuse(from, "has room for nothing");
    const bool is_part = header.window < header.bytes;
    if (is_part && header.window % operation_.call_.element_bytes() != 0) {
      operation_.refuse(from, "has room for parts of elements");
    }
    outgoing.place = memory_of(from, header.offset, header.window);
    outgoing.window = StagingWindow(header.window);
    outgoing.offered = sharing_of(header.sharing, from);
    accept_sharing(step);
  }
  outgoing.known = true;
  outgoing.offset = header.offset;
  outgoing.landing = header.landing;
  if (operation_.states_.of(step) == StepStates::State::started) {
    if (!step_at(step).shares_memory) attendance_.note_request(endpoint().context());
    operation_.or_fail([this, step] { send_later(step); });
    operation_.run();
  } else if (outgoing.sharing == Sharing::answers) {
    const std::size_t made = operation_.local_.combined_by(operation_.plan().lowering().follows[step]);
    operation_.or_fail([this, step, made] { follow(step, made); });
  }
}

void LargeMessages::on_grant(const GrantHeader& header, NodeId from) {
  const std::uint32_t step = operation_.receive_step(from, header.call.tag);
  if (!operation_.has_size(from, header.call, header.bytes, step)) return;
  const bool fits = step_at(step).is_large() ? header.available <= header.bytes : header.available == header.bytes;
  const bool is_over = operation_.states_.has_message(step);
  if (!step_at(step).is_pulled || !fits || (is_over && !step_at(step).is_lent)) {
    operation_.refuse(from, "grants what is not read");
  }
  if (is_over) return;  // it was granted whole, and that has overtaken a part
  engage();
  Transfer& incoming = transfer(step);
  if (!incoming.known) accept_window(step, header, from);
  if (header.available > writable_by_peer(step)) operation_.refuse(from, "grants what it must not have written");
  incoming.bytes = std::max<std::size_t>(incoming.bytes, header.available);
  if (std::exchange(incoming.known, true)) {
    // Its own pieces, for which others wait, come between.
    if (!operation_.has_turn_) operation_.or_fail([this] { operation_.local_.do_piece(); });
  } else if (operation_.states_.of(step) == StepStates::State::started) {
    operation_.or_fail([this, step] { take_granted(step); });  // the kernel may not copy such memory
  }
  operation_.run();
}

void LargeMessages::on_whole_grant(const WholeGrantHeader& header, NodeId from) {
  const std::uint32_t step = operation_.receive_step(from, header.call.tag);
  if (step == Plan::none || !step_at(step).is_lent) operation_.refuse(from, "grants what is not read");
  if (header.granted > Granted::last_turn) operation_.refuse(from, "grants in a way that is not known");
  const PlacedStep& what = step_at(step);
  const std::size_t bytes = what.data.bytes;
  const bool by_turns = is_turn(header.granted);
  what.were_staged = may_take_turns(header.granted) && what.turn_bytes > 0 && !place_in_sight(what.counterpart) &&
                     !private_place(what.counterpart);
  const std::size_t available = header.granted == Granted::first_turn ? what.turn_bytes : bytes;
  const Sharing sharing = by_turns                                 ? Sharing::turns
                          : header.granted == Granted::all_claimed ? Sharing::claims
                                                                   : Sharing::none;
  on_grant({header.call, header.offset, bytes, available, by_turns ? what.turn_bytes : bytes,
            static_cast<std::uint64_t>(sharing)},
           from);
}

// What is combined is so by whole elements; by a task, all at once.
void LargeMessages::accept_window(std::uint32_t step, const GrantHeader& header, NodeId from) {
  const CollectiveCall& call = operation_.call_;
  const bool is_whole = header.window == header.bytes;
  const bool is_part = header.window > 0 && header.window < header.bytes && header.window % call.element_bytes() == 0 &&
                       !call.reduction().as_task;
  if (!is_whole && !is_part) operation_.refuse(from, "grants it in parts that cannot be read");
  Transfer& incoming = transfer(step);
  if (fabric::is_private(header.offset)) {
    if (!is_whole || call.reduction().as_task || !endpoint().reads(from)) {
      operation_.refuse(from, "grants memory that is not read");
    }
    if (!call.is_aligned(fabric::private_address(header.offset))) operation_.refuse(from, no_elements);
    incoming.private_at = header.offset;
  } else {
    incoming.place = memory_of(from, header.offset, header.window);
  }
  incoming.window = StagingWindow(header.window);
  incoming.offered = sharing_of(header.sharing, from);
  accept_sharing(step);
}

void LargeMessages::on_done(const CallHeader& header, NodeId from) {
  const std::uint32_t step = operation_.send_step(from, header.tag);
  if (step == Plan::none || transfers_.empty() || !transfers_[step].told || !operation_.states_.note_message(step)) {
    operation_.refuse(from, "is through with what it was not granted");
  }
  const std::uint32_t by = transfers_[step].staged_by;
  if (by != Plan::none && transfers_[by].bytes < step_at(step).data.bytes) {
    operation_.refuse(from, "is through with it too soon");
  }
  leave_staging(step);
  if (std::exchange(transfers_[step].lent, false)) {
    --lent_;
  } else {
    operation_.complete_step(step);
  }
  operation_.run();
}

void LargeMessages::on_landed(const LandedHeader& header, NodeId from) {
  const std::uint32_t step = operation_.receive_step(from, header.call.tag);
  if (step == Plan::none || transfers_.empty() || !transfers_[step].told || !step_at(step).shares_memory ||
      step_at(step).is_pulled || header.bytes > step_at(step).data.bytes || header.bytes > writable_by_peer(step)) {
    operation_.refuse(from, "has written what it was not asked for");
  }
  landed(step, header.bytes);
}

void LargeMessages::on_taken(const TakenHeader& header, NodeId from) {
  const std::uint32_t step = operation_.send_step(from, header.call.tag);
  if (step == Plan::none || transfers_.empty() || header.bytes > transfers_[step].bytes ||
      transfers_[step].sharing == Sharing::answers) {
    operation_.refuse(from, "has read what was not written");
  }
  // Said before its receiver knew of ours.
  if (transfers_[step].sharing == Sharing::turns) return;
  transfers_[step].window.take(header.bytes);
  if (!operation_.has_turn_) operation_.or_fail([this] { do_piece(); });
  operation_.run();
}

// It takes the data to be small, and may be through: asked what it has put, it would say all that it was asked for.
std::uint64_t LargeMessages::note_whole(std::uint32_t step) {
  if (transfers_.empty() || step_at(step).shares_memory || !std::exchange(transfers_[step].told, false)) return 0;
  operation_.service_.landings().forget(transfers_[step].landing);
  return pieces_of(step_at(step).data.bytes);
}

void LargeMessages::on_piece(NodeId from, std::uint32_t step) {
  if (step_at(step).node != from) return;  // not its to fill
  Transfer& incoming = transfer(step);
  ++incoming.pieces;
  operation_.finish_if_untouched();
  // Pieces come in any order: what has landed is known when all have.
  const std::size_t bytes = step_at(step).data.bytes;
  if (!is_begun()) return;
  ask_for_others(step);
  if (!is_begun() || incoming.pieces < pieces_of(bytes)) return;
  operation_.service_.landings().forget(incoming.landing);
  landed(step, bytes);
}

}  // namespace stretto
