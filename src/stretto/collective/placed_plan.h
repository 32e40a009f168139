#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "stretto/base/bytes.h"
#include "stretto/base/ids.h"
#include "stretto/base/processor.h"
#include "stretto/collective/eager_window.h"
#include "stretto/collective/group.h"
#include "stretto/collective/layout.h"
#include "stretto/collective/plan.h"
#include "stretto/collective/step_states.h"
#include "stretto/fabric/multicast.h"
#include "stretto/fabric/way.h"
#include "stretto/schedule/cost_table.h"
#include "stretto/schedule/lending_limits.h"
#include "stretto/schedule/schedule.h"

namespace stretto {

/// Data larger than this are sent only when the receiver is ready, straight to where it wants them.
inline constexpr std::size_t eager_bytes = schedule::most_inline_bytes;

/// What a receiver is to combine from where it lies, but cannot reach, is sent up to here, and staged above: what is
/// sent is copied twice, into a ring and out of it. On Intel's processors what is staged takes as long as two such
/// copies, one after the other (decision 80).
inline std::size_t most_sent_though_combined() noexcept { return on_amd() ? 2048 : eager_bytes; }

/// A step of a plan, with what is the same in all calls that are alike: where its data lie, and how they are moved.
struct PlacedStep {
  schedule::StepKind kind;
  /// Of a message: whether this node and the peer reach each other's memory.
  bool shares_memory = false;
  /// Of a message: its receiver combines it from where it lies at the sender (see Lowering::in_place), or copies it
  /// (see schedule::receivers_read and schedule::is_exchange). Up to `most_sent` it is sent instead where it can't be
  /// read there.
  bool is_pulled = false;
  bool is_lent = false;                     ///< see Lowering::lent; or one way, between two (decision 69)
  bool may_be_written_over = false;         ///< of what is lent: by this call, where it is in place
  bool has_several_readers = false;         ///< of a pulled send: others read the same data
  bool may_be_private = false;              ///< of a pulled send: see PrivateReads::place_for
  bool comes_after_send = false;            ///< whether a step before it in the list sends
  std::uint32_t sends_in_a_row = 0;         ///< how many steps from this one on are sends
  std::uint32_t alike_in_a_row = 0;         ///< how many of those send the same small message, each to another peer
  mutable bool was_sent = false;            ///< of a lent receive: what came last was sent. A guess, for the next run
  mutable bool were_staged = false;         ///< likewise: what came last was staged, and the counterpart, too
  fabric::Multicast* multicast = nullptr;   ///< to the peers of the alike ones; null: to one after the other
  fabric::Way* way = nullptr;               ///< of a message: to and from its peer
  EagerWindow::Account* account = nullptr;  ///< of a message: with its peer
  schedule::Rank peer = 0;
  NodeId node = 0;  ///< the peer's
  std::uint32_t tag = 0;
  /// Of a reduce: the pulled receives by which `data` and `right` come, or Plan::none. Of a pulled receive that is
  /// copied: itself.
  std::uint32_t left_from = Plan::none;
  std::uint32_t right_from = Plan::none;
  /// Of a large message of an exchange (schedule::is_exchange) that waits for nothing: the one of as many bytes the
  /// other way, which does not either; the two may take turns (see Sharing). Or Plan::none.
  std::uint32_t counterpart = Plan::none;
  std::size_t turn_bytes = 0;  ///< of a message of two ranks that is lent: how long a turn is; or 0
  /// What a message sends or fills; a copy reads (nothing, where a reduce reads that itself); or a reduce combines with
  /// `right`, in this order.
  Place data{};
  Place right{};
  Place destination{};       ///< of a copy or reduce
  std::size_t elements = 0;  ///< of a reduce: how many

  bool is_message() const noexcept { return kind == schedule::StepKind::send || kind == schedule::StepKind::receive; }
  bool is_large() const noexcept { return data.bytes > eager_bytes; }
  /// Whether a call with that output writes over the step's data before they have been read.
  bool is_written_over(ConstByteSpan bytes, ConstByteSpan output) const noexcept {
    return may_be_written_over && !are_apart(bytes, output);
  }
  std::size_t most_sent() const noexcept { return may_be_written_over ? most_sent_though_combined() : eager_bytes; }
};

/// A plan for calls of one layout.
struct PlacedPlan {
  /// REQUIRES: the layout is of the plan's shape. `shares_memory`: whether this node reaches that member's memory, and
  /// that member this node's. `lending`: what is lent where it can be.
  PlacedPlan(const Plan& plan, const Layout& layout, const Group& members, const schedule::LendingLimits& lending,
             const std::function<bool(NodeId)>& shares_memory);

  /// Lets the sends that are alike go by what `multicast_to` makes for their peers.
  void use_multicasts(const std::function<std::shared_ptr<fabric::Multicast>(std::span<const NodeId>)>& multicast_to);

  /// Notes how messages come to their peers, and where they are counted.
  void use_ways(const std::function<fabric::Way&(NodeId)>& way_to,
                const std::function<EagerWindow::Account&(NodeId)>& account_with);

  std::vector<PlacedStep> steps;
  std::uint32_t idle_steps = 0;                                ///< so many of the first ones are copies of nothing
  std::vector<std::shared_ptr<fabric::Multicast>> multicasts;  ///< of the steps
  /// Whether all that passes is small messages, and what is lent to be read at once.
  bool fits_inline = true;
  bool lends = false;      ///< whether any of it is lent
  bool has_large = false;  ///< whether any message is large
  /// The receives of large messages over wires that are asked for one after another (see Requests), in this order:
  /// none where all come from one peer, which sends them so anyway.
  std::vector<std::uint32_t> asked_in_turn;
  /// How a run begins: small messages may come at once, and what is left to other steps is done.
  StepStates::Beginning beginning;
  std::size_t scratch_bytes = 0;  ///< see PackedScratch
};

}  // namespace stretto
