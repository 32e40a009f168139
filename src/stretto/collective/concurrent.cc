#include "stretto/collective/concurrent.h"

#include <memory>
#include <string>
#include <string_view>

#include "stretto/base/arena.h"
#include "stretto/base/error.h"
#include "stretto/collective/collective_service.h"
#include "stretto/collective/concurrent_plan.h"
#include "stretto/collective/operation.h"
#include "stretto/core/extension.h"

namespace stretto {

namespace {

constexpr std::string_view part_name = "concurrent";

[[maybe_unused]] const bool registered =
    register_extension([](Node& node) { node.attach(part_name, std::make_shared<ConcurrentPlans>()); });

std::string reduce_at(std::size_t place) { return "concurrent: reduce " + std::to_string(place); }

void require_size(std::size_t place, std::string_view buffer, std::size_t bytes, const FusedReduce::Part& part) {
  if (bytes == part.bytes) return;
  const std::size_t element = part.call.element_bytes();
  detail::require_size(reduce_at(place), buffer, bytes / element, part.bytes / element);
}

// Keeps of the buffers what the node's role needs.
void take_role(ReduceCall& reduce, NodeId me, std::size_t place) {
  CollectiveCall& call = reduce.part.call;
  if (reduce.groups.participates(me)) {
    require_size(place, "input", call.input.size(), reduce.part);
  } else {
    call.input = {};
  }
  if (reduce.groups.receives(me)) {
    require_size(place, "output", call.output.size(), reduce.part);
  } else {
    call.output = {};
  }
  reduce.groups.require_order(call.reduction().commutative, reduce_at(place));
}

// Which reduce is over first nobody knows: no output may be another one's input, or output.
void require_apart(const std::vector<ReduceCall>& calls) {
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const CollectiveCall& one = calls[i].part.call;
    if (one.output.empty()) continue;
    for (std::size_t k = 0; k < calls.size(); ++k) {
      const CollectiveCall& other = calls[k].part.call;
      const bool is_output = !are_apart(other.output, one.output);
      if (k == i || (!is_output && are_apart(other.input, one.output))) continue;
      throw Error(ErrorCode::invalid_argument, "concurrent: the output of reduce " + std::to_string(i) + " and the " +
                                                   (is_output ? "output" : "input") + " of reduce " +
                                                   std::to_string(k) + " overlap; pass outputs that are apart");
    }
  }
}

// What a node does of a set of reduces.
CollectiveCall call_of(const ConcurrentPlan::Set& set, std::vector<ReduceCall>& calls, NodeId me) {
  ReduceCall& first = calls[set.calls.front()];
  if (set.calls.size() == 1) return std::move(first.part.call);
  std::vector<FusedReduce::Part> parts;
  for (const std::size_t call : set.calls) parts.push_back(std::move(calls[call].part));
  return FusedReduce::call_of(std::move(parts), first.groups.participates(me), first.groups.receives(me));
}

// What a node starts for a set of reduces.
struct Start {
  const ConcurrentPlan::Set* set;
  const Group* members;
  CollectiveCall call;
  arena::Owned<CollectiveOperation> reserved;  // but for the first
};

// What takes memory to begin with, for all of them.
std::vector<Start> starts_of(const ConcurrentPlan& plan, std::vector<ReduceCall>& calls, CollectiveService& service,
                             const CollectiveOptions& options, const Named& named) {
  const NodeId me = service.node().id();
  std::vector<Start> starts;
  starts.reserve(plan.sets.size());
  std::uint32_t reduces = 0;
  for (const ConcurrentPlan::Set& set : plan.sets) {
    const Group& members = calls[set.calls.front()].groups.members();
    if (!members.contains(me)) continue;
    starts.push_back({&set, &members, call_of(set, calls, me), nullptr});
    Start& start = starts.back();
    start.call.set = set.planned;
    reduces += static_cast<std::uint32_t>(set.calls.size());
    if (starts.size() > 1) start.reserved = service.reserve(members, start.call, options, named, reduces);
  }
  return starts;
}

}  // namespace

std::vector<Event> concurrent(Node& node, std::vector<ReduceCall> calls, const CollectiveOptions& options,
                              Together together) {
  const fabric::Context::HandOverAtEnd rest;
  CollectiveService& service = CollectiveService::of(node);
  Named named;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    take_role(calls[i], node.id(), i);
    named = service.check(calls[i].groups.members(), calls[i].part.call, options);
  }
  require_apart(calls);
  auto& plans = *static_cast<ConcurrentPlans*>(node.part(part_name));
  const std::shared_ptr<const ConcurrentPlan> plan = plans.find_or_make(calls, named, together, service.selector());
  // From here on nothing throws what the caller could have avoided, and once one has begun nothing at all.
  std::vector<Event> events(calls.size());
  std::vector<Start> starts = starts_of(*plan, calls, service, options, named);
  for (Start& start : starts) {
    const bool has_begun = &start != &starts.front();
    const Event done = has_begun ? service.start_reserved(std::move(start.reserved), *start.members,
                                                          std::move(start.call), options, named)
                                 : service.start_checked(*start.members, std::move(start.call), options, named);
    for (const std::size_t each : start.set->calls) events[each] = done;
  }
  return events;
}

}  // namespace stretto
