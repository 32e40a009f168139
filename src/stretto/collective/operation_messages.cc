// The part of CollectiveOperation that speaks with its peers; large_messages.h has what is large.

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "stretto/collective/collective_service.h"
#include "stretto/collective/mismatch.h"
#include "stretto/collective/operation_entry.h"
#include "stretto/core/cause.h"

namespace stretto {

namespace {

bool may_be_eager(const PlacedStep& send) noexcept {
  return !send.is_large() && (!send.is_pulled || send.data.bytes <= send.most_sent());
}

}  // namespace

// The message of a step, or one about it.
void CollectiveOperation::send_to(NodeId peer, fabric::MessageType type, ConstByteSpan header,
                                  ConstByteSpan payload) const {
  service_.endpoint().send(peer, type, header, payload);
}

[[gnu::hot]] void CollectiveOperation::start_send(std::uint32_t step) {
  const PlacedStep& what = step_at(step);
  if (!may_be_eager(what)) {
    large_.start_send(step);
    return;
  }
  if (what.is_pulled && large_.send_in_place(step)) return;
  const std::size_t peer = plan_->index_of_peer_of(step);
  if (!plan_->meets_everybody()) states_.set_heard_by(peer);
  if (what.account->take(what.data.bytes)) {
    send_data(step);
  } else if (states_.has_asked(peer)) {
    send_beyond_window(step);
  } else if (states_.note_told_of_held(peer)) {
    send_to(what.node, fabric::MessageType::collective_held, stretto::bytes_of(header(what.tag)));
  }
}

// Whether a send waits to be asked for, since the window was full.
bool CollectiveOperation::is_held(std::uint32_t step) const noexcept {
  return states_.of(step) == StepStates::State::started && may_be_eager(step_at(step)) &&
         !large_.transfers().is_told(step);
}

// Its receiver has begun, and has a place for it.
void CollectiveOperation::send_beyond_window(std::uint32_t step) {
  step_at(step).account->overdraw(step_at(step).data.bytes);
  send_data(step);
}

// All of a row at once, if all of them may start. What they send was made by the same step, so that they mostly do.
[[gnu::hot]] void CollectiveOperation::start_alike_sends(std::uint32_t first) {
  const std::span<const PlacedStep> row(&step_at(first), step_at(first).alike_in_a_row);
  std::uint32_t end = first + 1;
  while (end < first + row.size() && states_.start_if_next(end)) ++end;
  const bool at_once = end == first + row.size() && service_.send_to_all(row, header(row.front().tag), data_of(first));
  for (std::uint32_t step = first; step < end; ++step) {
    if (at_once) {
      if (!plan_->meets_everybody()) states_.set_heard_by(plan_->index_of_peer_of(step));
      complete_step(step);
    } else {
      start_send(step);
    }
  }
}

[[gnu::hot]] void CollectiveOperation::send_data(std::uint32_t step) {
  const PlacedStep& what = step_at(step);
  header_.tag = what.tag;
  service_.send_unasked(what, header_, data_of(step));
  complete_step(step);
}

void CollectiveOperation::start_receive(std::uint32_t step) {
  const PlacedStep& what = step_at(step);
  // Also what is small and was lent before this could start: shards were being added.
  if (what.is_large() || large_.transfers().is_granted(step)) {
    large_.start_receive(step);
    return;
  }
  if (parked_.empty()) return;
  const std::optional<fabric::Message> parked = parked_.find([&](const fabric::Message& message) {
    return message.from == what.node && fabric::read_header<CallHeader>(message).tag == what.tag;
  });
  if (!parked) return;
  copy_bytes(data_of(step).data(), parked->payload);
  complete_step(step);
}

void CollectiveOperation::say_hello(Rank peer, std::uint32_t tag, std::size_t bytes) {
  const HelloHeader hello{header(tag), bytes};
  heard_by(peer);
  send_to(group().node(peer), fabric::MessageType::collective_hello, stretto::bytes_of(hello));
}

// Two who wait for each other in different operations find out. Of those whose data are missing, who is first will do:
// the others hear of us when it is their turn.
void CollectiveOperation::greet() {
  if (stage_ != Stage::begun || plan_->meets_everybody() || states_.heard_by_all()) return;
  const Entry entry(*this);
  or_fail([this] {
    bool has_awaited = false;
    for (std::uint32_t step = states_.first_incomplete(); step < placed_->steps.size(); ++step) {
      const PlacedStep& what = step_at(step);
      if (!what.is_message() || states_.of(step) != StepStates::State::started) continue;
      const bool comes_in_turn = what.kind == schedule::StepKind::receive || large_.asks_in_turn(step);
      if (comes_in_turn && std::exchange(has_awaited, true)) continue;
      if (!states_.heard_by(plan_->index_of_peer(what.peer))) say_hello(what.peer, 0, 0);
    }
  });
}

void CollectiveOperation::require_member(NodeId from) const {
  if (!group().contains(from)) refuse(from, "is no member of its group");
}

void CollectiveOperation::refuse(NodeId from, std::string_view what) const {
  throw Error(ErrorCode::bad_input,
              "node " + std::to_string(from) + " speaks in " + describe() + ": it " + std::string(what));
}

// Whether a message is of this operation; those that are not end it. Of those that are, who looks up their step sees
// whether it is a member's.
[[gnu::hot]] bool CollectiveOperation::accepts(NodeId from, const CallHeader& theirs) {
  if (stage_ == Stage::begun && theirs.identity.digest == identity().digest) return true;
  require_member(from);
  if (stage_ == Stage::failed || stage_ == Stage::over) {
    if (theirs.identity.digest != identity().digest) {
      service_.say_other(from, theirs.identity, mismatch(describe(), from, theirs, what_may_differ));
    }
    return false;
  }
  if (theirs.identity.digest == identity().digest) return true;
  fail_to_match(from, theirs, what_may_differ);
  return false;
}

void CollectiveOperation::fail_to_match(NodeId from, const CallHeader& theirs, std::string_view difference) {
  fail(mismatch(describe(), from, theirs, difference), Tell::everybody);
}

// Sizes of blocks that differ by rank are nobody else's to compare; who passes others than its peer ends the operation.
void CollectiveOperation::end_for_size(NodeId from, const CallHeader& theirs, std::uint64_t bytes, std::uint32_t step) {
  if (step == Plan::none) refuse(from, "sends a message that has no place there");
  fail_to_match(from, theirs,
                "its block has " + std::to_string(bytes) + " bytes where " + std::to_string(step_at(step).data.bytes) +
                    " are expected");
}

// Whether a message for `step` speaks of as much as this node expects.
bool CollectiveOperation::has_size(NodeId from, const CallHeader& theirs, std::uint64_t bytes, std::uint32_t step) {
  if (step != Plan::none && bytes == step_at(step).data.bytes) return true;
  end_for_size(from, theirs, bytes, step);
  return false;
}

// Hands a message of this operation on; those of others end it.
template <class Header, class Part>
void CollectiveOperation::take(const fabric::Message& message, Part& part, void (Part::*use)(const Header&, NodeId)) {
  const auto theirs = fabric::read_header<Header>(message);
  const CallHeader* call = nullptr;
  if constexpr (std::is_same_v<Header, CallHeader>) {
    call = &theirs;
  } else {
    call = &theirs.call;
  }
  if (accepts(message.from, *call)) (part.*use)(theirs, message.from);
}

[[gnu::hot]] void CollectiveOperation::on_message(const fabric::Message& message) {
  const Entry entry(*this);
  const NodeId from = message.from;
  switch (message.type) {
    case fabric::MessageType::collective_data: {
      const auto theirs = fabric::read_header<CallHeader>(message);
      if (accepts(from, theirs)) {
        on_data(theirs, message);
      } else if (stage_ == Stage::failed) {
        on_data_after_failure(theirs, from);
      }
      break;
    }
    case fabric::MessageType::collective_ready: take(message, large_, &LargeMessages::on_ready); break;
    case fabric::MessageType::collective_grant: take(message, large_, &LargeMessages::on_grant); break;
    case fabric::MessageType::collective_whole_grant: take(message, large_, &LargeMessages::on_whole_grant); break;
    case fabric::MessageType::collective_landed: take(message, large_, &LargeMessages::on_landed); break;
    case fabric::MessageType::collective_taken: take(message, large_, &LargeMessages::on_taken); break;
    case fabric::MessageType::collective_done: take(message, large_, &LargeMessages::on_done); break;
    case fabric::MessageType::collective_hello: take(message, *this, &CollectiveOperation::on_hello); break;
    case fabric::MessageType::collective_held: take(message, *this, &CollectiveOperation::on_held); break;
    case fabric::MessageType::collective_pull: take(message, *this, &CollectiveOperation::on_pull); break;
    case fabric::MessageType::collective_released:
      on_released(from, fabric::read_header<ReleasedHeader>(message).pieces);
      break;
    default: on_failure(from, fabric::read_header<FailedHeader>(message), message.payload);
  }
}

void CollectiveOperation::on_hello(const HelloHeader& header, NodeId from) {
  require_member(from);
  if (header.bytes == 0) return;
  has_size(from, header.call, header.bytes, receive_step(from, header.call.tag));
}

// There is a place for it, now that this operation has begun. Of an all-to-all, what is little to its sender may be
// large here: both hear of it when it comes.
void CollectiveOperation::on_held(const CallHeader& theirs, NodeId from) {
  const std::uint32_t step = receive_step(from, theirs.tag);
  if (step == Plan::none || states_.has_message(step)) refuse(from, "holds data that have no place there");
  or_fail([&] { send_to(from, fabric::MessageType::collective_pull, stretto::bytes_of(header(theirs.tag))); });
}

void CollectiveOperation::on_pull(const CallHeader& theirs, NodeId from) {
  const std::uint32_t step = send_step(from, theirs.tag);
  if (step == Plan::none || !is_held(step)) refuse(from, "asks for data that are not held");
  states_.set_has_asked(plan_->index_of_peer_of(step));
  // It was told of the first of them only.
  or_fail([&] {
    for (std::uint32_t held = states_.first_incomplete(); held < plan_->steps().size(); ++held) {
      const PlacedStep& what = step_at(held);
      if (what.kind == schedule::StepKind::send && what.node == from && is_held(held)) send_beyond_window(held);
    }
  });
  run();
}

[[gnu::hot]] void CollectiveOperation::on_data(const CallHeader& theirs, const fabric::Message& message) {
  const ConstByteSpan payload = message.payload;
  const std::uint32_t step = receive_step(message.from, theirs.tag);
  if (step != Plan::none && step_at(step).is_large()) large_.note_whole(step);
  if (!has_size(message.from, theirs, payload.size(), step)) return;
  if (step_at(step).is_large() || large_.transfers().is_granted(step) || !states_.note_message(step)) {
    refuse(message.from, "sends data that have no place there");
  }
  if (states_.of(step) == StepStates::State::waiting) {
    or_fail([&] { parked_.add(message); });
    return;
  }
  copy_bytes(data_of(step).data(), payload);
  complete_step(step);
  run();
}

void CollectiveOperation::on_data_after_failure(const CallHeader& theirs, NodeId from) {
  if (theirs.identity.digest != identity().digest) return;
  const std::uint32_t step = receive_step(from, theirs.tag);
  if (step == Plan::none || !step_at(step).is_large()) return;
  exposures_.take_back(from, large_.note_whole(step));
  finish_if_untouched();
}

// Who finds out about a mismatch knows its own call's place; here is ours.
void CollectiveOperation::on_failure(NodeId from, const FailedHeader& header, ConstByteSpan text) {
  require_member(from);
  Cause cause = cause_from(TriggerHeader{0, 1, static_cast<std::uint8_t>(header.code)}, text);
  if (cause->code() == ErrorCode::mismatch && stage_ == Stage::begun) {
    cause = std::make_shared<const Error>(ErrorCode::mismatch, cause->message() + "; here: " + describe());
  }
  if (header.wants_release != 0) to_release_.push_back(from);
  fail(cause, Tell::neighbours);
  exposures_.limit(from, header.pieces);
  finish_if_untouched();
}

}  // namespace stretto
