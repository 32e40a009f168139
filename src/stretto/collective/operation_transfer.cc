// The part of CollectiveOperation that moves large messages: what is sent only when the receiver is ready for it, and,
// where ranks share memory, what is taken or written in place.

#include <algorithm>
#include <string>
#include <utility>

#include "stretto/collective/collective_service.h"
#include "stretto/collective/operation_entry.h"
#include "stretto/core/cause.h"

namespace stretto {

// One piece of a large send has left; the last one completes the step.
struct CollectiveOperation::PutDone : fabric::Completion {
  PutDone(CollectiveOperation& owner, std::uint32_t send_step, bool is_last) noexcept
      : operation(owner), step(send_step), last(is_last) {}

  // A lost peer fails the whole operation by another way.
  void complete(bool /*lost*/) noexcept override {
    CollectiveOperation& owner = operation;
    const Entry entry(owner);
    --owner.under_way_;
    if (last && owner.stage_ == Stage::begun) {
      owner.complete_step(step);
      owner.run();
    }
    owner.finish_if_untouched();
    delete this;
  }

  CollectiveOperation& operation;
  std::uint32_t step;
  bool last;
};

Transfer& CollectiveOperation::transfer(std::uint32_t step) {
  if (transfers_.empty()) transfers_.resize(plan_->steps().size());
  return transfers_[step];
}

// Only where memory carries what is exchanged: a wire keeps a thread that looks for the next message waiting for long.
// And only where that takes some time: what is over in a moment is not worth the service thread's ticks.
void CollectiveOperation::engage() {
  if (engaged_ || std::max(call_.input.size(), call_.output.size()) <= piece_bytes) return;
  engaged_ = true;
  service_.endpoint().context().engage();
}

// Where the peers of large messages may be told before those are due, they are: it saves a round trip.
void CollectiveOperation::announce_early() {
  for (const std::uint32_t step : plan_->lowering().ready_early) {
    if (step_at(step).is_large() && step_at(step).shares_memory) say_ready(step);
    if (stage_ != Stage::begun) return;
  }
}

void CollectiveOperation::start_large_send(std::uint32_t step) {
  if (step_at(step).is_pulled) {
    grant(step);
  } else if (transfer(step).known) {
    sendings_.push_back(step);
    do_piece_of_sending();
  } else if (!call_.output_offsets().empty()) {
    // Of an all-to-all: the receiver may expect so little that it will never say that it is ready.
    say_hello(step_at(step).peer, step_at(step).tag, step_at(step).data.bytes);
  }
}

// Has the receiver read the data where they lie. False: it can't reach them there, or they will be written over before
// it has read them.
bool CollectiveOperation::grant_in_place(std::uint32_t step) {
  const ByteSpan data = data_of(step);
  if (step_at(step).is_lent && !are_apart(data, call_.output)) return false;
  const auto offset = service_.endpoint().offset_for_peers(data.data(), data.size());
  if (!offset) return false;
  send_grant(step, *offset, data.size());
  if (step_at(step).is_lent) lend(step);
  return true;
}

// The receiver reads where the data lie, or where we copy them piece by piece, once for all who read them.
void CollectiveOperation::grant(std::uint32_t step) {
  engage();
  if (grant_in_place(step)) return;
  if (const std::uint32_t other = staged_alike(step); other != Plan::none) {
    transfer(step).staged_by = other;
    const Transfer& copied = transfers_[other];
    if (copied.bytes > 0) send_grant(step, static_cast<std::uint64_t>(copied.staging), copied.bytes);
    return;
  }
  try {
    transfer(step).staging = static_cast<std::int64_t>(service_.endpoint().segment().allocate(data_of(step).size()));
  } catch (const Error&) {
    fail(cause_of_current_exception("a collective"), Tell::everybody);
    return;
  }
  transfer(step).staged_by = step;
  sendings_.push_back(step);
  do_piece_of_sending();
}

// The send by which the same data are copied to staging memory where somebody reads them now; or none. As long as one
// reads them there nobody writes over them, but where they are lent.
std::uint32_t CollectiveOperation::staged_alike(std::uint32_t step) const noexcept {
  if (step_at(step).is_lent) return Plan::none;
  for (std::uint32_t other = 0; other < transfers_.size(); ++other) {
    const std::uint32_t by = transfers_[other].staged_by;
    if (by != Plan::none && !step_at(by).is_lent && step_at(by).data == step_at(step).data) return by;
  }
  return Plan::none;
}

// The receiver has read all of it.
void CollectiveOperation::leave_staging(std::uint32_t step) {
  const std::uint32_t by = std::exchange(transfers_[step].staged_by, Plan::none);
  const auto is_read = [by](const Transfer& each) { return each.staged_by == by; };
  if (by == Plan::none || std::any_of(transfers_.begin(), transfers_.end(), is_read)) return;
  const std::int64_t staging = std::exchange(transfers_[by].staging, -1);
  service_.endpoint().segment().release(static_cast<std::uint64_t>(staging));
}

void CollectiveOperation::send_grant(std::uint32_t step, std::uint64_t offset, std::size_t available) {
  const PlacedStep& what = step_at(step);
  transfer(step).told = true;
  const GrantHeader grant{header(what.tag), offset, what.data.bytes, available};
  send_to(what.node, fabric::MessageType::collective_grant, stretto::bytes_of(grant));
  heard_by(what.peer);
}

void CollectiveOperation::stage_piece(std::uint32_t step) {
  Transfer& staged = transfer(step);
  const ByteSpan data = data_of(step);
  const std::size_t bytes = std::min(piece_bytes, data.size() - staged.bytes);
  const auto offset = static_cast<std::uint64_t>(staged.staging);
  copy_bytes(service_.endpoint().segment().pointer(offset) + staged.bytes, data.subspan(staged.bytes, bytes));
  staged.bytes += bytes;
  for (std::uint32_t send = 0; send < transfers_.size(); ++send) {
    if (transfers_[send].staged_by == step) send_grant(send, offset, staged.bytes);
  }
  if (step_at(step).is_lent && staged.bytes == data.size()) lend(step);
}

// What follows need not wait for the receiver; the operation's end does.
void CollectiveOperation::lend(std::uint32_t step) {
  transfer(step).lent = true;
  ++lent_;
  complete_step(step);
}

// A reduce takes it from there, or it is copied.
void CollectiveOperation::take_granted(std::uint32_t step) {
  if (step_at(step).left_from != step) {
    complete_step(step);
    return;
  }
  combines_.push_back({step, data_of(step), transfers_[step].place, nullptr, 0});
  do_piece_of_combine();
}

void CollectiveOperation::start_large_receive(std::uint32_t step) {
  Transfer& incoming = transfer(step);
  if (step_at(step).is_pulled) {
    if (incoming.known) take_granted(step);
    return;
  }
  if (!incoming.told) say_ready(step);
  if (stage_ == Stage::begun && incoming.known && incoming.bytes == step_at(step).data.bytes) complete_step(step);
}

// Tells the sender where to put it: in place if it can reach that, else beside.
void CollectiveOperation::say_ready(std::uint32_t step) {
  const PlacedStep& what = step_at(step);
  const ByteSpan data = data_of(step);
  Transfer& incoming = transfer(step);
  const bool in_memory = what.shares_memory;
  fabric::Segment& segment = service_.endpoint().segment();
  std::optional<fabric::Offset> offset;
  if (in_memory) {
    engage();
    offset = service_.endpoint().offset_for_peers(data.data(), data.size());
  } else if (const std::int64_t inside = segment.offset_of(data.data()); inside >= 0) {
    offset = static_cast<fabric::Offset>(inside);
  }
  if (!offset) {
    try {
      offset = segment.allocate(data.size());
    } catch (const Error&) {
      fail(cause_of_current_exception("a collective"), Tell::everybody);
      return;
    }
    incoming.staging = static_cast<std::int64_t>(*offset);
  }
  incoming.landing = in_memory ? (incoming.staging >= 0 ? 1 : 0) : service_.register_landing(*this, step);
  incoming.told = true;
  const ReadyHeader ready{header(what.tag), *offset, incoming.landing, data.size()};
  send_to(what.node, fabric::MessageType::collective_ready, stretto::bytes_of(ready));
  heard_by(what.peer);
}

// One piece of what waits longest.
void CollectiveOperation::do_piece_of_sending() {
  if (sendings_.empty() || stage_ != Stage::begun) return;
  const std::uint32_t step = sendings_.front();
  const std::size_t bytes = step_at(step).data.bytes;
  Transfer& outgoing = transfer(step);
  if (outgoing.staging >= 0) {
    stage_piece(step);
  } else if (outgoing.place != nullptr) {
    write_piece(step, std::min(outgoing.bytes + piece_bytes, bytes));
  } else {
    put_piece(step);
  }
  service_.endpoint().context().spend(cost_of(piece_bytes));
  if (outgoing.bytes == bytes) {
    sendings_.erase(sendings_.begin());
    if (outgoing.place != nullptr) end_large_send(step);
  }
  if (!sendings_.empty()) take_turn_later();
}

// Into the peer's memory, up to there.
void CollectiveOperation::write_piece(std::uint32_t step, std::size_t upto) {
  Transfer& outgoing = transfer(step);
  const ByteSpan data = data_of(step);
  const bool each_piece = outgoing.landing != 0;
  if (upto > outgoing.bytes) {
    copy_bytes(outgoing.place + outgoing.bytes, data.subspan(outgoing.bytes, upto - outgoing.bytes));
    outgoing.bytes = upto;
  }
  if (!each_piece || upto == data.size()) return;
  const LandedHeader landed{header(step_at(step).tag), upto};
  send_to(step_at(step).node, fabric::MessageType::collective_landed, stretto::bytes_of(landed));
}

void CollectiveOperation::put_piece(std::uint32_t step) {
  Transfer& outgoing = transfer(step);
  const ByteSpan data = data_of(step);
  const std::size_t bytes = std::min(piece_bytes, data.size() - outgoing.bytes);
  const bool last = outgoing.bytes + bytes == data.size();
  ++under_way_;
  service_.endpoint().put(step_at(step).node, outgoing.offset + outgoing.bytes, data.subspan(outgoing.bytes, bytes),
                          outgoing.landing, new PutDone(*this, step, last));
  outgoing.bytes += bytes;
  ++outgoing.pieces;
}

// What a reduce has made is warm: sends of just that, whose receivers are ready, write it at once.
void CollectiveOperation::let_followers_write(std::uint32_t reduce, std::size_t upto) {
  for (const std::uint32_t successor : plan_->schedule().successors_of(reduce)) {
    if (plan_->lowering().follows[successor] != reduce || !states_.waits_for_one(successor)) continue;
    if (transfers_.empty() || transfers_[successor].place == nullptr) continue;
    write_piece(successor, upto);
    service_.endpoint().context().spend(cost_of(piece_bytes));
  }
}

void CollectiveOperation::end_large_send(std::uint32_t step) {
  const LandedHeader landed{header(step_at(step).tag), step_at(step).data.bytes};
  send_to(step_at(step).node, fabric::MessageType::collective_landed, stretto::bytes_of(landed));
  complete_step(step);
}

// We have combined what a peer had granted, or sent instead.
void CollectiveOperation::end_pulled(std::uint32_t receive) {
  if (!is_granted(receive)) return;
  const CallHeader done = header(step_at(receive).tag);
  send_to(step_at(receive).node, fabric::MessageType::collective_done, stretto::bytes_of(done));
}

// More of a receive is where the sender was told to put it.
void CollectiveOperation::landed(std::uint32_t step, std::size_t upto) {
  Transfer& incoming = transfer(step);
  const ByteSpan data = data_of(step);
  if (upto <= incoming.bytes) return;
  if (incoming.staging >= 0) {
    fabric::Segment& segment = service_.endpoint().segment();
    const auto staging = static_cast<std::uint64_t>(incoming.staging);
    copy_bytes(data.data() + incoming.bytes, {segment.pointer(staging) + incoming.bytes, upto - incoming.bytes});
    if (upto == data.size()) {
      segment.release(staging);
      incoming.staging = -1;
    }
  }
  incoming.bytes = upto;
  incoming.known = true;
  if (upto < data.size() || states_.of(step) != StepStates::State::started) return;
  complete_step(step);
  run();
}

std::byte* CollectiveOperation::memory_of(NodeId from, std::uint64_t offset, std::uint64_t bytes) const {
  std::byte* const memory = service_.endpoint().peer_pointer(from, offset, bytes);
  if (memory == nullptr) refuse(from, "speaks of memory that it does not have");
  return memory;
}

void CollectiveOperation::on_ready(const ReadyHeader& header, NodeId from) {
  const std::uint32_t step = plan_->send_step(group().rank_of(from), header.call.tag);
  if (!has_size(from, header.call, header.bytes, step)) return;
  if (!step_at(step).is_large() || step_at(step).is_pulled || transfer(step).known) {
    refuse(from, "is ready for data that are not sent");
  }
  Transfer& outgoing = transfer(step);
  if (step_at(step).shares_memory) {
    engage();
    outgoing.place = memory_of(from, header.offset, header.bytes);
  }
  outgoing.known = true;
  outgoing.offset = header.offset;
  outgoing.landing = header.landing;
  if (states_.of(step) != StepStates::State::started) return;
  sendings_.push_back(step);
  do_piece_of_sending();
  run();
}

void CollectiveOperation::on_grant(const GrantHeader& header, NodeId from) {
  const std::uint32_t step = plan_->receive_step(group().rank_of(from), header.call.tag);
  if (!has_size(from, header.call, header.bytes, step)) return;
  const bool fits = step_at(step).is_large() ? header.available <= header.bytes : header.available == header.bytes;
  if (!step_at(step).is_pulled || !fits || states_.has_message(step)) refuse(from, "grants what is not read");
  engage();
  Transfer& incoming = transfer(step);
  incoming.bytes = std::max<std::size_t>(incoming.bytes, header.available);
  if (std::exchange(incoming.known, true)) {
    do_piece_of_combine();
  } else {
    incoming.place = memory_of(from, header.offset, header.bytes);
    if (states_.of(step) == StepStates::State::started) take_granted(step);
  }
  run();
}

void CollectiveOperation::on_done(const CallHeader& header, NodeId from) {
  const std::uint32_t step = plan_->send_step(group().rank_of(from), header.tag);
  if (step == Plan::none || transfers_.empty() || !transfers_[step].told || !states_.note_message(step)) {
    refuse(from, "is through with what it was not granted");
  }
  const std::uint32_t by = transfers_[step].staged_by;
  if (by != Plan::none && transfers_[by].bytes < step_at(step).data.bytes) refuse(from, "is through with it too soon");
  leave_staging(step);
  if (std::exchange(transfers_[step].lent, false)) {
    --lent_;
  } else {
    complete_step(step);
  }
  run();
}

void CollectiveOperation::on_landed(const LandedHeader& header, NodeId from) {
  const std::uint32_t step = plan_->receive_step(group().rank_of(from), header.call.tag);
  if (step == Plan::none || transfers_.empty() || !transfers_[step].told || !step_at(step).shares_memory ||
      header.bytes > step_at(step).data.bytes) {
    refuse(from, "has written what it was not asked for");
  }
  landed(step, header.bytes);
}

// One more piece has come over a wire.
void CollectiveOperation::on_piece(NodeId from, std::uint32_t step) {
  const Entry entry(*this);
  if (step_at(step).node != from) return;  // not its to fill
  Transfer& incoming = transfer(step);
  ++incoming.pieces;
  finish_if_untouched();
  // Pieces come in any order: what has landed is known when all have.
  const std::size_t bytes = step_at(step).data.bytes;
  if (stage_ != Stage::begun || incoming.pieces < pieces_of(bytes)) return;
  service_.forget_landing(incoming.landing);
  landed(step, bytes);
}

std::uint64_t CollectiveOperation::pieces_put_to(NodeId member) const {
  return pieces_with(member, schedule::StepKind::send);
}

std::uint64_t CollectiveOperation::pieces_with(NodeId peer, schedule::StepKind kind) const {
  std::uint64_t pieces = 0;
  for (std::uint32_t step = 0; step < transfers_.size(); ++step) {
    const PlacedStep& what = step_at(step);
    if (what.kind == kind && what.node == peer) pieces += transfers_[step].pieces;
  }
  return pieces;
}

void CollectiveOperation::forget_landings() {
  for (std::uint32_t step = 0; step < transfers_.size(); ++step) {
    const bool is_over_wire = transfers_[step].told && !step_at(step).shares_memory;
    if (is_over_wire) service_.forget_landing(transfers_[step].landing);
  }
}

}  // namespace stretto
