// The part of LargeMessages that copies what peers can't reach to memory that they do.

#include <algorithm>
#include <utility>

#include "stretto/base/claim_line.h"
#include "stretto/collective/collective_service.h"
#include "stretto/collective/large_messages.h"
#include "stretto/collective/operation.h"

namespace stretto {

namespace {

// Who reads is told of so much as soon as it is there, then of as much as there is already.
constexpr std::size_t first_told_bytes = std::size_t{16} << 10U;

}  // namespace

// The receiver reads where the data lie, or where we copy them piece by piece, once for all who read them.
void LargeMessages::grant(std::uint32_t step) {
  engage();
  if (send_in_place(step)) return;
  if (transfer(step).staged_by == Plan::none) {
    if (const std::uint32_t other = staged_alike(step); other != Plan::none) {
      join_staging(step, other);
      return;
    }
    const StagingWindow turns = window_for_turns(step);
    const bool has_one_reader = !step_at(step).has_several_readers;
    const bool by_turns = turns.bytes() > 0 && has_one_reader;
    allocate_staging(step, by_turns ? turns : window_for(step));
    if (by_turns) {
      transfers_[step].offered = Sharing::turns;
    } else if (has_one_reader && claims_help() && !comes_whole(step)) {
      transfers_[step].offered = Sharing::claims;
    }
  }
  // The reader may wait for this step before it reads: it must not wait for the reader.
  if (step_at(step).is_lent && transfers_[step].window.bytes() < data_of(step).size()) lend(step);
  send_later(step);
}

// Its data have been copied for another reader, as far as they have.
void LargeMessages::join_staging(std::uint32_t step, std::uint32_t other) {
  transfers_[step].staged_by = other;
  const Transfer& copied = transfers_[other];
  if (copied.bytes == 0) return;
  send_grant(step, static_cast<std::uint64_t>(copied.staging), copied.bytes, copied.window.bytes());
}

void LargeMessages::allocate_staging(std::uint32_t step, const StagingWindow& window) {
  Transfer& staged = transfer(step);
  staged.window = window;
  staged.staging = static_cast<std::int64_t>(endpoint().segment().allocate(window.bytes()));
  staged.staged_by = step;
}

// All of the data are staged where several read them, which may wait for each other; where they are written over before
// they have been read; and where a task combines all of them at once.
bool LargeMessages::is_staged_whole(std::uint32_t step) const noexcept {
  const PlacedStep& what = step_at(step);
  const CollectiveCall& call = operation_.call_;
  const bool is_written_over = what.is_written_over(data_of(step), call.output);
  return is_written_over || call.reduction().as_task || what.has_several_readers;
}

StagingWindow LargeMessages::window_for(std::uint32_t step) const noexcept {
  const std::size_t bytes = step_at(step).data.bytes;
  const std::size_t most = operation_.service_.most_staged();
  if (bytes <= most || is_staged_whole(step)) return StagingWindow(bytes);
  return StagingWindow::of(bytes, operation_.call_.element_bytes(), most);
}

// The send by which the same data are copied to staging memory where somebody reads them now; or none. As long as one
// reads them there nobody writes over them, but where they are lent.
std::uint32_t LargeMessages::staged_alike(std::uint32_t step) const noexcept {
  if (step_at(step).is_lent) return Plan::none;
  for (const Transfer& other : transfers_) {
    const std::uint32_t by = other.staged_by;
    if (by != Plan::none && !step_at(by).is_lent && step_at(by).data == step_at(step).data) return by;
  }
  return Plan::none;
}

// Whether what a peer makes of what it is granted comes to the memory in which that is staged, for that peer alone.
// With others, what is granted may have to be read whole before any of it comes back.
bool LargeMessages::may_come_back(std::uint32_t receive, std::uint32_t granted) const {
  const PlacedStep& what = step_at(granted);
  const std::size_t bytes = what.data.bytes;
  if (bytes != step_at(receive).data.bytes || what.has_several_readers || place_in_sight(granted)) return false;
  return bytes <= operation_.service_.most_staged() || answers_follow_at_once();
}

// Nobody else's data go into what comes back.
bool LargeMessages::answers_follow_at_once() const noexcept { return operation_.plan().schedule().shape.size == 2; }

// Returns where it is staged. REQUIRES: may_come_back(receive, granted).
std::uint64_t LargeMessages::let_come_back(std::uint32_t receive, std::uint32_t granted) {
  Transfer& staged = transfer(granted);
  if (staged.staged_by == Plan::none) {
    const bool is_whole = is_staged_whole(granted) || !answers_follow_at_once();
    const std::size_t bytes = step_at(granted).data.bytes;
    // What comes back is read while it is in the caches.
    const std::size_t most = operation_.service_.most_staged() / 4;
    allocate_staging(granted, StagingWindow::of(bytes, operation_.call_.element_bytes(), is_whole ? bytes : most));
  }
  staged.offered = Sharing::answers;
  staged.sharing = Sharing::answers;
  Transfer& incoming = transfers_[receive];
  incoming.window = StagingWindow(staged.window.bytes());
  incoming.staged_by = granted;
  incoming.offered = Sharing::answers;
  incoming.sharing = Sharing::answers;
  return static_cast<std::uint64_t>(staged.staging);
}

// Of a message with a counterpart: an even number of turns, two where an inline run could take them, too. Or none: what
// is little is as soon staged whole, which tells an inline run as much (PlacedStep::were_staged).
StagingWindow LargeMessages::window_for_turns(std::uint32_t step) const noexcept {
  const std::size_t bytes = step_at(step).data.bytes;
  const std::size_t most = operation_.service_.most_staged();
  const std::uint32_t counterpart = step_at(step).counterpart;
  const std::size_t turn = step_at(step).turn_bytes;
  if (counterpart == Plan::none) return {};
  if (turn > 0 && turn <= most && (step_at(counterpart).were_staged || !comes_whole(step))) return StagingWindow(turn);
  if (bytes < most / 8) return {};
  return StagingWindow::of_turns(bytes, operation_.call_.element_bytes(), most / 2, fabric::Segment::least_alignment);
}

// The peer has said where a message of its is staged, or to be written, and how it would share that. Whose answers go
// there is not told how far it may write: as far as it has read.
void LargeMessages::accept_sharing(std::uint32_t theirs) {
  Transfer& message = transfers_[theirs];
  if (message.offered == Sharing::turns) agree_on_turns(theirs);
  if (message.offered != Sharing::answers) return;
  message.sharing = Sharing::answers;
  if (step_at(theirs).kind == schedule::StepKind::send) message.window.take(step_at(theirs).data.bytes);
}

// `theirs`: what the peer has granted of two counterparts. Each side offers turns, if at all, when it begins its steps,
// before it hears of the other's: so both agree, or neither.
void LargeMessages::agree_on_turns(std::uint32_t theirs) {
  const std::uint32_t ours = step_at(theirs).counterpart;
  if (ours == Plan::none || step_at(theirs).kind == schedule::StepKind::send) return;
  Transfer& of_peer = transfers_[theirs];
  Transfer& of_us = transfers_[ours];
  const bool is_offered = of_peer.offered == Sharing::turns && of_us.offered == Sharing::turns;
  if (!is_offered || of_peer.window.bytes() != of_us.window.bytes()) return;
  of_peer.sharing = Sharing::turns;
  of_us.sharing = Sharing::turns;
  of_peer.staged_by = ours;
  of_peer.told = true;  // the peer writes to our memory
}

// The memory in which a message begins: the peer's, or what is staged here.
std::byte* LargeMessages::begin_of(std::uint32_t step) const noexcept {
  if (transfers_[step].place != nullptr) return transfers_[step].place;
  return endpoint().segment().pointer(static_cast<std::uint64_t>(transfers_.staging_of(step)));
}

std::byte* LargeMessages::place_of(std::uint32_t step, std::size_t at) const noexcept {
  const Transfer& message = transfers_[step];
  const bool is_with_other = message.sharing == Sharing::turns && at / message.window.bytes() % 2 == 1;
  return begin_of(is_with_other ? step_at(step).counterpart : step) + message.window.place_of(at);
}

// What has been read of a message tells how far the one the other way may be written to the same memory.
void LargeMessages::let_other_go_on(std::uint32_t receive) {
  const Transfer& incoming = transfers_[receive];
  const bool by_turns = incoming.sharing == Sharing::turns;
  const std::uint32_t other = by_turns ? step_at(receive).counterpart : incoming.staged_by;
  if (other == Plan::none) return;
  transfers_[other].window.take(incoming.window.taken());
  if (!operation_.has_turn_) do_piece();
}

void LargeMessages::stage_piece(std::uint32_t step) {
  Transfer& staged = transfer(step);
  const ByteSpan data = data_of(step);
  const std::size_t upto = std::min({staged.bytes + memory_piece_bytes, writable(step), data.size()});
  const std::size_t end = staged.bytes + staged.window.in_one_piece(staged.bytes, upto);
  while (staged.bytes < end) {
    const std::size_t bytes = std::min(told_at_once(step, staged.bytes), end - staged.bytes);
    copy_for_peer(step, place_of(step, staged.bytes), data.subspan(staged.bytes, bytes));
    staged.bytes += bytes;
    tell_readers(step);
  }
  if (step_at(step).is_lent && staged.bytes == data.size() && !staged.lent) lend(step);
}

// Of what is staged from byte `at` on (decision 66). Where all give and get, who is to read it stages its own data
// meanwhile, and would turn away from that. What is lent and little is read whole by an inline run.
std::size_t LargeMessages::told_at_once(std::uint32_t step, std::size_t at) const noexcept {
  if (comes_whole(step) || schedule::waits_for_all(operation_.call_.operation())) return memory_piece_bytes;
  return std::clamp(at, first_told_bytes, piece_bytes);
}

// An inline run may read it, which claims nothing.
bool LargeMessages::comes_whole(std::uint32_t step) const noexcept {
  const PlacedStep& what = step_at(step);
  return what.is_lent && what.data.bytes <= most_staged_whole(operation_.call_.operation());
}

void LargeMessages::tell_readers(std::uint32_t step) {
  const Transfer& staged = transfers_[step];
  for (std::uint32_t send = 0; send < transfers_.size(); ++send) {
    const bool is_read = step_at(send).kind == schedule::StepKind::send && transfers_[send].staged_by == step;
    if (is_read) send_grant(send, static_cast<std::uint64_t>(staged.staging), staged.bytes, staged.window.bytes());
  }
}

// What has landed there goes to where it belongs.
void LargeMessages::take_staged(std::uint32_t receive, std::size_t upto) {
  Transfer& incoming = transfers_[receive];
  while (incoming.bytes < upto) {
    const std::size_t bytes = incoming.window.in_one_piece(incoming.bytes, upto);
    copy_bytes(data_of(receive).data() + incoming.bytes, {place_of(receive, incoming.bytes), bytes});
    incoming.bytes += bytes;
  }
}

// A message is over: who has read there, or all that was to land there has been taken.
void LargeMessages::leave_staging(std::uint32_t step) {
  const std::uint32_t by = std::exchange(transfers_[step].staged_by, Plan::none);
  const auto is_used = [by](const Transfer& each) { return each.staged_by == by; };
  if (by != Plan::none && std::any_of(transfers_.begin(), transfers_.end(), is_used)) return;
  release(transfers_[by == Plan::none ? step : by]);
}

void LargeMessages::release_staging() noexcept {
  for (Transfer& each : transfers_) release(each);
}

// What was shared we have read last, where all went well.
void LargeMessages::release(Transfer& staged) noexcept {
  const std::int64_t staging = std::exchange(staged.staging, -1);
  if (staging < 0) return;
  using LastRead = fabric::Segment::LastRead;
  const LastRead last_read = staged.sharing == Sharing::none ? LastRead::by_others : LastRead::by_owner;
  endpoint().segment().release(static_cast<std::uint64_t>(staging), last_read);
}

}  // namespace stretto
