#include "stretto/collective/placed_plan.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "stretto/collective/packed_scratch.h"
#include "stretto/collective/staging_window.h"
#include "stretto/collective/transfer.h"
#include "stretto/fabric/segment.h"
#include "stretto/schedule/receivers_read.h"

namespace stretto {

namespace {

using schedule::Step;
using schedule::StepKind;

/// Whether it is a copy that a reduce does itself.
bool is_left_out(const Plan& plan, std::uint32_t step) {
  return plan.steps()[step].kind == StepKind::copy && plan.lowering().copy_before[step] != Lowering::none;
}

/// Of a reduce. REQUIRES: the steps before it are placed.
void place_terms(PlacedStep& placed, std::uint32_t reduce, const Plan& plan, const Layout& layout,
                 const std::vector<PlacedStep>& before) {
  const Lowering& lowering = plan.lowering();
  const Step& step = plan.steps()[reduce];
  const auto if_pulled = [&](std::uint32_t receive) {
    return receive != Lowering::none && before[receive].is_pulled ? receive : Plan::none;
  };
  const std::uint32_t copy = lowering.copy_before[reduce];
  placed.data = layout.place_of(copy == Lowering::none ? step.destination() : plan.steps()[copy].source());
  placed.right = layout.place_of(step.source());
  placed.left_from = if_pulled(lowering.base_from[reduce]);
  placed.right_from = if_pulled(lowering.source_from[reduce]);
  if (step.order == schedule::Order::destination_first) return;
  std::swap(placed.data, placed.right);
  std::swap(placed.left_from, placed.right_from);
}

bool are_alike(const PlacedStep& a, const PlacedStep& b) {
  return a.data == b.data && a.tag == b.tag && a.peer != b.peer && a.shares_memory == b.shares_memory &&
         !a.is_large() && !a.is_pulled && !b.is_pulled;
}

/// `next`: the step after a send; null if there is none. REQUIRES: its row is counted.
void count_row(PlacedStep& send, const PlacedStep* next) {
  const bool goes_on = next != nullptr && next->kind == StepKind::send;
  send.sends_in_a_row = goes_on ? next->sends_in_a_row + 1 : 1;
  send.alike_in_a_row = goes_on && are_alike(send, *next) ? next->alike_in_a_row + 1 : 1;
}

/// Whether one of two ranks only gives, and the other only gets: nobody writes over what is given.
bool is_one_way(const Plan& plan) {
  const auto any = [&plan](StepKind kind) {
    const auto& steps = plan.steps();
    return std::any_of(steps.begin(), steps.end(), [kind](const Step& step) { return step.kind == kind; });
  };
  return plan.schedule().shape.size == 2 && !(any(StepKind::send) && any(StepKind::receive));
}

/// What decides how the messages of a plan are moved.
struct MessageRules {
  const Plan& plan;
  bool sizes_are_agreed;  // all ends know the size of what is lent
  const schedule::LendingLimits& lending;
  bool lends_one_way;
};

/// Of a message, step `index`. REQUIRES: its data are placed.
void decide_way(PlacedStep& message, std::uint32_t index, const MessageRules& rules) {
  const Lowering& lowering = rules.plan.lowering();
  const std::size_t bytes = message.data.bytes;
  const bool is_combined = lowering.in_place[index];
  const bool is_read = message.is_large() && (is_combined || receivers_read(rules.plan.schedule().shape, bytes));
  const bool may_be_lent = message.shares_memory && (is_combined || rules.sizes_are_agreed);
  const bool is_lent_mutually = lowering.lent[index] && rules.lending.include(bytes, is_combined);
  const bool is_lent_one_way = is_read && rules.lends_one_way && bytes <= most_in_a_call(is_combined);
  message.is_lent = may_be_lent && (is_lent_mutually || is_lent_one_way);
  // Over what nobody combines nobody writes: in place it is copied onto itself at most.
  message.may_be_written_over = may_be_lent && is_lent_mutually && is_combined;
  message.is_pulled = message.is_lent || (message.shares_memory && is_read);
  const bool is_copied = message.is_pulled && message.kind == StepKind::receive && !is_combined;
  if (is_copied) message.left_from = index;
}

/// Whether a step is a large message in shared memory that is not combined, and waits for nothing here.
bool may_take_turns(const Plan& plan, std::uint32_t step, const PlacedStep& placed) {
  return placed.is_message() && placed.is_large() && placed.shares_memory && !plan.lowering().in_place[step] &&
         plan.schedule().dependencies_of(step).empty();
}

// Less is staged and read as soon at once.
constexpr std::size_t least_in_turns = std::size_t{32} << 10U;

// Of a message that has a counterpart, and none has one with another peer. An operation says that a turn is there when
// it has staged a piece.
std::size_t turn_of(const PlacedStep& message, std::size_t element) {
  const std::size_t bytes = message.data.bytes;
  if (!message.is_lent || bytes < least_in_turns) return 0;
  const StagingWindow turn = StagingWindow::of_turns(bytes, element, bytes, fabric::Segment::least_alignment);
  return turn.bytes() <= memory_piece_bytes ? turn.bytes() : 0;
}

/// Where a rank and a peer each have one such message for the other one, of one size.
void note_counterparts(const Plan& plan, std::size_t element, std::vector<PlacedStep>& steps) {
  std::map<schedule::Rank, std::vector<std::uint32_t>> with_peer;
  for (std::uint32_t step = 0; step < steps.size(); ++step) {
    if (may_take_turns(plan, step, steps[step])) with_peer[steps[step].peer].push_back(step);
  }
  for (const auto& [peer, messages] : with_peer) {
    if (messages.size() != 2) continue;
    PlacedStep& one = steps[messages.front()];
    PlacedStep& other = steps[messages.back()];
    const bool are_alike = one.data.bytes == other.data.bytes && one.is_pulled == other.is_pulled;
    if (one.kind == other.kind || !are_alike) continue;
    one.counterpart = messages.back();
    other.counterpart = messages.front();
    if (plan.schedule().shape.size > 2) continue;
    one.turn_bytes = turn_of(one, element);
    other.turn_bytes = turn_of(other, element);
  }
}

// How much of what one alone reads it may read in its sender's process (decision 69), where two ranks share memory: if
// it combines that, it has to copy it first, which its sender would do meanwhile (decision 80).
std::uint64_t most_read(const schedule::Shape& shape, bool is_combined) {
  constexpr std::uint64_t most_broadcast = std::uint64_t{1} << 20U;  // more finds no place in a core's caches
  if (is_combined) return large_piece_bytes;
  return shape.operation == schedule::Operation::broadcast ? most_broadcast : ~std::uint64_t{0};
}

// Who reads what is pulled. Whose process its receiver may read leaves it there (decision 68), but not where others
// read the same, which they had better find in memory that all map; nor where it is combined by one of many, who would
// copy all of it first that others stage meanwhile.
void note_readers(const Plan& plan, std::uint64_t most_staged, std::vector<PlacedStep>& steps) {
  const auto is_read = [](const PlacedStep& step) { return step.kind == StepKind::send && step.is_pulled; };
  const auto key_of = [](const PlacedStep& step) {
    return std::tuple(step.data.buffer, step.data.offset, step.data.bytes);
  };
  std::vector<std::tuple<schedule::Buffer, std::size_t, std::size_t>> read;
  for (const PlacedStep& step : steps) {
    if (is_read(step)) read.push_back(key_of(step));
  }
  std::sort(read.begin(), read.end());
  for (std::uint32_t index = 0; index < steps.size(); ++index) {
    PlacedStep& step = steps[index];
    if (!is_read(step)) continue;
    const auto [first, last] = std::equal_range(read.begin(), read.end(), key_of(step));
    step.has_several_readers = last - first > 1;
    const bool is_combined = plan.lowering().in_place[index];
    const schedule::Shape& shape = plan.schedule().shape;
    const bool pays = shape.size == 2 ? step.data.bytes <= most_read(shape, is_combined) : !is_combined;
    step.may_be_private = step.data.bytes > most_staged && !step.has_several_readers && pays;
  }
}

std::vector<std::uint32_t> asked_in_turn(const std::vector<PlacedStep>& steps) {
  std::vector<std::uint32_t> receives;
  bool has_several_peers = false;
  for (std::uint32_t index = 0; index < steps.size(); ++index) {
    const PlacedStep& step = steps[index];
    if (step.kind != StepKind::receive || !step.is_large() || step.shares_memory) continue;
    has_several_peers |= !receives.empty() && steps[receives.front()].peer != step.peer;
    receives.push_back(index);
  }
  if (!has_several_peers) receives.clear();
  return receives;
}

// What is combined from where it lies at its sender takes no place here; what is not large may be sent all the same.
// Returns the bytes of scratch.
std::size_t pack_scratch(const Lowering& lowering, std::vector<PlacedStep>& steps) {
  const auto comes_here = [&](std::uint32_t receive) {
    const bool is_combined = receive != Plan::none && lowering.reader[receive] != Lowering::none;
    return !is_combined || !steps[receive].is_pulled || !steps[receive].is_large();
  };
  PackedScratch scratch;
  for (std::uint32_t index = 0; index < steps.size(); ++index) {
    const PlacedStep& step = steps[index];
    if (comes_here(step.kind == StepKind::receive ? index : step.left_from)) scratch.add(step.data);
    if (comes_here(step.right_from)) scratch.add(step.right);
    scratch.add(step.destination);
  }
  scratch.pack();
  for (PlacedStep& step : steps) {
    for (Place* const place : {&step.data, &step.right, &step.destination}) scratch.move(*place);
  }
  return scratch.bytes();
}

}  // namespace

PlacedPlan::PlacedPlan(const Plan& plan, const Layout& layout, const Group& members,
                       const schedule::LendingLimits& lending, const std::function<bool(NodeId)>& shares_memory) {
  // What the parts of an all-to-all are, each end has listed for itself.
  const bool sizes_are_agreed =
      !layout.is_listed() || plan.schedule().shape.operation != schedule::Operation::all_to_all;
  const MessageRules rules{plan, sizes_are_agreed, lending, lending.receipts && is_one_way(plan)};
  steps.reserve(plan.steps().size());
  bool any_sends = false;
  for (std::uint32_t index = 0; index < plan.steps().size(); ++index) {
    const Step& step = plan.steps()[index];
    PlacedStep placed{.kind = step.kind, .comes_after_send = any_sends, .tag = step.tag};
    any_sends |= step.kind == StepKind::send;
    if (placed.is_message()) {
      placed.peer = step.peer;
      placed.node = members.node(step.peer);
      placed.shares_memory = shares_memory(placed.node);
      placed.data = layout.place_of(step.kind == StepKind::send ? step.source() : step.destination());
      decide_way(placed, index, rules);
      const bool is_sent = !placed.is_large() && !placed.is_pulled;
      // What is not combined is lent up to what one call may copy (see LendingLimits).
      const bool is_little = !plan.lowering().in_place[index] || placed.data.bytes <= most_in_a_call(true);
      fits_inline &= is_sent || (placed.is_lent && is_little);
      lends |= placed.is_lent;
      has_large |= placed.is_large();
    } else {
      placed.destination = layout.place_of(step.destination());
      if (step.kind == StepKind::reduce) {
        place_terms(placed, index, plan, layout, steps);
        placed.elements = placed.destination.bytes / layout.element_bytes();
      } else if (!is_left_out(plan, index)) {
        placed.data = layout.place_of(step.source());
      }
    }
    steps.push_back(placed);
  }
  const auto is_idle = [](const PlacedStep& step) { return step.kind == StepKind::copy && step.data.bytes == 0; };
  idle_steps = static_cast<std::uint32_t>(std::ranges::find_if_not(steps, is_idle) - steps.begin());
  for (std::size_t index = steps.size(); index-- > 0;) {
    if (steps[index].kind == StepKind::send)
      count_row(steps[index], index + 1 == steps.size() ? nullptr : &steps[index + 1]);
  }
  note_readers(plan, lending.most_staged, steps);
  if (plan.asks_in_turn()) asked_in_turn = stretto::asked_in_turn(steps);
  if (lending.turns && schedule::is_exchange(plan.schedule().shape))
    note_counterparts(plan, layout.element_bytes(), steps);
  beginning = StepStates::Beginning(plan.schedule(), plan.peers().size(), [&](std::uint32_t step) {
    if (is_left_out(plan, step)) return StepStates::State::complete;
    const bool only_waits = steps[step].kind == StepKind::receive && !steps[step].is_large();
    return only_waits ? StepStates::State::started : StepStates::State::waiting;
  });
  scratch_bytes = pack_scratch(plan.lowering(), steps);
}

void PlacedPlan::use_multicasts(
    const std::function<std::shared_ptr<fabric::Multicast>(std::span<const NodeId>)>& multicast_to) {
  std::vector<NodeId> nodes;
  for (std::size_t index = 0; index < steps.size(); index += std::max(steps[index].alike_in_a_row, 1U)) {
    PlacedStep& first = steps[index];
    if (first.alike_in_a_row < 2) continue;
    nodes.clear();
    for (std::uint32_t step = 0; step < first.alike_in_a_row; ++step) nodes.push_back(steps[index + step].node);
    std::shared_ptr<fabric::Multicast> made = multicast_to(nodes);
    if (made == nullptr) continue;
    first.multicast = made.get();
    multicasts.push_back(std::move(made));
  }
}

void PlacedPlan::use_ways(const std::function<fabric::Way&(NodeId)>& way_to,
                          const std::function<EagerWindow::Account&(NodeId)>& account_with) {
  for (PlacedStep& step : steps) {
    if (!step.is_message()) continue;
    step.way = &way_to(step.node);
    step.account = &account_with(step.node);
  }
}

}  // namespace stretto
