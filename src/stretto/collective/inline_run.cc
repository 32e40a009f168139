#include "stretto/collective/inline_run.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "stretto/collective/collective_service.h"
#include "stretto/collective/stream.h"
#include "stretto/core/cause.h"
#include "stretto/core/engine.h"
#include "stretto/fabric/burst.h"

namespace stretto {

namespace {

// A look takes some nanoseconds, a peer that combines so many bytes about as long.
constexpr std::size_t bytes_a_look = 64;
// Of what is foreseen a look in a row takes less than one by itself: so many of them as long as so many of these.
constexpr unsigned looks_in_a_row = 16;
constexpr unsigned looks_of_a_row = 4;

// How often to look for what a peer says once it has copied or combined so many bytes, rather than `looks` times.
unsigned looks_for(std::size_t bytes, unsigned looks) noexcept {
  return looks == 1 ? 1 : looks + static_cast<unsigned>(bytes / bytes_a_look);
}

}  // namespace

// Steps are in line: a small call is little more than they are.
[[gnu::hot]] bool InlineRun::run(unsigned looks) {
  if (plan_.lends) {
    std::fill_n(passed_.begin(), plan_.steps.size(), Passed{nullptr, 0, -1, Turns::none, false, {nullptr, 0}});
    most_receipts_ = looks > 1 ? service_.receipts().count() : 0;
  }
  const auto or_fail = [this](auto&& part) {
    try {
      return part();
    } catch (...) {
      failure_ = cause_of_current_exception("a collective");
      return false;
    }
  };
  const bool is_over = or_fail([&] { return do_steps(looks); });
  return is_over || out_ == 0 ? is_over : or_fail([this] { return take_receipts_back(); });
}

inline bool InlineRun::do_steps(unsigned looks) {
  const PlacedStep* const end = std::to_address(plan_.steps.end());
  while (next_ != end) {
    if (next_->sends_in_a_row > 1) {
      if (!send_all()) return false;
    } else {
      if (!do_step(*next_, looks)) return false;
      ++next_;
    }
  }
  return wait_for_readers(looks);
}

[[gnu::hot]] bool InlineRun::send_all() {
  const fabric::Burst burst(service_.endpoint());
  for (const PlacedStep* const end = next_ + next_->sends_in_a_row; next_ != end;) {
    if (send_alike(*next_)) continue;
    if (!send(*next_)) return false;
    ++next_;
  }
  return true;
}

// Those from `first` on, if that can be done at once.
bool InlineRun::send_alike(const PlacedStep& first) {
  if (first.multicast == nullptr) return false;
  header_.call.tag = first.tag;
  const std::span<const PlacedStep> row(&first, first.alike_in_a_row);
  if (!service_.send_to_all(row, header_.call, buffers_.bytes_of(first.data))) return false;
  next_ += first.alike_in_a_row;
  return true;
}

inline bool InlineRun::do_step(const PlacedStep& what, unsigned looks) {
  switch (what.kind) {
    case schedule::StepKind::send: return send(what);
    case schedule::StepKind::receive:
      note_look();
      if (!receive(what, what.turn_bytes > 0 ? looks_for(what.turn_bytes, looks) : looks)) return false;
      if (what.left_from != Plan::none) return take_lent(what, looks);
      break;
    case schedule::StepKind::reduce: combine(what); break;
    case schedule::StepKind::copy: buffers_.copy(what.data, what.destination); break;
  }
  return true;
}

// While the first message is on its way, if one was sent.
inline void InlineRun::note_look() {
  if (!std::exchange(has_looked_, true)) service_.node().engine().note_look();
}

[[gnu::always_inline]] inline bool InlineRun::send(const PlacedStep& what) {
  return what.is_lent ? send_lent(what) : send_data(what);
}

// What can't be read where it lies is sent, if it is little, or staged (decision 33).
[[gnu::hot]] bool InlineRun::send_lent(const PlacedStep& what) {
  const ByteSpan data = buffers_.bytes_of(what.data);
  if (!what.is_written_over(data, call_.output)) {
    auto offset = service_.endpoint().offset_for_peers(data.data(), data.size());
    if (!offset) offset = service_.private_reads().place_for(what, data);
    if (offset) {
      lend(what, *offset);
      return true;
    }
  }
  return data.size() <= what.most_sent() ? send_data(what) : stage(what);
}

[[gnu::always_inline]] inline bool InlineRun::send_data(const PlacedStep& what) {
  header_.call.tag = what.tag;
  if (!what.account->take(what.data.bytes)) return false;
  service_.send_unasked(what, header_.call, buffers_.bytes_of(what.data));
  return true;
}

bool InlineRun::stage(const PlacedStep& what) {
  const ByteSpan data = buffers_.bytes_of(what.data);
  const bool by_turns = what.turn_bytes > 0 && plan_.steps[what.counterpart].were_staged;
  const ByteSpan first = by_turns ? data.first(what.turn_bytes) : data;
  const std::size_t most_at_once = by_turns ? first.size() : most_staged_whole(call_.operation());
  if (first.size() > std::min(most_at_once, service_.most_staged())) return false;
  fabric::Segment& segment = service_.endpoint().segment();
  const std::uint64_t offset = segment.allocate(first.size());
  Passed& lent = passed(what);
  lent.staging = static_cast<std::int64_t>(offset);
  lent.turns = by_turns ? Turns::first : Turns::none;
  try {
    // Where turns are taken this side has read there last.
    by_turns ? copy_bytes(segment.pointer(offset), first)
             : service_.copy_for(what.node).copy(segment.pointer(offset), first);
    lend(what, offset);
  } catch (...) {
    lent.staging = -1;
    segment.release(offset);
    throw;
  }
  return true;
}

void InlineRun::lend(const PlacedStep& what, std::uint64_t offset) {
  Passed& lent = passed(what);
  header_.offset = offset;
  // Of turns a message says it: it comes after the peer's own last turn.
  if (receipts_ < most_receipts_ && lent.turns == Turns::none) {
    Receipts& receipts = service_.receipts();
    lent.receipt = receipts.issue(receipts_);
    header_.receipt = receipts.offset(receipts_++);
  }
  grant(what, lent);
  lent.is_out = true;
  ++out_;
}

inline void InlineRun::grant(const PlacedStep& what, const Passed& lent) {
  header_.call.tag = what.tag;
  header_.receipt_number = lent.receipt.number();
  if (lent.turns != Turns::none) {
    header_.granted = lent.turns == Turns::both ? Granted::last_turn : Granted::first_turn;
  } else {
    header_.granted = lent.staging >= 0 && what.turn_bytes > 0 ? Granted::all_staged : Granted::all;
  }
  what.way->send(fabric::MessageType::collective_whole_grant, stretto::bytes_of(header_), {});
}

// What belongs to a message: of a send, that its data were read.
[[gnu::hot]] bool InlineRun::receive(const PlacedStep& what, unsigned looks) {
  looked_for_ = &what;
  if (stream_.use_one_early(sequence(), [this](const fabric::Message& early) { return use(early); })) return true;
  header_.call.tag = what.tag;
  const fabric::Foreseen data{fabric::MessageType::collective_data, sizeof(CallHeader),
                              stretto::bytes_of(header_.call).first(offsetof(CallHeader, line)),
                              buffers_.bytes_of(what.data)};
  const bool is_foreseen = what.kind == schedule::StepKind::receive && (!what.is_lent || what.was_sent);
  const bool looks_on = is_foreseen && looks > 1;
  const fabric::Awaited awaited{
      .bytes = is_foreseen || !what.is_lent ? sizeof(CallHeader) + what.data.bytes : sizeof(WholeGrantHeader),
      .is_due = what.comes_after_send || looks == 1,
      .foreseen = is_foreseen ? &data : nullptr,
      .looks = looks_on ? looks_in_a_row : 1,
  };
  const unsigned looks_at_once = looks_on ? looks_of_a_row : 1;
  for (; looked_for_ != nullptr && !peer_failed_ && !comes_in_parts_ && looks > 0;
       looks -= std::min(looks, looks_at_once)) {
    if (what.way->receive(awaited, *this) == fabric::Received::foreseen) {
      service_.note_data_used(what);
      looked_for_ = nullptr;
      return true;
    }
  }
  return looked_for_ == nullptr;
}

bool InlineRun::wait_for_readers(unsigned looks) {
  if (out_ > 0) note_look();
  for (std::uint32_t step = 0; out_ > 0; ++step) {
    if (!passed_[step].is_out) continue;
    if (passed_[step].turns == Turns::first) return false;  // the peer takes none
    const PlacedStep& what = plan_.steps[step];
    const unsigned longer = looks_for(what.data.bytes, looks);
    if (passed_[step].receipt ? !wait_for_receipt(what, longer) : !receive(what, longer)) return false;
  }
  return true;
}

// Its peer may also say it by a message, if it is not as far as we are.
bool InlineRun::wait_for_receipt(const PlacedStep& what, unsigned looks) {
  Passed& lent = passed(what);
  for (; looks > 0; --looks) {
    if (lent.receipt.is_signed()) {
      peer_failed_ = false;  // in a later call, if at all: its part of this one is over
      give_back(lent);
      return true;
    }
    if (receive(what, 1)) return true;
  }
  return false;
}

void InlineRun::give_back(Passed& lent) {
  lent.is_out = false;
  --out_;
  if (lent.staging < 0) return;
  using LastRead = fabric::Segment::LastRead;
  const LastRead last_read = lent.turns != Turns::none ? LastRead::by_owner : LastRead::by_others;
  service_.endpoint().segment().release(static_cast<std::uint64_t>(lent.staging), last_read);
}

// Who takes this over waits for messages. Returns whether there is nothing to take over after all.
bool InlineRun::take_receipts_back() {
  for (std::uint32_t step = 0; step < plan_.steps.size(); ++step) {
    Passed& lent = passed_[step];
    if (lent.is_out && lent.receipt && !lent.receipt.end()) give_back(lent);
  }
  return out_ == 0 && failure_ == nullptr && done() == plan_.steps.size();
}

[[gnu::hot]] void InlineRun::on_message(const fabric::Message& message) {
  if (looked_for_ == nullptr || !use(message)) service_.endpoint().deliver(message);
}

// Returns whether it is the message that is looked for. None is, once its sender has failed, which may have been told
// that what it lends is not read: who takes this over ends it. Nor where what is lent comes in parts: who takes this
// over reads them.
inline bool InlineRun::use(const fabric::Message& message) {
  if (message.from != looked_for_->node || peer_failed_ || comes_in_parts_) return false;
  bool used = false;
  if (message.type == fabric::MessageType::collective_data) {
    used = use_data(message);
  } else if (looked_for_->is_lent && message.type == fabric::MessageType::collective_whole_grant) {
    used = use_grant(message);
  } else if (looked_for_->is_lent && message.type == fabric::MessageType::collective_done) {
    used = use_done(message);
  } else {
    peer_failed_ = message.type == fabric::MessageType::collective_failed;
    comes_in_parts_ = looked_for_->kind == schedule::StepKind::receive && looked_for_->is_lent &&
                      message.type == fabric::MessageType::collective_grant;
  }
  if (used) looked_for_ = nullptr;
  return used;
}

// Of what is lent, too, if it is not large and could not be read where it lies.
inline bool InlineRun::use_data(const fabric::Message& message) {
  const PlacedStep& what = *looked_for_;
  if (what.kind != schedule::StepKind::receive || what.is_large() || message.header.size() != sizeof(CallHeader) ||
      message.payload.size() != what.data.bytes || !is_of(fabric::read_header<CallHeader>(message))) {
    return false;
  }
  copy_bytes(buffers_.bytes_of(what.data).data(), message.payload);
  what.was_sent = true;
  service_.note_data_used(what);
  return true;
}

inline bool InlineRun::use_grant(const fabric::Message& message) {
  const PlacedStep& what = *looked_for_;
  if (what.kind != schedule::StepKind::receive || message.header.size() != sizeof(WholeGrantHeader)) return false;
  const auto theirs = fabric::read_header<WholeGrantHeader>(message);
  if (!is_of(theirs.call)) return false;
  Passed& lent = passed(what);
  what.was_sent = false;
  if (what.turn_bytes > 0) {
    what.were_staged = may_take_turns(theirs.granted) && passed_[what.counterpart].staging >= 0;
  }
  if (theirs.granted >= Granted::first_turn || lent.turns != Turns::none) return use_turn(theirs);
  fabric::Endpoint& endpoint = service_.endpoint();
  // What may not be read, who takes this over refuses.
  if (fabric::is_private(theirs.offset)) {
    const bool may_be_read = endpoint.reads(what.node) && call_.is_aligned(fabric::private_address(theirs.offset));
    lent.private_at = may_be_read ? theirs.offset : 0;
  } else {
    std::byte* const place = endpoint.peer_pointer(what.node, theirs.offset, what.data.bytes);
    lent.place = call_.is_aligned(place) ? place : nullptr;
  }
  if (theirs.receipt_number != 0 && theirs.receipt % sizeof(std::uint64_t) == 0) {
    lent.receipt = {endpoint.peer_pointer(what.node, theirs.receipt, sizeof(std::uint64_t)), theirs.receipt_number};
  }
  return is_lent(lent);
}

// The first one is taken if this node has offered turns, too. What has overtaken it is left until it has come.
bool InlineRun::use_turn(const WholeGrantHeader& theirs) {
  const PlacedStep& what = *looked_for_;
  Passed& lent = passed(what);
  if (theirs.granted != Granted::first_turn || lent.turns != Turns::none) {
    const bool is_last = theirs.granted == Granted::last_turn && lent.turns == Turns::first;
    if (is_last) lent.turns = Turns::both;
    return is_last;
  }
  comes_in_parts_ = what.turn_bytes == 0 || passed_[what.counterpart].turns == Turns::none;
  if (comes_in_parts_) return false;
  std::byte* const place = service_.endpoint().peer_pointer(what.node, theirs.offset, what.turn_bytes);
  lent.place = call_.is_aligned(place) ? place : nullptr;
  if (lent.place != nullptr) lent.turns = Turns::first;
  return lent.place != nullptr;
}

inline bool InlineRun::use_done(const fabric::Message& message) {
  const PlacedStep& what = *looked_for_;
  if (what.kind != schedule::StepKind::send || message.header.size() != sizeof(CallHeader) ||
      !is_of(fabric::read_header<CallHeader>(message))) {
    return false;
  }
  give_back(passed(what));
  return true;
}

// Who lent what it read hears of it.
inline void InlineRun::combine(const PlacedStep& what) {
  const std::byte* left = buffers_.bytes_of(what.data).data();
  const std::byte* right = buffers_.bytes_of(what.right).data();
  const ByteSpan out = buffers_.bytes_of(what.destination);
  if (plan_.lends) {
    using Side = PrivateReads::Side;
    const bool is_left_lent = is_lent(what.left_from);
    const bool is_right_lent = is_lent(what.right_from);
    if (is_left_lent) left = lent_term(what.left_from, {Side::left, out, is_right_lent ? nullptr : right});
    if (is_right_lent) right = lent_term(what.right_from, {Side::right, out, is_left_lent ? nullptr : left});
  }
  call_.reduction().combine(call_.operator_state.get(), out.data(), left, right, what.elements);
  if (plan_.lends) {
    say_read(what.left_from);
    say_read(what.right_from);
  }
}

// Of what nobody combines.
[[gnu::always_inline]] inline bool InlineRun::take_lent(const PlacedStep& what, unsigned looks) {
  if (!is_lent(what.left_from)) return true;
  if (passed(what).turns != Turns::none) return take_turns(what, looks);
  copy_lent(what);
  return true;
}

// Each side writes the rest of its data to where it has read the first of the peer's, which thus comes to where this
// side's own began (decision 57).
[[gnu::noinline]] bool InlineRun::take_turns(const PlacedStep& what, unsigned looks) {
  const PlacedStep& ours = plan_.steps[what.counterpart];
  Passed& lent = passed(what);
  Passed& given = passed(ours);
  const ByteSpan out = buffers_.bytes_of(what.data);
  const std::size_t turn = what.turn_bytes;
  copy_bytes(out.data(), {lent.place, turn});
  copy_bytes(lent.place, buffers_.bytes_of(ours.data).subspan(turn));
  given.turns = Turns::both;
  header_.offset = static_cast<std::uint64_t>(given.staging);
  grant(ours, given);
  if (!receive(what, looks_for(2 * turn, looks))) return false;
  const std::byte* const begin = service_.endpoint().segment().pointer(static_cast<std::uint64_t>(given.staging));
  copy_bytes(out.data() + turn, {begin, out.size() - turn});
  say_read(what.left_from);
  lent.place = nullptr;
  return true;
}

// Unless it was sent. Whoever takes this over is not to read it again.
void InlineRun::copy_lent(const PlacedStep& what) {
  if (!is_lent(what.left_from)) return;
  Passed& lent = passed(what);
  const ByteSpan out = buffers_.bytes_of(what.data);
  if (lent.place != nullptr) {
    copy_bytes(out.data(), {lent.place, out.size()});
  } else {
    service_.private_reads().copy(out, what.node, lent.private_at);
  }
  say_read(what.left_from);
  lent.place = nullptr;
  lent.private_at = 0;
}

// Where it lies, or a copy.
const std::byte* InlineRun::lent_term(std::uint32_t receive, const PrivateReads::Term& term) {
  const Passed& lent = passed_[receive];
  if (lent.place != nullptr) return lent.place;
  return service_.private_reads().read(term, plan_.steps[receive].node, lent.private_at);
}

void InlineRun::say_read(std::uint32_t receive) {
  if (!is_lent(receive) || passed_[receive].receipt.end()) return;
  const PlacedStep& what = plan_.steps[receive];
  header_.call.tag = what.tag;
  what.way->send(fabric::MessageType::collective_done, stretto::bytes_of(header_.call), {});
}

}  // namespace stretto
