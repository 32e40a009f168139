#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "stretto/collective/collective_call.h"
#include "stretto/collective/layout.h"
#include "stretto/collective/placed_plan.h"
#include "stretto/collective/private_reads.h"
#include "stretto/collective/receipts.h"
#include "stretto/collective/transfer.h"
#include "stretto/collective/wire.h"
#include "stretto/core/event.h"
#include "stretto/fabric/endpoint.h"
#include "stretto/schedule/in_place.h"

namespace stretto {

class CollectiveService;
class Stream;

/// A small call that is done in the call itself (decision 40): its steps in the order of their list, as long as the
/// message that is next comes while it is looked for. Nobody else hears of it until it is over or an operation takes
/// it over; what comes for it meanwhile and is not looked for is kept by its stream as what comes early is.
class InlineRun final : private fabric::MessageHandler {
 public:
  static constexpr std::size_t most_steps_that_lend = 64;
  // Of an all-to-all: sends, receives and a copy.
  static_assert(2 * (schedule::most_who_lend_copies - 1) + 1 <= most_steps_that_lend);

  /// `plan` fits (see PlacedPlan), its scratch begins at `scratch`. `line`: see CallHeader.
  InlineRun(CollectiveService& service, Stream& stream, const PlacedPlan& plan, const CollectiveCall& call,
            Identity identity, std::uint32_t line, std::byte* scratch) noexcept
      : service_(service),
        stream_(stream),
        plan_(plan),
        call_(call),
        header_{{identity, 0, line}, 0, 0, 0, Granted::all},
        next_(plan.steps.data() + plan.idle_steps) {
    buffers_.set_input(call.input);
    buffers_.set_output(call.output);
    buffers_.set_scratch(scratch);
  }

  /// Looks for each message up to `looks` times, longer for what takes peers long. Returns whether it is over; if not,
  /// the steps from `done` on have not begun (or it has failed), and of what was lent some may not be given back. Once,
  /// under the baton.
  bool run(unsigned looks);

  // For who takes it over.

  std::uint32_t sequence() const noexcept { return header_.call.identity.sequence; }
  std::uint32_t done() const noexcept { return static_cast<std::uint32_t>(next_ - plan_.steps.data()); }
  /// Why it cannot go on; null: it can.
  const Cause& failure() const noexcept { return failure_; }
  /// Whether the step `done` has come half way: it is a receive by turns, and this node has done its own.
  bool is_amid_turns() const noexcept {
    if (done() == plan_.steps.size() || next_->kind != schedule::StepKind::receive) return false;
    return next_->turn_bytes > 0 && passed_[done()].turns != Turns::none;
  }
  const std::byte* scratch() const noexcept { return buffers_.bytes_of(all_scratch()).data(); }
  /// What passed by such a step, where it might be lent.
  struct Passed {
    std::byte* place;           ///< of a receive: where data lie at the peer; null if they were sent, or are copied
    fabric::Offset private_at;  ///< likewise, where that is not mapped; or 0
    std::int64_t staging;       ///< of a send: where the data were copied to, in our segment; negative: nowhere
    Turns turns;                ///< of either: how much of it was granted; none: all at once
    bool is_out;                ///< of a send: it lends, and its peer may still read
    Receipt receipt;            ///< of either: by which that peer or this node says so, unless it is by a message
  };
  /// REQUIRES: the plan lends, and the step is done.
  const Passed& passed(std::uint32_t step) const noexcept { return passed_[step]; }

 private:
  void on_message(const fabric::Message& message) override;
  bool do_steps(unsigned looks);
  bool do_step(const PlacedStep& what, unsigned looks);
  void note_look();
  bool send_all();
  bool send_alike(const PlacedStep& first);
  bool send(const PlacedStep& what);
  bool send_lent(const PlacedStep& what);
  bool send_data(const PlacedStep& what);
  bool stage(const PlacedStep& what);
  void lend(const PlacedStep& what, std::uint64_t offset);
  void grant(const PlacedStep& what, const Passed& lent);
  bool receive(const PlacedStep& what, unsigned looks);
  bool wait_for_readers(unsigned looks);
  bool wait_for_receipt(const PlacedStep& what, unsigned looks);
  void give_back(Passed& lent);
  bool take_receipts_back();
  bool take_lent(const PlacedStep& what, unsigned looks);
  bool take_turns(const PlacedStep& what, unsigned looks);
  void copy_lent(const PlacedStep& what);
  void combine(const PlacedStep& what);
  const std::byte* lent_term(std::uint32_t receive, const PrivateReads::Term& term);
  static bool is_lent(const Passed& message) noexcept { return message.place != nullptr || message.private_at != 0; }
  /// False: it was sent, or there is none.
  bool is_lent(std::uint32_t receive) const noexcept { return receive != Plan::none && is_lent(passed_[receive]); }
  void say_read(std::uint32_t receive);
  bool use(const fabric::Message& message);
  bool use_data(const fabric::Message& message);
  bool use_grant(const fabric::Message& message);
  bool use_turn(const WholeGrantHeader& theirs);
  bool use_done(const fabric::Message& message);
  bool is_of(const CallHeader& theirs) const noexcept {
    return theirs.tag == looked_for_->tag && theirs.identity == header_.call.identity;
  }
  Place all_scratch() const noexcept { return {schedule::Buffer::scratch, 0, plan_.scratch_bytes}; }
  Passed& passed(const PlacedStep& what) noexcept {
    return passed_[static_cast<std::size_t>(&what - plan_.steps.data())];
  }

  CollectiveService& service_;
  Stream& stream_;
  const PlacedPlan& plan_;
  const CollectiveCall& call_;
  WholeGrantHeader header_;  // its first part goes with what is not granted
  Buffers buffers_;
  const PlacedStep* next_;    // those before are done
  std::uint32_t out_ = 0;     // lent, and not given back
  std::size_t receipts_ = 0;  // issued
  std::size_t most_receipts_ = 0;
  const PlacedStep* looked_for_ = nullptr;
  bool has_looked_ = false;      // for any message
  bool peer_failed_ = false;     // that of the message that is looked for
  bool comes_in_parts_ = false;  // that message
  Cause failure_;
  std::array<Passed, most_steps_that_lend> passed_;  // by step, where the plan lends: else nobody fills it
};

}  // namespace stretto
