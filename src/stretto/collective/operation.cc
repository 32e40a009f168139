#include "stretto/collective/operation.h"

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include "stretto/base/arena.h"
#include "stretto/collective/collective_service.h"
#include "stretto/collective/fused_reduce.h"
#include "stretto/collective/inline_run.h"
#include "stretto/collective/mismatch.h"
#include "stretto/collective/operation_entry.h"
#include "stretto/collective/stream.h"
#include "stretto/core/cause.h"

namespace stretto {

CollectiveOperation::CollectiveOperation(CollectiveService& service, const Group& group, CollectiveCall&& call,
                                         const CollectiveOptions& options, const Named& named)
    : Waiter(&CollectiveOperation::precondition_over),
      Item(&CollectiveOperation::on_turn),
      service_(service),
      stream_id_(Stream::id_of(group, options.mixed_key())),
      group_(members_of(group, call)),
      call_(std::move(call)),
      named_(named),
      precondition_(options.precondition()),
      completion_(service.node().events().create(Ends::by_itself)),
      where_(options.where()),
      scratch_(service.endpoint().segment()) {}

CollectiveOperation::~CollectiveOperation() {
  if (stage_ == Stage::called) service_.node().events().discard(completion_);
  if (next_completion_.exists()) service_.node().events().discard(next_completion_);
}

[[gnu::hot]] void CollectiveOperation::renew(CollectiveCall&& call, const CollectiveOptions& options) noexcept {
  call_.input = call.input;
  call_.output = call.output;
  // Alike, but of an operator that may be another one; a fused call's has gone with that.
  call_.form = call.form;
  // Finishing has let go of what the one before owned.
  if (call.operator_state != nullptr) call_.operator_state = std::move(call.operator_state);
  if (call.keep_alive != nullptr) call_.keep_alive = std::move(call.keep_alive);
  if (call.set != nullptr) call_.set = std::move(call.set);
  large_.renew();
  precondition_ = options.precondition();
  completion_ = std::exchange(next_completion_, no_event);
  where_ = options.where();
  stage_ = Stage::called;
  has_turn_ = true;
  told_that_it_waits_ = false;
  is_done_by_other_ = false;
  has_left_ = false;
}

// Only one for which nothing was made that is not made again.
bool CollectiveOperation::may_serve_again() const noexcept {
  return failure_ == nullptr && call_.shards().empty() && !scratch_.is_in_segment();
}

[[gnu::hot]] void CollectiveOperation::leave() noexcept {
  if (!parked_.empty()) parked_ = SavedMessages();
  has_served_ = true;
  const bool has_joined = preparation_ != nullptr;
  if (!has_joined || !preparation_->end_use(*this, next_completion_.exists())) arena::destroy(this);
}

// Runs on whatever thread triggered the precondition.
void CollectiveOperation::precondition_over(Waiter* waiter, const Cause& cause) noexcept {
  auto* const operation = static_cast<CollectiveOperation*>(waiter);
  operation->failure_ = cause;
  operation->service_.endpoint().context().post(operation);
}

void CollectiveOperation::on_turn(fabric::Item* item) noexcept {
  CollectiveOperation& operation = *static_cast<CollectiveOperation*>(item);
  const Entry entry(operation);
  switch (operation.stage_) {
    case Stage::called: operation.join_in_turn(); break;
    case Stage::waiting:
      operation.has_turn_ = false;
      operation.service_.begin(operation);
      break;
    case Stage::meeting:
      operation.has_turn_ = false;
      operation.end_meeting();
      break;
    case Stage::begun:
      operation.has_turn_ = false;
      operation.or_fail([&operation] {
        operation.large_.do_piece();
        operation.local_.copy_put_off();
        operation.local_.do_piece();
      });
      operation.run();
      break;
    case Stage::failed:
    case Stage::over: operation.has_turn_ = false;
  }
}

[[gnu::hot]] std::uint32_t CollectiveOperation::calls() const noexcept {
  const FusedReduce* const fused = call_.fused();
  return fused == nullptr ? 1 : static_cast<std::uint32_t>(fused->calls());
}

// Its caller has its event: where there is no memory, that is what hears of it.
void CollectiveOperation::join_in_turn() {
  Stream* its_stream = nullptr;
  Preparation* prepared = nullptr;
  Cause shortage;
  try {
    its_stream = &service_.stream(stream_id_);
    PlanCache::OfGroup& plans = service_.plans_of(group_);
    if (!has_own_order(call_)) its_stream->note_plans(plans);
    prepared = &plans.prepare(call_, named_);
    make_ready(*its_stream, *prepared);
  } catch (...) {
    shortage = cause_of_current_exception("a collective");
  }
  if (shortage == nullptr) {
    join(*its_stream, *prepared);
  } else {
    fail_to_join(shortage);
  }
}

// It counts as a call all the same, or this node's next one would be taken for this one. Its peers hear of it, and what
// they have sent for it is used up. For what little that takes there has to be memory now.
void CollectiveOperation::fail_to_join(const Cause& cause) {
  has_turn_ = false;
  stage_ = Stage::over;
  Stream& its_stream = service_.stream(stream_id_);
  header_.identity = {stream_id_, its_stream.take_sequence(calls()), 0};
  service_.node().events().complete(completion_, cause);
  its_stream.pass_meeting(its_stream.next_sequence());
  for (std::uint32_t left = calls(); left > 0; --left, ++header_.identity.sequence) {
    service_.tell_failure(*this, cause, Tell::everybody);
    service_.pass(its_stream, header_.identity.sequence);
  }
}

// Before it takes a number, which others would wait for.
void CollectiveOperation::make_ready(Stream& stream, const Preparation& prepared) {
  stream.make_room(calls());
  service_.find_meeting(stream, group().size(), calls());
  if (has_served_) return;
  plan_ = &prepared.plan;
  placed_ = prepared.placed.get();
  if (placed_->lends || placed_->has_large) large_.make_room();
}

void CollectiveOperation::go_by(Stream& stream, Preparation& prepared, std::uint32_t sequence) {
  stream_ = &stream;
  preparation_ = &prepared;
  prepared.begin_use();
  header_.identity = stream.identify(sequence, prepared);
  header_.line = where_.line();
  buffers_.set_input(call_.input);
  buffers_.set_output(call_.output);
  stage_ = Stage::waiting;
}

[[gnu::hot]] void CollectiveOperation::join(Stream& stream, Preparation& prepared) {
  const std::uint32_t sequence = stream.take_sequence(calls());
  go_by(stream, prepared, sequence);
  stream.pass_meeting(stream.next_sequence());
  if (precondition_.exists()) {
    const EventState state = service_.node().events().subscribe(precondition_, this, &failure_);
    if (state == EventState::untriggered) {
      stream.put_off(sequence, calls());
      return;  // it keeps its turn until it is told
    }
  }
  has_turn_ = false;
  service_.begin(*this);
}

[[gnu::hot]] void CollectiveOperation::take_over(Stream& stream, Preparation& prepared, const InlineRun& run) {
  go_by(stream, prepared, run.sequence());
  const Place all_scratch{schedule::Buffer::scratch, 0, placed_->scratch_bytes};
  copy_bytes(buffers_.bytes_of(all_scratch).data(), {run.scratch(), placed_->scratch_bytes});
  has_turn_ = false;
  taken_over_ = &run;
  failure_ = run.failure();
  service_.begin(*this);
}

[[gnu::hot]] void CollectiveOperation::begin() {
  const Entry entry(*this);
  if (stage_ == Stage::waiting) waits_since_look_ = service_.looks();
  stage_ = Stage::begun;
  Tell tell = Tell::everybody;
  try {
    if (call_.shards().empty()) begin_steps();
    if (failure_ == nullptr && service_.cancelled() != nullptr) failure_ = service_.cancelled();
    if (failure_ == nullptr && service_.any_lost()) note_loss(tell);
    if (failure_ == nullptr) prepare();
  } catch (...) {
    failure_ = cause_of_current_exception("a collective");
  }
  if (failure_ == nullptr) {
    run();
  } else {
    fail(failure_, tell);
  }
}

// Also of a call that is to fail: of what it did inline, peers may still read some (decision 15).
[[gnu::hot]] void CollectiveOperation::begin_steps() {
  states_.reset(placed_->beginning);
  states_.begin(placed_->beginning);
  if (taken_over_ != nullptr) skip_done(*std::exchange(taken_over_, nullptr));
}

// Of a member, if one is lost.
void CollectiveOperation::note_loss(Tell& tell) {
  const Cause loss = service_.find_loss_in(group());
  if (loss == nullptr) return;
  failure_ = std::make_shared<const Error>(ErrorCode::peer_lost, describe() + ": " + loss->message());
  tell = Tell::neighbours;
}

[[gnu::hot]] void CollectiveOperation::prepare() {
  if (FusedReduce* const fused = call_.fused()) fused->pack();
  if (!has_served_ && placed_->scratch_bytes > 0) {
    buffers_.set_scratch(scratch_.allocate(placed_->scratch_bytes, placed_->has_large && !service_.reaches_all()));
  }
  // Schedules of all-to-alls have none in place.
  if (call_.operation() == schedule::Operation::all_to_all && !are_apart(call_.input, call_.output) && !copy_input()) {
    throw std::bad_alloc();
  }
  large_.list_requests();
  if (call_.shards().empty()) {
    large_.announce_early();
  } else {
    add_shards();
  }
}

// False: there is no memory for it. Calls that it serves one after the other have inputs of one size.
bool CollectiveOperation::copy_input() noexcept {
  const ConstByteSpan data = call_.input;
  if (input_copy_ == nullptr) input_copy_.reset(new (std::nothrow) std::byte[data.size() + Layout::scratch_alignment]);
  if (input_copy_ == nullptr) return false;
  std::byte* const place = align_scratch(input_copy_.get());
  copy_bytes(place, data);
  call_.input = {place, data.size()};
  buffers_.set_input(call_.input);
  return true;
}

[[gnu::hot]] void CollectiveOperation::skip_done(const InlineRun& run) {
  for (std::uint32_t step = 0; step < run.done(); ++step) {
    const PlacedStep& what = step_at(step);
    if (what.kind == schedule::StepKind::receive) states_.note_message(step);
    if (what.kind == schedule::StepKind::send) heard_by(what.peer);
    if (what.is_lent) large_.take_over(step, run);
  }
  if (run.is_amid_turns()) large_.take_over(run.done(), run);
  states_.complete_first(run.done(), plan_->schedule());
}

// Until they are added no step begins, not even one that only waits.
void CollectiveOperation::add_shards() {
  states_.reset(plan_->beginning());
  local_.add_shards(call_.output, call_.input, call_.shards());
  call_.input = call_.output;
  buffers_.set_input(call_.output);
  take_turn_later();
}

[[gnu::hot]] void CollectiveOperation::run() {
  if (stage_ == Stage::begun) or_fail([this] { start_steps(); });
  if (stage_ != Stage::begun) return;
  if (states_.all_complete() && local_.have_ended() && !large_.has_lent()) {
    finish();
  } else if (!plan_->meets_everybody() && !states_.heard_by_all()) {
    service_.greet_later();
  }
}

[[gnu::hot]] void CollectiveOperation::start_steps() {
  while (stage_ == Stage::begun) {
    const std::uint32_t step = states_.start_next();
    if (step == Plan::none) return;
    start_step(step);
  }
}

void CollectiveOperation::start_step(std::uint32_t step) {
  switch (step_at(step).kind) {
    case schedule::StepKind::send:
      step_at(step).multicast == nullptr ? start_send(step) : start_alike_sends(step);
      break;
    case schedule::StepKind::receive: start_receive(step); break;
    case schedule::StepKind::reduce: local_.start_reduce(step); break;
    case schedule::StepKind::copy: local_.start_copy(step); break;
  }
}

void CollectiveOperation::take_turn_later() {
  if (std::exchange(has_turn_, true)) return;
  service_.endpoint().context().post(this);
}

// Its event is poisoned when nobody touches its buffers any more: peers that may are told, and say when they are off.
void CollectiveOperation::fail(const Cause& cause, Tell tell) {
  const Entry entry(*this);
  if (stage_ == Stage::failed || stage_ == Stage::over) return;
  if (stage_ == Stage::meeting) {
    // It begins instead, and hears of the cause.
    stream_->pass_meeting(identity().sequence + 1);
    return;
  }
  failure_ = cause;
  stage_ = Stage::failed;
  told_that_it_waits_ = false;  // for others, and another reason
  waits_since_look_ = service_.looks();
  large_.note_exposures(exposures_);
  forget_past_exposures();
  service_.tell_failure(*this, cause, tell);
  finish_if_untouched();
}

void CollectiveOperation::forget_past_exposures() {
  exposures_.forget_past([this](NodeId peer) { return large_.pieces_from(peer); });
}

void CollectiveOperation::on_member_gone(NodeId member, const Cause& cause) {
  const Entry entry(*this);
  if (cause != nullptr) fail(cause, Tell::neighbours);
  if (service_.endpoint().may_linger(member)) return;
  exposures_.forget(member);
  finish_if_untouched();
}

void CollectiveOperation::on_piece(NodeId from, std::uint32_t step) {
  const Entry entry(*this);
  large_.on_piece(from, step);
}

// The peer has put no more than so many pieces over a wire, and, where it shares memory, touches ours no more.
void CollectiveOperation::on_released(NodeId from, std::uint64_t pieces) {
  if (exposures_.release(from, pieces)) finish_if_untouched();
}

// Nor does it end while what it has itself begun with its buffers is under way.
void CollectiveOperation::finish_if_untouched() {
  if (stage_ != Stage::failed || under_way_ > 0) return;
  for (const NodeId peer : std::exchange(to_release_, {})) service_.say_released(peer, identity(), all_pieces);
  forget_past_exposures();
  if (!exposures_.empty()) return;
  large_.forget_landings();
  finish();
}

[[gnu::hot]] void CollectiveOperation::finish() {
  stage_ = Stage::over;
  large_.disengage();
  service_.end(*this);
  if (FusedReduce* const fused = call_.fused(); fused != nullptr && failure_ == nullptr) fused->unpack();
  let_go_of_call();
  EventService& events = service_.node().events();
  if (call_.input.size() > piece_bytes) input_copy_.reset();  // one that is kept would keep it
  if (may_serve_again()) {
    next_completion_ = has_left_ ? completion_ : events.complete_and_renew(completion_);
  } else {
    // Whoever hears of the end may need the memory at once.
    scratch_.leave_segment();
    large_.release_staging();
    events.complete(completion_, failure_);
  }
}

void CollectiveOperation::let_go_of_call() noexcept {
  if (call_.keep_alive != nullptr) call_.keep_alive.reset();
  if (call_.operator_state != nullptr) call_.operator_state.reset();
}

// Whether the peer has sent data, or has said something of data. That it waits, or holds some, is not noted.
bool CollectiveOperation::has_heard_of(Rank peer) const {
  for (std::uint32_t step = 0; step < plan_->steps().size(); ++step) {
    const PlacedStep& what = step_at(step);
    if (!what.is_message() || what.peer != peer) continue;
    const bool is_receive = what.kind == schedule::StepKind::receive;
    if (is_receive && (states_.has_message(step) || states_.of(step) == StepStates::State::complete)) return true;
    if (large_.transfers().is_known(step)) return true;
  }
  return false;
}

std::string CollectiveOperation::what_it_waits_for(Operations::Which which) {
  if (stage_ != Stage::begun && stage_ != Stage::failed && stage_ != Stage::meeting) return {};
  if (stage_ == Stage::meeting && has_left_) return {};
  const bool is_new = waits_since_look_ + 1 >= service_.looks();
  if (which == Operations::Which::since_last_look && (is_new || told_that_it_waits_)) return {};
  std::vector<NodeId> awaited = stage_ == Stage::meeting ? missing_in_meeting() : exposures_.peers();
  std::string names;
  const auto add_peers_of_steps = [&](bool only_in_their_turn) {
    for (std::uint32_t step = 0; stage_ == Stage::begun && step < plan_->steps().size(); ++step) {
      const bool is_open = states_.of(step) == StepStates::State::started || large_.transfers().is_lent_out(step) ||
                           local_.awaits_more_of(step);
      if (!step_at(step).is_message() || !is_open) continue;
      const bool has_turn =
          !large_.asks_in_turn(step) || large_.transfers().is_told(step) || large_.transfers().is_known(step);
      if (has_turn || !only_in_their_turn) awaited.push_back(step_at(step).node);
    }
  };
  add_peers_of_steps(true);
  if (awaited.empty()) add_peers_of_steps(false);
  std::sort(awaited.begin(), awaited.end());
  awaited.erase(std::unique(awaited.begin(), awaited.end()), awaited.end());
  if (awaited.empty()) return {};
  told_that_it_waits_ = true;
  bool is_one_unheard_of = false;
  for (const NodeId node : awaited) {
    names += (names.empty() ? "" : ", ") + std::to_string(node);
    const bool is_heard_of = stage_ == Stage::begun && has_heard_of(group().rank_of(node));
    if (stage_ == Stage::failed || is_heard_of) continue;
    names += " (nothing heard of it)";
    is_one_unheard_of = true;
  }
  if (is_one_unheard_of) names += "; do all members pass the same group, in the same order, and key?";
  return describe() + (stage_ != Stage::failed ? " waits for node " : ", which failed, waits to be let go by node ") +
         names;
}

std::string CollectiveOperation::describe() const {
  const std::string root = has_root(call_.operation()) ? ", root " + std::to_string(call_.root) + "," : std::string();
  const std::size_t bytes = call_.input.empty() ? call_.output.size() : call_.input.size();
  return "node " + std::to_string(service_.node().id()) + "'s " + std::string(name_of(call_)) + " of " +
         std::to_string(bytes) + " bytes" + root + " at " + call_site(where_);
}

}  // namespace stretto
