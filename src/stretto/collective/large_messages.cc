#include "stretto/collective/large_messages.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "stretto/base/claim_line.h"
#include "stretto/collective/collective_service.h"
#include "stretto/collective/inline_run.h"
#include "stretto/collective/operation.h"
#include "stretto/collective/operation_entry.h"

namespace stretto {

// One piece of a send has left over a wire; the last one completes the step.
struct LargeMessages::PutDone : fabric::Completion {
  PutDone(LargeMessages& its_messages, std::uint32_t send_step) noexcept : messages(its_messages), step(send_step) {}

  // A lost peer fails the whole operation by another way.
  void complete(bool /*lost*/) noexcept override {
    CollectiveOperation& owner = messages.operation_;
    const CollectiveOperation::Entry entry(owner);
    --owner.under_way_;
    const bool all = ++messages.transfers_[step].pieces_back == pieces_of(messages.step_at(step).data.bytes);
    if (all && owner.is_begun()) {
      owner.complete_step(step);
      owner.run();
    }
    owner.finish_if_untouched();
    delete this;
  }

  LargeMessages& messages;
  std::uint32_t step;
};

void LargeMessages::make_room() {
  if (!transfers_.empty()) return;
  operation_.exposures_.make_room(operation_.plan_->peers().size());
  transfers_.make_room(operation_.plan_->steps().size());
}

Transfer& LargeMessages::transfer(std::uint32_t step) {
  make_room();
  return transfers_[step];
}

const PlacedStep& LargeMessages::step_at(std::uint32_t step) const noexcept { return operation_.step_at(step); }
ByteSpan LargeMessages::data_of(std::uint32_t step) const noexcept { return operation_.data_of(step); }
fabric::Endpoint& LargeMessages::endpoint() const noexcept { return operation_.service_.endpoint(); }
bool LargeMessages::is_begun() const noexcept { return operation_.is_begun(); }

// Says something of a step to its peer.
template <class Header>
void LargeMessages::tell(std::uint32_t step, fabric::MessageType type, const Header& header) {
  operation_.send_to(step_at(step).node, type, stretto::bytes_of(header));
}

// Only where memory carries what is exchanged: a wire keeps a thread that looks for the next message waiting for long.
// And only where that takes some time: what is over in a moment is not worth the service thread's ticks.
void LargeMessages::engage() {
  if (bytes_of_longer(operation_.call_) > piece_bytes) attendance_.engage(endpoint().context());
}

void LargeMessages::spend(std::size_t bytes) const { endpoint().context().spend(cost_of(bytes)); }

// It saves a round trip.
[[gnu::hot]] void LargeMessages::announce_early() {
  for (const auto& [receive, granted] : operation_.plan().lowering().answers) {
    if (step_at(receive).is_large() && step_at(receive).shares_memory) say_ready(receive, granted);
  }
}

void LargeMessages::take_over(std::uint32_t step, const InlineRun& run) {
  const InlineRun::Passed& passed = run.passed(step);
  const bool is_granted = passed.place != nullptr || passed.private_at != 0;
  if (!is_granted && !passed.is_out) return;  // it was sent, or is given back
  Transfer& taken = transfer(step);
  taken.bytes = step_at(step).data.bytes;
  taken.window = StagingWindow(taken.bytes);
  if (passed.turns != Turns::none) take_over_turns(step, passed.turns);
  taken.place = passed.place;
  taken.private_at = passed.private_at;
  taken.known = is_granted;
  if (!passed.is_out) return;
  taken.told = true;
  taken.lent = true;
  ++lent_;
  taken.staging = passed.staging;
  if (taken.staging >= 0) taken.staged_by = step;
  if (taken.bytes < step_at(step).data.bytes) sendings_.push_back(step);
}

// Of one of two counterparts: how far it has come at the other end. The first turn of the peer's was read as the second
// one of ours was written.
void LargeMessages::take_over_turns(std::uint32_t step, Turns turns) {
  const PlacedStep& what = step_at(step);
  const bool is_send = what.kind == schedule::StepKind::send;
  Transfer& taken = transfers_[step];
  taken.window = StagingWindow(what.turn_bytes);
  taken.offered = Sharing::turns;
  if (turns == Turns::first) taken.bytes = what.turn_bytes;
  if (is_send && turns == Turns::first) return;
  taken.sharing = Sharing::turns;
  taken.window.take(what.turn_bytes);
  if (is_send) return;
  taken.staged_by = what.counterpart;
  taken.told = true;
}

void LargeMessages::start_send(std::uint32_t step) {
  if (step_at(step).is_pulled) {
    grant(step);
  } else if (transfer(step).known) {
    send_later(step);
  } else {
    wait_to_be_asked(step);
  }
}

void LargeMessages::wait_to_be_asked(std::uint32_t step) {
  if (!step_at(step).shares_memory) attendance_.expect_request(endpoint().context());
  // Of an all-to-all: the receiver may expect so little that it will never say that it is ready.
  if (!operation_.call_.output_offsets().empty()) {
    operation_.say_hello(step_at(step).peer, step_at(step).tag, step_at(step).data.bytes);
  }
}

// Where the data of a send lie for their receiver to read; nothing: see send_in_place.
std::optional<fabric::Offset> LargeMessages::place_in_sight(std::uint32_t step) const {
  const ByteSpan data = data_of(step);
  if (step_at(step).is_written_over(data, operation_.call_.output)) return std::nullopt;
  return endpoint().offset_for_peers(data.data(), data.size());
}

// Likewise, of memory that the receiver does not map, but reads.
std::optional<fabric::Offset> LargeMessages::private_place(std::uint32_t step) const {
  const PlacedStep& what = step_at(step);
  const ByteSpan data = data_of(step);
  const CollectiveCall& call = operation_.call_;
  const bool is_staged = !transfers_.empty() && transfers_[step].staged_by != Plan::none;
  if (is_staged || call.reduction().as_task || what.is_written_over(data, call.output)) return std::nullopt;
  return operation_.service_.private_reads().place_for(what, data);
}

bool LargeMessages::send_in_place(std::uint32_t step) {
  auto offset = place_in_sight(step);
  if (!offset) offset = private_place(step);
  if (!offset) return false;
  const std::size_t bytes = step_at(step).data.bytes;
  send_grant(step, *offset, bytes, bytes);
  if (step_at(step).is_lent) lend(step);
  return true;
}

void LargeMessages::send_grant(std::uint32_t step, std::uint64_t offset, std::size_t available, std::size_t window) {
  const PlacedStep& what = step_at(step);
  transfer(step).told = true;
  const CallHeader header = operation_.header(what.tag);
  const std::size_t bytes = what.data.bytes;
  const bool is_turn = transfers_[step].offered == Sharing::turns && window == what.turn_bytes;
  if (what.is_lent && (is_turn || (available == bytes && window == bytes))) {
    tell(step, fabric::MessageType::collective_whole_grant,
         WholeGrantHeader{header, offset, 0, 0, granted_of(step, available)});
  } else {
    const auto sharing = static_cast<std::uint64_t>(transfers_[step].offered);
    tell(step, fabric::MessageType::collective_grant, GrantHeader{header, offset, bytes, available, window, sharing});
  }
  operation_.heard_by(what.peer);
}

// Of a grant of so much that is whole, or a turn of two.
Granted LargeMessages::granted_of(std::uint32_t step, std::size_t available) const noexcept {
  const Transfer& lent = transfers_[step];
  if (lent.offered == Sharing::turns) {
    return available == step_at(step).data.bytes ? Granted::last_turn : Granted::first_turn;
  }
  if (lent.offered == Sharing::claims) return Granted::all_claimed;
  return lent.staging >= 0 && step_at(step).turn_bytes > 0 ? Granted::all_staged : Granted::all;
}

void LargeMessages::read_granted(std::uint32_t step, std::size_t at, ByteSpan out) const {
  const Transfer& granted = transfers_[step];
  if (transfers_.is_private(step)) {
    operation_.service_.private_reads().copy(out, step_at(step).node, granted.private_at + at);
    return;
  }
  const ByteSpan data(place_of(step, at), out.size());
  transfers_.is_claimed(step) ? copy_and_claim(out.data(), data) : copy_bytes(out.data(), data);
}

const std::byte* LargeMessages::granted_term(std::uint32_t step, std::size_t at, const PrivateReads::Term& term) const {
  if (!transfers_.is_private(step)) return place_of(step, at);
  return operation_.service_.private_reads().read(term, step_at(step).node, transfers_[step].private_at + at);
}

void LargeMessages::copy_for_peer(std::uint32_t step, std::byte* to, ConstByteSpan from) {
  transfers_.is_at_hand(step) ? copy_bytes(to, from) : operation_.service_.copy_for(step_at(step).node).copy(to, from);
}

// What follows need not wait for the receiver; the operation's end does.
void LargeMessages::lend(std::uint32_t step) {
  transfer(step).lent = true;
  ++lent_;
  operation_.complete_step(step);
}

// A reduce takes it from there, or it is copied.
void LargeMessages::take_granted(std::uint32_t step) {
  if (step_at(step).left_from != step) {
    operation_.complete_step(step);
  } else {
    operation_.local_.copy_granted(step);
  }
}

void LargeMessages::start_receive(std::uint32_t step) {
  Transfer& incoming = transfer(step);
  if (step_at(step).is_pulled) {
    if (incoming.known) take_granted(step);
    return;
  }
  if (!incoming.told && requests_.may_ask(step)) say_ready(step);
  if (incoming.known && incoming.bytes == step_at(step).data.bytes) operation_.complete_step(step);
}

// Where all do alike, as in a ring in which each hears of one peer only, none asks in turn if this node does not.
bool LargeMessages::asks_in_turn(std::uint32_t step) const noexcept {
  const PlacedStep& what = step_at(step);
  if (!what.is_large() || what.shares_memory || !operation_.plan().asks_in_turn()) return false;
  const bool does_as_i_do = what.kind == schedule::StepKind::receive || operation_.plan().meets_everybody();
  return !does_as_i_do || !operation_.placed_->asked_in_turn.empty();
}

[[gnu::hot]] void LargeMessages::list_requests() {
  for (const std::uint32_t receive : operation_.placed_->asked_in_turn) {
    requests_.list(receive, step_at(receive).data.bytes);
  }
}

// Tells the sender where to put it: in place if it can reach that, else beside.
void LargeMessages::say_ready(std::uint32_t step, std::uint32_t granted) {
  const PlacedStep& what = step_at(step);
  const ByteSpan data = data_of(step);
  Transfer& incoming = transfer(step);
  const bool in_memory = what.shares_memory;
  fabric::Segment& segment = endpoint().segment();
  std::optional<fabric::Offset> offset;
  incoming.window = StagingWindow(data.size());
  if (in_memory) {
    engage();
    offset = endpoint().offset_for_peers(data.data(), data.size());
  } else if (const std::int64_t inside = segment.offset_of(data.data()); inside >= 0) {
    offset = static_cast<fabric::Offset>(inside);
  }
  if (!offset && granted != Plan::none && may_come_back(step, granted)) {
    offset = let_come_back(step, granted);
  } else if (!offset) {
    const std::size_t element = operation_.call_.element_bytes();
    if (in_memory) incoming.window = StagingWindow::of(data.size(), element, operation_.service_.most_staged());
    offset = segment.allocate(incoming.window.bytes());
    incoming.staging = static_cast<std::int64_t>(*offset);
  }
  incoming.landing =
      in_memory ? (transfers_.staging_of(step) >= 0 ? 1 : 0) : operation_.service_.landings().add(operation_, step);
  incoming.told = true;
  tell(step, fabric::MessageType::collective_ready,
       ReadyHeader{operation_.header(what.tag), *offset, incoming.landing, data.size(), incoming.window.bytes(),
                   static_cast<std::uint64_t>(incoming.offered)});
  operation_.heard_by(what.peer);
}

void LargeMessages::send_later(std::uint32_t step) {
  sendings_.push_back(step);
  do_piece();
}

// Whether a send can go on before its reader has said more.
bool LargeMessages::can_move(std::uint32_t step) const noexcept {
  const Transfer& outgoing = transfers_[step];
  const bool is_put = outgoing.staging < 0 && outgoing.place == nullptr;
  return is_put || outgoing.bytes == step_at(step).data.bytes || outgoing.bytes < writable(step);
}

std::vector<std::uint32_t>::const_iterator LargeMessages::next_to_move() const noexcept {
  return std::find_if(sendings_.begin(), sendings_.end(), [this](std::uint32_t step) { return can_move(step); });
}

bool LargeMessages::can_send_more() const noexcept { return next_to_move() != sendings_.end(); }

void LargeMessages::do_piece() {
  const auto next = next_to_move();
  if (next == sendings_.end() || !is_begun()) return;
  const std::uint32_t step = *next;
  const std::size_t bytes = step_at(step).data.bytes;
  Transfer& outgoing = transfer(step);
  const std::size_t before = outgoing.bytes;
  if (outgoing.staging >= 0) {
    stage_piece(step);
  } else if (outgoing.place != nullptr) {
    write_piece(step, std::min(outgoing.bytes + memory_piece_bytes, bytes));
  } else {
    put_piece(step);
  }
  spend(outgoing.bytes - before);
  if (outgoing.bytes == bytes) {
    sendings_.erase(next);
    if (outgoing.place != nullptr) end_send(step);
  }
  if (can_send_more()) operation_.take_turn_later();
}

// Into the peer's memory, up to there, or as far as it has room.
void LargeMessages::write_piece(std::uint32_t step, std::size_t upto) {
  Transfer& outgoing = transfer(step);
  const ByteSpan data = data_of(step);
  const StagingWindow& window = outgoing.window;
  const std::size_t end = std::min(upto, writable(step));
  if (end <= outgoing.bytes) return;
  while (outgoing.bytes < end) {
    const std::size_t bytes = window.in_one_piece(outgoing.bytes, end);
    copy_for_peer(step, place_of(step, outgoing.bytes), data.subspan(outgoing.bytes, bytes));
    outgoing.bytes += bytes;
  }
  wrote(step, end);
}

// So much of a send is in the peer's memory.
void LargeMessages::wrote(std::uint32_t step, std::size_t upto) {
  Transfer& outgoing = transfer(step);
  outgoing.bytes = upto;
  const bool each_piece = outgoing.landing != 0;
  if (!each_piece || upto == step_at(step).data.bytes) return;
  tell(step, fabric::MessageType::collective_landed, LandedHeader{operation_.header(step_at(step).tag), upto});
}

void LargeMessages::put_piece(std::uint32_t step) {
  Transfer& outgoing = transfer(step);
  const ByteSpan data = data_of(step);
  const std::size_t bytes = std::min(piece_bytes, data.size() - outgoing.bytes);
  auto done = std::make_unique<PutDone>(*this, step);
  endpoint().put(step_at(step).node, outgoing.offset + outgoing.bytes, data.subspan(outgoing.bytes, bytes),
                 outgoing.landing, done.get());
  (void)done.release();  // it comes back, later
  ++operation_.under_way_;
  outgoing.bytes += bytes;
  ++outgoing.pieces;
}

void LargeMessages::end_send(std::uint32_t step) {
  const PlacedStep& what = step_at(step);
  tell(step, fabric::MessageType::collective_landed, LandedHeader{operation_.header(what.tag), what.data.bytes});
  operation_.complete_step(step);
}

// Only as long as the peer can't have written all: whoever has is through with the message, and may be with all. What
// goes both ways says so by what comes back.
void LargeMessages::say_taken(std::uint32_t step, std::size_t upto) {
  StagingWindow& window = transfers_[step].window;
  if (writable(step) >= step_at(step).data.bytes) return;
  window.take(upto);
  if (transfers_[step].sharing != Sharing::none) {
    let_other_go_on(step);
    return;
  }
  tell(step, fabric::MessageType::collective_taken, TakenHeader{operation_.header(step_at(step).tag), upto});
}

void LargeMessages::end_pulled(std::uint32_t receive) {
  if (!transfers_.is_granted(receive)) return;
  tell(receive, fabric::MessageType::collective_done, operation_.header(step_at(receive).tag));
  leave_staging(receive);
}

// More of a receive is where the sender was told to put it.
void LargeMessages::landed(std::uint32_t step, std::size_t upto) {
  Transfer& incoming = transfer(step);
  const ByteSpan data = data_of(step);
  if (upto <= incoming.bytes) return;
  incoming.known = true;
  if (transfers_.staging_of(step) >= 0) {
    take_staged(step, upto);
    operation_.or_fail([this, step, upto] { say_taken(step, upto); });
    if (upto == data.size()) leave_staging(step);
  }
  incoming.bytes = upto;
  if (upto == data.size() && operation_.states_.of(step) == StepStates::State::started) operation_.complete_step(step);
  operation_.run();
}

// How far a message may be written, by what its reader has taken; by turns, by what its writer has read of the other.
std::size_t LargeMessages::writable(std::uint32_t step) const noexcept {
  const Transfer& message = transfers_[step];
  if (message.sharing != Sharing::turns) return message.window.writable();
  return message.window.writable_by_turns(message.window.taken(), step_at(step).data.bytes);
}

// A piece of a receive has come: others may follow.
void LargeMessages::ask_for_others(std::uint32_t step) {
  requests_.came(step, std::min(data_of(step).size(), piece_bytes));
  operation_.or_fail([this] {
    for (std::uint32_t next = requests_.next(); next != Requests::none; next = requests_.next()) say_ready(next);
  });
}

void LargeMessages::note_exposures(Exposures& exposures) const {
  for (std::uint32_t step = 0; step < transfers_.size(); ++step) {
    const NodeId peer = step_at(step).node;
    if (!transfers_[step].told || (endpoint().gone(peer) && !endpoint().may_linger(peer))) continue;
    const bool is_complete = operation_.states_.of(step) == StepStates::State::complete;
    if (!step_at(step).shares_memory) {
      exposures.note_pieces(peer, pieces_of(data_of(step).size()));
    } else if (!is_complete || transfers_.is_lent_out(step)) {
      exposures.note_shared(peer);
    }
  }
}

std::uint64_t LargeMessages::pieces_with(NodeId peer, schedule::StepKind kind) const {
  std::uint64_t pieces = 0;
  for (std::uint32_t step = 0; step < transfers_.size(); ++step) {
    const PlacedStep& what = step_at(step);
    if (what.kind == kind && what.node == peer) pieces += transfers_[step].pieces;
  }
  return pieces;
}

void LargeMessages::forget_landings() {
  for (std::uint32_t step = 0; step < transfers_.size(); ++step) {
    const bool is_over_wire = transfers_[step].told && !step_at(step).shares_memory;
    if (is_over_wire) operation_.service_.landings().forget(transfers_[step].landing);
  }
}

}  // namespace stretto
