#include "stretto/schedule/executor_timing.h"

#include <algorithm>
#include <utility>

namespace stretto::schedule {

namespace {

/// Where all send to several and receive from several at once over wires, they fall out of step, and wires stand idle
/// (decision 50).
constexpr double delay_of_crossing = 1.1;

/// What one of two combines for both is stored in both outputs at once (decision 70): nothing is read for that, which
/// takes so much of a copy's time (decision 79).
constexpr double storing_by_copying = 0.3;

/// How long a process that waits is without its core where others want it: half a turn of all of them. Nodes of one
/// process go on in whatever thread brings a message.
double pause_of(const Shape& shape, const Placement& placement, const Costs& costs) {
  if (placement.link == Link::local || !is_crowded(shape, placement)) return 0;
  return costs.turn * ranks_of_machine(shape, placement) / placement.cores_of_machine / 2;
}

}  // namespace

Rank ranks_of_machine(const Shape& shape, const Placement& placement) {
  return std::min(placement.ranks_of_machine, shape.size);
}

bool is_crowded(const Shape& shape, const Placement& placement) {
  return ranks_of_machine(shape, placement) > placement.cores_of_machine;
}

ExecutorTiming::ExecutorTiming(const Algorithm& algorithm, const Shape& shape, const Placement& placement,
                               const LinkCosts& costs, bool all)
    : shape_(shape),
      lead_(algorithm.lead(shape)),
      between_{costs.between, placement.link == Link::wire, placement.maps && placement.link != Link::wire,
               shape.hosts.are_known()},
      inside_{costs.inside, placement.inside == Link::wire, placement.maps && placement.inside != Link::wire, false},
      multicasts_(placement.multicasts),
      says_that_it_read_(!lending_limits(placement, shape.size).receipts),
      pause_(pause_of(shape, placement, costs.between)),
      wires_(shape.hosts),
      readers_(algorithm, shape, lending_limits(placement, shape.size), all, most_steps_walked),
      takes_in_turn_(shape.size, false),
      crosses_(shape.size, false) {}

double ExecutorTiming::wire_free_at(Rank rank, const Clock& clock) {
  const Clock& wire = wires_.are_known() ? wires_.of(rank) : clock;
  return std::max(wire.next_send, wire.next_receive);
}

void ExecutorTiming::begin_rank(Rank me, std::span<const Step> steps) {
  me_ = me;
  steps_ = steps;
  has_waited_ = false;
  last_sent_.count = 0;
  end_row();
  takes_in_turn_[me] = reuses_a_place();
  crosses_[me] = !is_reduction(shape_.operation) && shape_.size > 2 &&
                 (lead_.sends == Lead::all || (has_several(StepKind::send) && has_several(StepKind::receive)));
}

double ExecutorTiming::send(Clock& clock, const Step& step, std::uint64_t bytes) {
  const Path& path = path_to(step.peer);
  const Costs& costs = path.costs;
  const bool is_large = bytes > most_inline_bytes;
  const Way way = way_to(step.peer, path, bytes);
  if (way == Way::sent && !is_large && goes_along(step, path)) return row_.arrival;
  if (weight_ > 0) end_row();
  if (way == Way::lent) {
    work(clock, costs.overhead);
    const double arrival = clock.now + costs.latency;
    if (says_that_it_read_) work(clock, costs.overhead);  // to hear it, some time later
    return arrival;
  }
  if (way == Way::granted || is_copied_by_receiver(path, bytes)) {
    work(clock, costs.announcement + costs.overhead);
    return clock.now + costs.latency;
  }
  const double may_go = is_large ? ready_at(step.peer) + costs.announcement + costs.latency : 0;
  if (!path.is_wire) {
    if (is_large) {
      clock.now = std::max(clock.now, may_go);
      work(clock, costs.announcement);
    }
    const double byte_time = path.shares_memory && !is_large ? costs.inline_time : copying_time(step, path);
    work(clock, static_cast<double>(bytes) * byte_time + costs.overhead);
    if (weight_ > 0) row_ = {step.source(), &path, clock.now + costs.latency};
    return clock.now + costs.latency;
  }
  // Whoever waits for a receiver or for the wire is free for something else.
  const double handling = costs.overhead + (is_large ? costs.announcement : 0);
  work(clock, handling);
  const double earliest = std::max(clock.now, is_large ? may_go + handling : 0);
  const double occupied = costs.gap + static_cast<double>(bytes) * costs.byte_time;
  return take_wire(wire_of(me_, path, clock).next_send, earliest, occupied) + costs.latency;
}

double ExecutorTiming::land(Clock& of_receiver, const Message& message) {
  const Path& path = path_between(message.from, message.to);
  if (!path.is_wire || comes_in_turn(message.to, path, message.bytes)) return message.arrival;
  const bool is_delayed = crosses_[message.to] && !is_packed(message.to, path, message.bytes);
  return come_in(wire_of(message.to, path, of_receiver), path, message.bytes, message.arrival,
                 is_delayed ? delay_of_crossing : 1);
}

void ExecutorTiming::await(Clock& clock, const Step& step, std::uint64_t bytes) {
  const Path& path = path_to(step.peer);
  if (!comes_in_turn(me_, path, bytes)) ask(clock, path, bytes);
}

void ExecutorTiming::receive(Clock& clock, const Step& step, std::uint64_t bytes, double landed) {
  const Path& path = path_to(step.peer);
  const Costs& costs = path.costs;
  const Way way = way_to(me_, path, bytes);
  const bool packed = is_packed(me_, path, bytes);
  if (weight_ > 0) end_row();
  const bool in_turn = comes_in_turn(me_, path, bytes);
  if (in_turn) ask(clock, path, bytes);
  const double began = clock.now;
  clock.now = std::max(clock.now, landed);
  if (in_turn) clock.now = come_in(wire_of(me_, path, clock), path, bytes, clock.now);
  if (!has_waited_) {
    turns_ += weight_;
    // While its bytes were on a wire others had the core.
    const double streaming = path.is_wire ? static_cast<double>(bytes) * costs.byte_time : 0;
    clock.now = std::max(began + pause_, clock.now + std::max(pause_ - streaming, 0.0));
  }
  has_waited_ = has_waited_ || weight_ > 0;
  if (way == Way::lent && says_that_it_read_) work(clock, costs.overhead);
  const bool is_lent_copy = way == Way::lent && is_exchange(shape_);
  const double copied = is_lent_copy || is_copied_by_receiver(path, bytes) ? costs.byte_time : 0;
  work(clock, costs.overhead + static_cast<double>(bytes) * (packed ? costs.inline_time : copied));
}

void ExecutorTiming::reduce(Clock& clock, std::size_t step, std::uint64_t bytes) {
  end_row();
  if (shape_.size == 2) made_[me_] = steps_[step].destination();
  work(clock, static_cast<double>(bytes) * between_.costs.reduction_time);
}

void ExecutorTiming::copy(Clock& clock, std::size_t step, std::uint64_t bytes) {
  end_row();
  if (!is_left_out(step)) work(clock, static_cast<double>(bytes) * between_.costs.copy_time);
}

bool ExecutorTiming::goes_along(const Step& send, const Path& path) const {
  return multicasts_ && weight_ > 0 && row_.path == &path && path.shares_memory && !path.leaves_the_host &&
         row_.source == send.source();
}

void ExecutorTiming::ask(Clock& clock, const Path& path, std::uint64_t bytes) {
  if (is_packed(me_, path, bytes) || way_to(me_, path, bytes) == Way::lent) return;
  work(clock, path.costs.announcement);
  if (path.is_wire) wire_of(me_, path, clock).next_send += path.costs.gap;
}

bool ExecutorTiming::comes_in_turn(Rank receiver, const Path& path, std::uint64_t bytes) {
  return takes_in_turn_[receiver] && !path.shares_memory && !is_packed(receiver, path, bytes);
}

double ExecutorTiming::come_in(Clock& wire, const Path& path, std::uint64_t bytes, double now, double delay) {
  const double streaming = static_cast<double>(bytes) * path.costs.byte_time * delay;
  const double begin = take_wire(wire.next_receive, now, path.costs.gap + streaming);
  return path.is_wire ? begin + streaming : begin;
}

bool ExecutorTiming::has_several(StepKind kind) const {
  const auto first = std::find_if(steps_.begin(), steps_.end(), [&](const Step& step) { return step.kind == kind; });
  return std::any_of(first, steps_.end(),
                     [&](const Step& step) { return step.kind == kind && step.peer != first->peer; });
}

bool ExecutorTiming::reuses_a_place() {
  places_.clear();
  for (const Step& step : steps_) {
    if (step.kind == StepKind::receive) places_.push_back(step.destination());
  }
  if (!is_reduction(shape_.operation) || places_.size() < 2) return false;
  const auto key = [](const BlockRef& place) { return std::pair(place.buffer, place.first); };
  std::sort(places_.begin(), places_.end(), [&](const BlockRef& a, const BlockRef& b) { return key(a) < key(b); });
  return std::adjacent_find(places_.begin(), places_.end(), [](const BlockRef& a, const BlockRef& b) {
           return a.buffer == b.buffer && b.first - a.first < a.count;
         }) != places_.end();
}

double ExecutorTiming::copying_time(const Step& send, const Path& path) {
  const Costs& costs = path.costs;
  const bool is_stored_in_both =
      send.source_buffer == Buffer::output && shape_.size == 2 && path.shares_memory && send.source() == made_[me_];
  if (is_stored_in_both) return storing_by_copying * costs.byte_time;
  const bool is_of_others = !is_reduction(shape_.operation) && send.source_buffer != Buffer::input;
  const bool is_known = send.source() == last_sent_;
  if (weight_ > 0) last_sent_ = send.source();
  return costs.byte_time + (is_of_others && !is_known ? costs.forwarding : 0);
}

bool ExecutorTiming::is_left_out(std::size_t copy) const {
  if (!is_identity_in_place(shape_, me_, steps_[copy])) return false;
  if (shape_.operation == Operation::broadcast) return true;
  const BlockRef made = steps_[copy].destination();
  return std::any_of(steps_.begin() + static_cast<std::ptrdiff_t>(copy) + 1, steps_.end(),
                     [&](const Step& later) { return later.kind == StepKind::reduce && later.destination() == made; });
}

}  // namespace stretto::schedule
