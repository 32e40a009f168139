#include "stretto/collective/collective_service.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>
#include <ranges>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "stretto/base/arena.h"
#include "stretto/collective/call_checks.h"
#include "stretto/collective/inline_run.h"
#include "stretto/collective/mismatch.h"
#include "stretto/collective/transfer.h"
#include "stretto/core/cause.h"
#include "stretto/core/engine.h"
#include "stretto/core/extension.h"

namespace stretto {

namespace {

// What the nodes of a process share. It lasts as long as they do.
struct Shared {
  explicit Shared(const Surroundings& surroundings) : selector(surroundings) {}

  Selector selector;
  Meetings meetings;
};

// Jobs may be set up at the same time, by threads of their own.
std::shared_ptr<Shared> shared_of(const Surroundings& surroundings) {
  static std::mutex mutex;
  static std::vector<std::weak_ptr<Shared>> known;
  const std::lock_guard lock(mutex);
  std::erase_if(known, [](const std::weak_ptr<Shared>& each) { return each.expired(); });
  for (const std::weak_ptr<Shared>& each : known) {
    std::shared_ptr<Shared> shared = each.lock();
    if (shared != nullptr && &shared->selector.surroundings() == &surroundings) return shared;
  }
  auto shared = std::make_shared<Shared>(surroundings);
  known.push_back(shared);
  return shared;
}

[[maybe_unused]] const bool registered = register_extension([](Node& node) {
  const Surroundings& surroundings = node.surroundings();
  const std::shared_ptr<Shared> shared = shared_of(surroundings);
  const bool may_meet = surroundings.one_process && surroundings.simulated == nullptr;
  node.attach(
      CollectiveService::part_name,
      std::make_shared<CollectiveService>(node, std::shared_ptr<Selector>(shared, &shared->selector),
                                          may_meet ? std::shared_ptr<Meetings>(shared, &shared->meetings) : nullptr));
});

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

/// How often a small call looks for a message where nobody else wants the core: about as long as a line takes between
/// cores that are far apart, twice.
constexpr unsigned looks_with_own_core = 128;
/// After so many small calls, some 40 us, their caller sees to all else that peers may have sent.
constexpr std::uint32_t calls_between_polls = 128;
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

/// What the header of a collective's message begins with.
template <class Beginning>
Beginning beginning_of(const fabric::Message& message) {
  Beginning beginning;
  if (message.header.size() < sizeof beginning) {
    throw Error(ErrorCode::bad_input, "node " + std::to_string(message.from) + " speaks of no collective");
  }
  std::memcpy(&beginning, message.header.data(), sizeof beginning);
  return beginning;
}

}  // namespace

CollectiveService::CollectiveService(Node& node, std::shared_ptr<Selector> selector, std::shared_ptr<Meetings> meetings)
    : node_(node),
      endpoint_(node.endpoint()),
      selector_(std::move(selector)),
      reaches_all_(endpoint_.offset_for_peers(this, sizeof *this).has_value()),
      meetings_(reaches_all_ ? std::move(meetings) : nullptr),
      settings_matter_(node.surroundings().reproducible || node.surroundings().check_calls),
      patient_looks_(node.surroundings().occupancy.nodes > node.surroundings().occupancy.cores ? 1
                                                                                               : looks_with_own_core) {
  for (const auto type : {fabric::MessageType::collective_data, fabric::MessageType::collective_ready,
                          fabric::MessageType::collective_failed, fabric::MessageType::collective_hello,
                          fabric::MessageType::collective_grant, fabric::MessageType::collective_whole_grant,
                          fabric::MessageType::collective_done, fabric::MessageType::collective_landed,
                          fabric::MessageType::collective_taken, fabric::MessageType::collective_released,
                          fabric::MessageType::collective_held, fabric::MessageType::collective_pull,
                          fabric::MessageType::collective_used}) {
    endpoint_.set_handler(type, *this);
  }
  endpoint_.add_observer(*this);
  node.add_operations(*this);
}

void CollectiveService::Greetings::say(Item* item) noexcept {
  auto* const greetings = static_cast<Greetings*>(item);
  greetings->put_off = false;
  greetings->service.for_each_under_way([](CollectiveOperation& operation) { operation.greet(); });
}

CollectiveService::~CollectiveService() {
  for_each_under_way([](CollectiveOperation& operation) { arena::destroy(&operation); });
}

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
  if (!prepared.may_be_inline()) return 0;
  inline_calls_ += prepared.inline_weight;
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

// Between hosts nobody maps anybody, on one host everybody everybody, on `sim` all or none: all members say the same.
schedule::Link CollectiveService::link_of(const Group& group) const {
  if (is_in_simulated_host(node_.surroundings(), group)) return schedule::Link::host;
  const auto nodes = group.nodes();
  const bool shares_memory =
      std::all_of(nodes.begin(), nodes.end(), [this](NodeId node) { return endpoint_.maps(node); });
  if (!shares_memory) return schedule::Link::wire;
  return node_.surroundings().one_process ? schedule::Link::local : schedule::Link::host;
}

schedule::Placement CollectiveService::placement_of(const Group& group) const {
  schedule::Placement placement = stretto::placement_of(node_.surroundings(), link_of(group));
  placement.meets = meetings_ != nullptr;
  return placement;
}

bool CollectiveService::can_receive_from(const Group& group) const {
  const auto nodes = group.nodes();
  return std::all_of(nodes.begin(), nodes.end(),
                     [this](NodeId node) { return node == node_.id() || endpoint_.can_receive_from(node); });
}

std::unique_ptr<const PlacedPlan> CollectiveService::place(const Plan& plan, const CollectiveCall& call,
                                                           const Group& members) {
  auto placed = std::make_unique<PlacedPlan>(plan, Layout(call, plan.schedule().shape), members,
                                             schedule::lending_limits(placement_of(members), members.size()),
                                             [this](NodeId node) { return endpoint_.maps(node); });
  placed->use_multicasts([this](std::span<const NodeId> nodes) { return endpoint_.multicast_to(nodes); });
  placed->use_ways([this](NodeId node) -> fabric::Way& { return way_to(node); },
                   [this](NodeId node) -> EagerWindow::Account& { return eager_window_.with(node); });
  return placed;
}

fabric::Way& CollectiveService::way_to(NodeId node) {
  std::unique_ptr<fabric::Way>& way = ways_[node];
  if (way == nullptr) way = endpoint_.way_to(node);
  return *way;
}

[[gnu::hot]] bool CollectiveService::send_to_all(std::span<const PlacedStep> row, const CallHeader& header,
                                                 ConstByteSpan data) {
  if (!EagerWindow::take_all(row | std::views::transform(&PlacedStep::account), data.size())) return false;
  endpoint_.send_to_all(*row.front().multicast, fabric::MessageType::collective_data, stretto::bytes_of(header), data);
  return true;
}

// Small calls of nodes that reach all of each other's memory.
bool CollectiveService::may_meet(const CollectiveCall& call, const schedule::Shape& shape) const {
  const std::size_t bytes = bytes_of_vector(call, shape.size);
  return meetings_ != nullptr && call.fused() == nullptr && !call.reduction().as_task &&
         schedule::pays_jointly(shape, schedule::cuts_vector(shape.operation) ? bytes : bytes / shape.size);
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

[[gnu::hot]] void CollectiveService::begin(CollectiveOperation& operation) {
  const std::uint32_t calls = operation.calls();
  if (calls == 1) {
    begin_one(operation);
    return;
  }
  Stream& its_stream = operation.stream();
  Identity identity = operation.identity();
  const std::source_location where = operation.where();
  begin_one(operation);
  // Who has calls of their own where this node has one for several hears of it.
  for (std::uint32_t further = 1; further < calls; ++further) {
    ++identity.sequence;
    its_stream.note_past(identity, where);
    pass(its_stream, identity.sequence);
  }
}

[[gnu::hot]] void CollectiveService::begin_one(CollectiveOperation& operation) {
  Stream& its_stream = operation.stream();
  const std::uint32_t sequence = operation.identity().sequence;
  under_way_.add(operation);
  if (!its_stream.begin(sequence, operation)) {
    operation.begin();
    return;
  }
  SavedMessages early = its_stream.take_early(sequence);
  operation.begin();
  // It may be over, or be it by one of these.
  use_early(early);
}

[[gnu::hot]] void CollectiveService::end(CollectiveOperation& operation) {
  operation.stream().end(operation.identity(), operation.where());
  under_way_.remove(operation);
  if (operation.has_failed()) {
    late_mismatches_.note_failure(operation.identity(), operation.failure(), !operation.has_left());
  }
}

void CollectiveService::use_early(SavedMessages& messages) {
  // What is bad costs its sender the connection, as it would have on arrival.
  messages.use_all([this](const fabric::Message& message) { endpoint_.deliver(message); });
}

Cause CollectiveService::find_loss_in(const Group& group) const noexcept {
  const auto found =
      std::find_if(losses_.begin(), losses_.end(), [&group](const auto& loss) { return group.contains(loss.first); });
  return found == losses_.end() ? nullptr : found->second;
}

// A message for an operation that is over. Either that failed, and its members know; or it was another one than the
// sender's, who would wait in vain, or is through with it as well.
void CollectiveService::answer_late(const fabric::Message& message) {
  if (message.type == fabric::MessageType::collective_released) return;  // follows a failure
  const auto theirs = beginning_of<CallHeader>(message);
  const Stream::Past* const ours = stream(theirs.identity.stream).past(theirs.identity.sequence);
  if (ours == nullptr || ours->digest == theirs.identity.digest) return;
  say_other(message.from, theirs.identity, late_mismatches_.note(*ours, message.from, theirs));
}

void CollectiveService::say_other(NodeId to, const Identity& theirs, const Cause& cause) {
  const FailedHeader header{theirs, static_cast<std::uint32_t>(cause->code()), 0, 0};
  endpoint_.send(to, fabric::MessageType::collective_failed, stretto::bytes_of(header), text_of(cause));
}

void CollectiveService::tell_failure(const CollectiveOperation& operation, const Cause& cause,
                                     CollectiveOperation::Tell tell) {
  using Tell = CollectiveOperation::Tell;
  FailedHeader header{operation.identity(), static_cast<std::uint32_t>(cause->code()),
                      operation.waits_for_release() ? 1U : 0U, 0};
  const auto send_to = [&](NodeId member) {
    if (member == node_.id()) return;
    header.pieces = operation.pieces_put_to(member);
    send_or_lose(member, fabric::MessageType::collective_failed, stretto::bytes_of(header), text_of(cause));
  };
  if (tell == Tell::everybody) {
    for (const NodeId member : operation.group().nodes()) send_to(member);
  } else {
    for (const Rank peer : operation.plan().peers()) send_to(operation.group().node(peer));
  }
}

void CollectiveService::say_released(NodeId to, const Identity& identity, std::uint64_t pieces) {
  const ReleasedHeader header{identity, pieces};
  send_or_lose(to, fabric::MessageType::collective_released, stretto::bytes_of(header), {});
}

// What a member would else wait for in vain: where it cannot be sent, that one is lost.
void CollectiveService::send_or_lose(NodeId to, fabric::MessageType type, ConstByteSpan header, ConstByteSpan text) {
  try {
    endpoint_.send(to, type, header, text);
  } catch (...) {
    deferred_losses_.add(to);
  }
}

void CollectiveService::note_used(const fabric::Message& message) {
  if (message.type != fabric::MessageType::collective_data) return;
  say_used(message.from, eager_window_.with(message.from).use(message.payload.size()));
}

void CollectiveService::say_used(NodeId to, std::uint64_t cost) {
  if (cost == 0) return;
  endpoint_.send(to, fabric::MessageType::collective_used, stretto::bytes_of(UsedHeader{cost}), {});
}

[[gnu::hot]] void CollectiveService::on_message(const fabric::Message& message) {
  if (message.type == fabric::MessageType::collective_used) {
    if (eager_window_.with(message.from).give_back(fabric::read_header<UsedHeader>(message).cost)) return;
    throw Error(ErrorCode::bad_input, "node " + std::to_string(message.from) + " has used data that were never sent");
  }
  const auto identity = beginning_of<Identity>(message);
  Stream& its_stream = stream(identity.stream);
  if (CollectiveOperation* const operation = its_stream.find(identity.sequence)) {
    note_used(message);
    operation->on_message(message);
    return;
  }
  const bool failed = message.type == fabric::MessageType::collective_failed;
  const bool has_begun = its_stream.has_begun(identity.sequence);
  if (has_begun) {
    note_used(message);
    if (failed) {
      late_mismatches_.note(its_stream.past(identity.sequence), fabric::read_header<FailedHeader>(message),
                            message.payload);
    } else {
      answer_late(message);
    }
  } else {
    // What its sender has granted for this operation will not be touched.
    if (failed) {
      its_stream.take_messages_of(message.from, identity.sequence).use_all([this](const fabric::Message& unused) {
        note_used(unused);
      });
    }
    its_stream.save(identity.sequence, message);
    // Its sender does not come to a meeting.
    if (its_stream.has_number(identity.sequence)) its_stream.pass_meeting(identity.sequence + 1);
  }
  if (failed && fabric::read_header<FailedHeader>(message).wants_release != 0) {
    say_released(message.from, identity, has_begun ? all_pieces : 0);
  }
}

void CollectiveService::on_notification(NodeId from, fabric::Notification notification) {
  const Landings::Landing* const found = landings_.find(notification);
  if (found != nullptr) found->operation->on_piece(from, found->step);
}

// Those that end meanwhile, in consequence, are left out.
template <class Visit>
void CollectiveService::for_each_under_way(Visit&& visit) {
  under_way_.for_each([&](UnderWay::Member& member) { visit(static_cast<CollectiveOperation&>(member)); });
}

void CollectiveService::look(Which which, std::vector<std::string>& sentences) {
  ++looks_;
  for_each_under_way([&](CollectiveOperation& operation) {
    const std::string sentence = operation.what_it_waits_for(which);
    if (!sentence.empty()) sentences.push_back(sentence);
  });
}

void CollectiveService::cancel(const Cause& cause) {
  if (cancelled_ == nullptr) cancelled_ = cause;
  for_each_under_way(
      [this](CollectiveOperation& operation) { operation.fail(cancelled_, CollectiveOperation::Tell::everybody); });
}

bool CollectiveService::over() { return under_way_.empty(); }

void CollectiveService::on_peer_lost(NodeId peer, const Error& error) {
  const Cause cause = std::make_shared<const Error>(ErrorCode::peer_lost, error.message());
  losses_.emplace(peer, cause);
  streams_.forget_messages_of(peer);
  for_each_under_way([&](CollectiveOperation& operation) {
    if (operation.group().contains(peer)) operation.on_member_gone(peer, cause);
  });
}

void CollectiveService::on_peer_left(NodeId peer) {
  for_each_under_way([peer](CollectiveOperation& operation) { operation.on_member_gone(peer, nullptr); });
}

}  // namespace stretto
