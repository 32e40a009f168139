#include "stretto/collective/joint_run.h"

#include <utility>

#include "stretto/collective/packed_scratch.h"
#include "stretto/collective/scratch.h"
#include "stretto/schedule/check.h"
#include "stretto/schedule/materialize.h"

namespace stretto {

using schedule::StepKind;

JointRun::JointRun(const schedule::Algorithm& algorithm, const schedule::Shape& shape, const Layout& layout)
    : members_(shape.size) {
  std::vector<schedule::Schedule> schedules;
  for (schedule::Rank rank = 0; rank < shape.size; ++rank) {
    schedules.push_back(schedule::materialize(algorithm, shape, rank));
  }
  // Both find nothing wrong: verified for each algorithm of the registry.
  schedule::Links links;
  std::vector<schedule::StepAt> order;
  schedule::match_messages(schedules, links);
  schedule::find_order(schedules, links, order);
  for (const auto [rank, index] : order) {
    const schedule::Step& step = schedules[rank].steps[index];
    // A send is done by its receive, and what carries no data says no more than the order does.
    if (step.kind == StepKind::send || layout.place_of(step.destination()).bytes == 0) continue;
    Action action{.combines = step.kind == StepKind::reduce,
                  .out = {rank, layout.place_of(step.destination())},
                  .left = {rank, {}},
                  .right = {}};
    if (step.kind == StepKind::receive) {
      const auto [peer, send] = links[rank][index];
      action.left = {peer, layout.place_of(schedules[peer].steps[send].source())};
    } else {
      action.left.place = layout.place_of(step.source());
    }
    if (action.combines) {
      action.right = action.out;
      if (step.order == schedule::Order::destination_first) std::swap(action.left, action.right);
    }
    actions_.push_back(action);
  }
  forward_copies();
  give_scratch();
  for (const Action& action : actions_) bytes_ += action.out.place.bytes;
}

// To each member what is still used of it: all of it is written before it is read.
void JointRun::give_scratch() {
  std::vector<PackedScratch> used(members_.size());
  for (const Action& action : actions_) used[action.out.rank].add(action.out.place);
  std::size_t bytes = 0;
  for (PackedScratch& of_member : used) {
    of_member.pack();
    bytes += of_member.bytes();
  }
  for (Action& action : actions_) {
    for (MemberPlace* const each : {&action.out, &action.left, &action.right}) used[each->rank].move(each->place);
  }
  scratch_.resize(bytes + Layout::scratch_alignment);
  std::byte* next = align_scratch(scratch_.data());
  for (schedule::Rank rank = 0; rank < members_.size(); ++rank) {
    members_[rank].buffers.set_scratch(next);
    next += used[rank].bytes();
  }
}

// A copy that only one combination reads is left out: that may as well read what was copied.
void JointRun::forward_copies() {
  std::size_t left = 0;
  for (std::size_t index = 0; index < actions_.size(); ++index) {
    if (actions_[index].combines || !forward(index)) actions_[left++] = actions_[index];
  }
  actions_.resize(left);
}

bool JointRun::forward(std::size_t copy) {
  const MemberPlace to = actions_[copy].out;
  const MemberPlace from = actions_[copy].left;
  for (std::size_t later = copy + 1; later < actions_.size(); ++later) {
    Action& action = actions_[later];
    if (!action.reads(to)) {
      if (may_overlap(action.out, from) || may_overlap(action.out, to)) return false;
      continue;
    }
    const bool reads_just_that = action.combines && (action.left == to) != (action.right == to) &&
                                 !may_overlap(action.left == to ? action.right : action.left, to);
    const bool goes_with_it =
        action.out == to || (to.place.buffer == schedule::Buffer::scratch && !is_read_later(to, later));
    if (!reads_just_that || !goes_with_it) return false;
    (action.left == to ? action.left : action.right) = from;
    return true;
  }
  return false;
}

bool JointRun::is_read_later(const MemberPlace& place, std::size_t after) const noexcept {
  for (std::size_t later = after + 1; later < actions_.size(); ++later) {
    if (actions_[later].reads(place)) return true;
    if (actions_[later].out == place) return false;
  }
  return false;
}

bool JointRun::Action::reads(const MemberPlace& place) const noexcept {
  return may_overlap(left, place) || (combines && may_overlap(right, place));
}

// Input and output may be the same memory.
bool JointRun::may_overlap(const MemberPlace& a, const MemberPlace& b) noexcept {
  if (a.rank != b.rank) return false;
  const Place& first = a.place;
  const Place& second = b.place;
  const bool is_scratch = first.buffer == schedule::Buffer::scratch;
  if (is_scratch != (second.buffer == schedule::Buffer::scratch)) return false;
  if (first.buffer != second.buffer) return true;
  return first.offset < second.offset + second.bytes && second.offset < first.offset + first.bytes;
}

void JointRun::run() const {
  for (const Action& action : actions_) {
    std::byte* const out = address_of(action.out);
    const std::byte* const left = address_of(action.left);
    const std::size_t bytes = action.out.place.bytes;
    if (action.combines) {
      const CollectiveCall& call = *members_[action.out.rank].call;
      call.reduction().combine(call.operator_state.get(), out, left, address_of(action.right),
                               bytes / call.element_bytes());
    } else if (left != out) {
      copy_bytes(out, {left, bytes});
    }
  }
}

}  // namespace stretto
