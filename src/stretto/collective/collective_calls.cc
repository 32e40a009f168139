// The part of CollectiveService that begins calls; collective_service.cc has the part that serves what has begun.

#include <algorithm>
#include <new>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

#include "stretto/base/arena.h"
#include "stretto/collective/call_checks.h"
#include "stretto/collective/collective_service.h"
#include "stretto/collective/inline_run.h"
#include "stretto/collective/mismatch.h"
#include "stretto/collective/transfer.h"
#include "stretto/core/cause.h"
#include "stretto/core/engine.h"

namespace stretto {

namespace {

Group with_auxiliaries(const Group& participants, const Group& auxiliaries) {
  std::vector<NodeId> nodes(participants.nodes().begin(), participants.nodes().end());
  for (const NodeId node : auxiliaries.nodes()) {
    if (!participants.contains(node)) continue;
    throw Error(ErrorCode::invalid_argument, "auxiliaries: node " + std::to_string(node) +
                                                 " is in the group, too; lend nodes that take no part themselves");
  }
  nodes.insert(nodes.end(), auxiliaries.nodes().begin(), auxiliaries.nodes().end());
  return Group(std::move(nodes));
}

/// After so many small calls, some 40 us, their caller sees to all else that peers may have sent.
constexpr std::uint32_t calls_between_polls = 128;
/// For as many of the smallest ones a call counts.
std::uint32_t weight_of(const CallKey& key) noexcept {
  constexpr std::size_t bytes_of_one = std::size_t{8} << 10U;
  return static_cast<std::uint32_t>(1 + (key.input_bytes() + key.output_bytes()) / bytes_of_one);
}

/// How long the caller of a large collective looks for peers that are late: about twice as long as it takes where
/// nobody is.
double patience_for(std::size_t bytes) { return double(bytes) / 16e9; }

// What is in the air: a shortage of memory as an Error.
[[noreturn]] void throw_to_caller() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    throw Error(*cause_of_current_exception("a collective"));
  }
}

}  // namespace

Named CollectiveService::check(const Group& group, CollectiveCall& call, const CollectiveOptions& options) const {
  note_settings(call, options);
  return check_at(group.rank_of(node_.id()), group, call, options);
}

void CollectiveService::note_settings(CollectiveCall& call, const CollectiveOptions& options) const {
  const Surroundings& surroundings = node_.surroundings();
  call.reproducible =
      (options.is_reproducible() || surroundings.reproducible) && schedule::is_reduction(call.operation());
  if (surroundings.check_calls) call.fingerprint = fingerprint_of(call, options.where());
}

void CollectiveService::note_named(const Named& named) noexcept {
  if (named.algorithm == nullptr || named.algorithm == named_last_.front()) return;
  named_last_ = {named.algorithm, named_last_.front()};
}

// REQUIRES: it is noted whether the call is reproducible.
Named CollectiveService::check_at(Rank me, const Group& group, const CollectiveCall& call,
                                  const CollectiveOptions& options) const {
  require_proper(group, me, call, options, node_.size());
  node_.events().check(options.precondition());
  if (options.algorithm().empty()) return {};
  schedule::Shape shape = shape_of(call, group.size());
  shape.hosts = hosts_of(group);
  return named_algorithm(options, call, shape);
}

// For a call that is like one before, one function with `repeat` and what that goes by: a small call is little more.
[[gnu::hot]] Event CollectiveService::start(const Group& group, CollectiveCall&& call,
                                            const CollectiveOptions& options) {
  const fabric::Context::HandOverAtEnd rest;
  if (settings_matter_ || options.is_reproducible()) note_settings(call, options);
  Event completion;
  if (repeat(group, call, options, completion)) return completion;
  return start_otherwise(group, std::move(call), options);
}

// REQUIRES: it is noted whether the call is reproducible.
Event CollectiveService::start_otherwise(const Group& group, CollectiveCall&& call, const CollectiveOptions& options) {
  if (!options.auxiliaries()) return start_anew(group, std::move(call), options);
  call.auxiliaries = options.auxiliaries()->size();
  if (options.auxiliaries()->contains(node_.id())) call.lists.reset();  // nobody reads its shards
  return start_anew(with_auxiliaries(group, *options.auxiliaries()), std::move(call), options);
}

// REQUIRES: it is noted whether the call is reproducible.
Event CollectiveService::start_anew(const Group& members, CollectiveCall&& call, const CollectiveOptions& options) {
  const Rank me = members.rank_of(node_.id());
  if (me == members.size()) {
    throw Error(ErrorCode::invalid_argument, std::string(name_of(call)) + " at " + call_site(options.where()) +
                                                 ": node " + std::to_string(node_.id()) +
                                                 " is not in the group; call it at the group's nodes only");
  }
  const Named named = check_at(me, members, call, options);
  const fabric::Context& context = endpoint_.context();
  const bool was_engaged = context.engaged();
  const bool did_expect = context.expects_request();
  const std::size_t bytes = bytes_of_longer(call);
  const LongCall long_call(node_.engine(), patience_for(bytes));
  const Event completion = launch(members, std::move(call), options, named);
  // Where something large waits already, its peers are late, and the next one need not wait for them, too. What goes
  // over a network takes long, once it is asked for. And peers of this process may have been waiting for this worker.
  if ((context.engaged() && !was_engaged) || long_call.leaves_tasks()) {
    node_.attend(completion, patience_for(bytes));
  } else if (context.expects_request() && !did_expect) {
    node_.attend_until_asked(completion, patience_for(bytes));
  }
  return completion;
}

// For what is done in one go and like a call before, whose operation was kept: nothing about it is to be checked again
// but what is looked at here. Returns whether it is that, and nobody else has the baton.
[[gnu::always_inline]] inline bool CollectiveService::repeat(const Group& group, CollectiveCall& call,
                                                             const CollectiveOptions& options, Event& completion) {
  if (!is_plain(call, options)) return false;
  bool polls = false;
  try {
    const fabric::Context::Turn turn = endpoint_.context().try_turn(fabric::Context::Rest::kept);
    if (!turn.has_begun()) return false;
    const auto [its_stream, known] = find_repeated(group, call, options);
    if (known == nullptr || !known->keeps_any()) return false;
    const unsigned looks = looks_inline(*known);
    if (looks == 0 && bytes_of_longer(call) > piece_bytes) return false;  // start_anew attends to it
    its_stream->make_room(1);
    completion = looks > 0 ? run_inline(*its_stream, *known, std::move(call), options, looks)
                           : run_kept(*its_stream, *known, std::move(call), options, group.size());
    polls = inline_calls_ >= calls_between_polls;
    if (polls) inline_calls_ = 0;
  } catch (...) {
    throw_to_caller();
  }
  if (polls) endpoint_.context().serve(fabric::Context::Rest::kept);
  return true;
}

// REQUIRES: an operation is kept.
Event CollectiveService::run_kept(Stream& its_stream, Preparation& prepared, CollectiveCall&& call,
                                  const CollectiveOptions& options, Rank size) {
  find_meeting(its_stream, size, 1);
  CollectiveOperation* const operation = prepared.take_kept(std::move(call), options);
  const Event completion = operation->completion();
  if (may_meet_now(its_stream, prepared)) return operation->meet(its_stream, prepared);
  operation->join(its_stream, prepared);
  return completion;
}

// Few calls are not as simple as those that are found in line.
[[gnu::always_inline]] inline RecentCalls::Prepared CollectiveService::find_repeated(
    const Group& group, const CollectiveCall& call, const CollectiveOptions& options) noexcept {
  if (call.is_simple() && options.algorithm().empty()) {
    const RecentCalls::Prepared known = recent_calls_.find_simple(group, call, options);
    if (known.preparation != nullptr) return known;
  }
  return find_any(group, call, options);
}

// Another name than the last ones is looked up anew, which takes long.
RecentCalls::Prepared CollectiveService::find_any(const Group& group, const CollectiveCall& call,
                                                  const CollectiveOptions& options) noexcept {
  if (options.algorithm().empty()) return find_known(group, call, options, {});
  const auto named = std::ranges::find_if(
      named_last_, [&](const auto* each) { return each != nullptr && each->name() == options.algorithm(); });
  if (named == named_last_.end()) return {};
  return find_known(group, call, options, {*named, options.segments()});
}

RecentCalls::Prepared CollectiveService::find_known(const Group& group, const CollectiveCall& call,
                                                    const CollectiveOptions& options, const Named& named) noexcept {
  const auto search = [&](std::uint64_t stream_id) { return search_prepared(stream_id, group, call, named); };
  return recent_calls_.find(group, call, options, named, search);
}

RecentCalls::Prepared CollectiveService::search_prepared(std::uint64_t stream_id, const Group& group,
                                                         const CollectiveCall& call, const Named& named) noexcept {
  Stream* const its_stream = streams_.recent(stream_id);
  PlanCache::OfGroup* const plans = its_stream == nullptr ? nullptr
                                    : has_own_order(call) ? plans_.find(members_of(group, call))
                                                          : its_stream->plans();
  return {its_stream, plans == nullptr ? nullptr : plans->find(call, named)};
}

// As Context::try_run, but throws what callers are to see, and keeps the rest.
template <class Function>
bool CollectiveService::try_run(const Function& function) {
  try {
    return endpoint_.context().try_run(function, fabric::Context::Rest::kept);
  } catch (...) {
    throw_to_caller();
  }
}

// How often a small call may look for a peer's message before it returns; zero: that is left to who waits for it. Now
// and then it is if other tasks are ready, so that these have their turn.
inline unsigned CollectiveService::looks_inline(Preparation& prepared) noexcept {
  if (!prepared.may_be_inline) return 0;
  inline_calls_ += weight_of(prepared.key);
  if (inline_calls_ >= calls_between_polls && node_.engine().others_want_worker()) return 0;
  if (!prepared.inline_attempts.worth_it()) return 0;
  if (any_lost() || cancelled_ != nullptr) return 0;
  return under_way_.empty() ? patient_looks_ : 1;
}

// REQUIRES: an operation is kept, which takes it over where messages are missing.
[[gnu::always_inline]] inline Event CollectiveService::run_inline(Stream& its_stream, Preparation& prepared,
                                                                  CollectiveCall&& call,
                                                                  const CollectiveOptions& options, unsigned looks) {
  const Identity identity{its_stream.id(), its_stream.next_sequence(), prepared.digest};
  InlineRun run(*this, its_stream, *prepared.placed, call, identity, options.where().line(), inline_scratch_.data());
  const bool is_over = run.run(looks);
  its_stream.take_sequence(1);  // now: what has come for it meanwhile is kept as what comes early
  prepared.inline_attempts.note(is_over);
  if (!is_over) return take_over(run, its_stream, prepared, std::move(call), options);
  its_stream.note_past(identity, options.where());
  pass(its_stream, identity.sequence);
  return no_event;
}

Event CollectiveService::take_over(InlineRun& run, Stream& its_stream, Preparation& prepared, CollectiveCall&& call,
                                   const CollectiveOptions& options) {
  CollectiveOperation* const operation = prepared.take_kept(std::move(call), options);
  const Event completion = operation->completion();
  operation->take_over(its_stream, prepared, run);
  return completion;
}

Event CollectiveService::start_checked(const Group& group, CollectiveCall&& call, const CollectiveOptions& options,
                                       const Named& named) {
  Event completion;
  return repeat(group, call, options, completion) ? completion : launch(group, std::move(call), options, named);
}

Event CollectiveService::launch(const Group& group, CollectiveCall&& call, const CollectiveOptions& options,
                                const Named& named) {
  Event completion;
  const auto make = [&] {
    return arena::make_owned<CollectiveOperation>(*this, group, std::move(call), options, named);
  };
  const auto begin_now = [&] {
    note_named(named);
    Stream& its_stream = stream(Stream::id_of(group, options.mixed_key()));
    const Group& members = members_of(group, call);
    PlanCache::OfGroup& plans = plans_of(members);
    if (!has_own_order(call)) its_stream.note_plans(plans);
    Preparation& prepared = plans.prepare(call, named);
    arena::Owned<CollectiveOperation> operation(prepared.take_kept(std::move(call), options));
    if (operation == nullptr) operation = make();
    operation->make_ready(its_stream, prepared);
    completion = operation->completion();
    operation.release()->join(its_stream, prepared);
  };
  if (try_run(begin_now)) return completion;
  arena::Owned<CollectiveOperation> operation = make();
  completion = operation->completion();
  endpoint_.context().post(operation.release());
  return completion;
}

arena::Owned<CollectiveOperation> CollectiveService::reserve(const Group& group, const CollectiveCall& call,
                                                             const CollectiveOptions& options, const Named& named,
                                                             std::uint32_t calls) {
  bool is_kept = false;
  try_run([&] {
    const auto [its_stream, known] = find_known(group, call, options, named);
    if (known == nullptr || !known->keeps_any()) return;
    its_stream->make_room(calls);
    is_kept = true;
  });
  if (is_kept) return nullptr;
  return arena::make_owned<CollectiveOperation>(*this, group, CollectiveCall(call), options, named);
}

Event CollectiveService::start_reserved(arena::Owned<CollectiveOperation> reserved, const Group& group,
                                        CollectiveCall&& call, const CollectiveOptions& options,
                                        const Named& named) noexcept {
  if (reserved == nullptr) return start_checked(group, std::move(call), options, named);
  const Event completion = reserved->completion();
  endpoint_.context().post(reserved.release());
  return completion;
}

[[gnu::hot]] void CollectiveService::find_meeting(Stream& its_stream, Rank size, std::uint32_t calls) {
  if (meetings_ == nullptr || its_stream.meeting() != nullptr || size < 2 || size > schedule::most_who_meet) return;
  if (!its_stream.has_calls() && calls == 1) return;
  its_stream.note_meeting(meetings_->of(its_stream.id(), size, its_stream.next_sequence()));
  its_stream.pass_meeting(its_stream.next_sequence());
}

// Who has sent something for a call does not come to a meeting.
bool CollectiveService::may_meet_now(Stream& its_stream, const Preparation& prepared) const noexcept {
  return prepared.may_meet() && its_stream.meeting() != nullptr && !its_stream.is_awaited() && !any_lost() &&
         cancelled_ == nullptr;
}

}  // namespace stretto
