#include "stretto/collective/operation.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "stretto/base/arena.h"
#include "stretto/collective/collective_service.h"
#include "stretto/collective/stream.h"
#include "stretto/core/cause.h"
#include "stretto/core/engine.h"
#include "stretto/core/worker.h"

namespace stretto {

namespace {

// Units of a passing thread's budget (see Context::spend) for moving or combining so many bytes.
std::uint32_t cost_of(std::size_t bytes) { return static_cast<std::uint32_t>(bytes >> 10U); }

std::byte* aligned(std::byte* memory, std::size_t alignment) {
  return memory + (alignment - reinterpret_cast<std::uintptr_t>(memory) % alignment) % alignment;
}

}  // namespace

// Keeps the operation alive while one of its functions runs; the last one out lets it go if it is over.
class CollectiveOperation::Entry {
 public:
  explicit Entry(CollectiveOperation& operation) noexcept : operation_(operation) { ++operation_.entered_; }
  ~Entry() {
    if (--operation_.entered_ > 0) return;
    if (operation_.stage_ == Stage::over && operation_.under_way_ == 0 && !operation_.has_turn_)
      arena::destroy(&operation_);
  }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

 private:
  CollectiveOperation& operation_;
};

// A user's operator at work: outside of the baton, on the service processor.
struct CollectiveOperation::CombineTask : Runnable, fabric::Item {
  CombineTask(CollectiveOperation& owner, const Combine& what) noexcept
      : Runnable(&CombineTask::work, 0), Item(&CombineTask::done), operation(owner), combine(what) {}

  static void work(Runnable* runnable, Worker& worker) noexcept {
    auto* const task = static_cast<CombineTask*>(runnable);
    CollectiveOperation& operation = task->operation;
    worker.engine().begin_slice();
    try {
      operation.combine_now(task->combine.destination, task->combine.source, task->combine.order);
    } catch (...) {
      task->failure = cause_of_current_exception("a reduction operator");
    }
    worker.engine().end_slice();
    operation.service_.endpoint().context().post(task);
  }

  static void done(Item* item) noexcept {
    const std::unique_ptr<CombineTask> task(static_cast<CombineTask*>(item));
    CollectiveOperation& operation = task->operation;
    const Entry entry(operation);
    --operation.under_way_;
    operation.combining_in_task_ = false;
    if (task->failure != nullptr) {
      operation.fail(task->failure, Tell::everybody);
    } else if (operation.stage_ != Stage::over) {
      operation.combined(task->combine.step);
      operation.run();
    }
  }

  CollectiveOperation& operation;
  Combine combine;
  Cause failure;
};

// One piece of a large send has left; the last one completes the step.
struct CollectiveOperation::PutDone : fabric::Completion {
  PutDone(CollectiveOperation& owner, std::uint32_t send_step, bool is_last) noexcept
      : operation(owner), step(send_step), last(is_last) {}

  // A lost peer fails the whole operation by another way.
  void complete(bool /*lost*/) noexcept override {
    CollectiveOperation& owner = operation;
    const Entry entry(owner);
    --owner.under_way_;
    if (last && owner.stage_ != Stage::over) {
      owner.complete_step(step);
      owner.run();
    }
    delete this;
  }

  CollectiveOperation& operation;
  std::uint32_t step;
  bool last;
};

CollectiveOperation::CollectiveOperation(CollectiveService& service, const Group& group, CollectiveCall&& call,
                                         const CollectiveOptions& options, const schedule::Algorithm& algorithm,
                                         Event completion) noexcept
    : Waiter(&CollectiveOperation::precondition_over),
      Item(&CollectiveOperation::on_turn),
      service_(service),
      group_(group),
      call_(std::move(call)),
      key_(options.key()),
      algorithm_(algorithm),
      precondition_(options.precondition()),
      completion_(completion),
      where_(options.where()) {}

CollectiveOperation::~CollectiveOperation() {
  // After a failure peers may still write there: such memory is not used again (CONTRACTS 14).
  if (failure_ == nullptr && scratch_offset_ >= 0 && stage_ == Stage::over) {
    service_.endpoint().segment().release(static_cast<std::uint64_t>(scratch_offset_));
  }
}

void CollectiveOperation::launch(CollectiveService& service, const Group& group, CollectiveCall&& call,
                                 const CollectiveOptions& options, const schedule::Algorithm& algorithm,
                                 Event completion) {
  service.endpoint().context().post(
      arena::make<CollectiveOperation>(service, group, std::move(call), options, algorithm, completion));
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
    case Stage::called: operation.service_.number(operation); break;
    case Stage::waiting:
      operation.has_turn_ = false;
      operation.service_.begin(operation);
      break;
    case Stage::begun:
      operation.has_turn_ = false;
      operation.do_piece_of_combine();
      operation.do_piece_of_sending();
      operation.run();
      break;
    case Stage::over: operation.has_turn_ = false;
  }
}

void CollectiveOperation::join(Stream& stream) {
  stream_ = &stream;
  const std::uint32_t sequence = stream.next_sequence();
  plan_ = &stream.plan(call_, algorithm_);
  identity_ = stream.identify(sequence, call_, *plan_);
  stage_ = Stage::waiting;
  if (precondition_.exists()) {
    // It keeps its turn until it is told.
    const EventState state = service_.node().events().subscribe(precondition_, this, &failure_);
    if (state == EventState::untriggered) return;
  }
  has_turn_ = false;
  service_.begin(*this);
}

void CollectiveOperation::begin() {
  const Entry entry(*this);
  stage_ = Stage::begun;
  if (const Cause failed_before = std::exchange(failure_, nullptr)) {
    fail(failed_before, Tell::everybody);
    return;
  }
  if (const std::optional<NodeId> lost = service_.lost_member(group())) {
    fail(std::make_shared<const Error>(ErrorCode::peer_lost,
                                       describe() + ": node " + std::to_string(*lost) + " of the group is lost"),
         Tell::neighbours);
    return;
  }
  try {
    prepare();
  } catch (const Error&) {
    fail(cause_of_current_exception("a collective"), Tell::everybody);
    return;
  }
  run();
}

void CollectiveOperation::prepare() {
  vector_bytes_ = bytes_of_vector(call_);
  one_block_ = plan_->schedule().shape.blocks == 1 && call_.operation != schedule::Operation::allgather;
  states_.reset(*plan_);
  allocate_scratch();
  if (call_.shards.empty()) {
    states_.begin(*plan_);
  } else {
    add_shards();
  }
}

// Only where memory carries what is exchanged: a wire keeps a thread that looks for the next message waiting for long.
void CollectiveOperation::engage_with(Rank peer) {
  if (engaged_ || service_.endpoint().peer_pointer(group().node(peer), 0) == nullptr) return;
  engaged_ = true;
  service_.endpoint().context().engage();
}

void CollectiveOperation::add_shards() {
  for (const ConstByteSpan shard : call_.shards) {
    combines_.push_back({Plan::none, call_.output, shard, schedule::Order::destination_first, 0});
  }
  if (!call_.output.empty() && call_.output.data() != call_.input.data()) {
    std::memcpy(call_.output.data(), call_.input.data(), call_.output.size());
  }
  call_.input = call_.output;
  take_turn_later();
}

void CollectiveOperation::allocate_scratch() {
  const std::uint32_t blocks = plan_->schedule().scratch_blocks;
  if (blocks == 0 || vector_bytes_ == 0) return;
  slot_bytes_ = (vector_bytes_ + slot_alignment - 1) / slot_alignment * slot_alignment;
  const std::size_t bytes = slot_bytes_ * blocks;
  if (slot_bytes_ > eager_bytes) {
    scratch_offset_ = static_cast<std::int64_t>(service_.endpoint().segment().allocate(bytes));
    scratch_ = service_.endpoint().segment().pointer(static_cast<std::uint64_t>(scratch_offset_));
  } else if (bytes <= own_scratch_bytes) {
    scratch_ = aligned(own_scratch_.data(), slot_alignment);
  } else {
    large_scratch_ = std::make_unique_for_overwrite<std::byte[]>(bytes + slot_alignment);
    scratch_ = aligned(large_scratch_.get(), slot_alignment);
  }
}

ByteSpan CollectiveOperation::part_of(ByteSpan all, schedule::BlockRef blocks) const noexcept {
  const schedule::Shape& shape = plan_->schedule().shape;
  if (shape.operation == schedule::Operation::allgather) {
    return {all.data() + blocks.first * vector_bytes_, blocks.count * vector_bytes_};
  }
  const std::size_t elements = all.size() / call_.element_bytes;
  const schedule::Piece first = schedule::cut(elements, shape.blocks, blocks.first);
  const schedule::Piece last = schedule::cut(elements, shape.blocks, blocks.first + blocks.count - 1);
  return {all.data() + first.first * call_.element_bytes,
          (last.first + last.count - first.first) * call_.element_bytes};
}

void CollectiveOperation::run() {
  if (stage_ == Stage::over) return;
  for (;;) {
    const std::uint32_t step = states_.start_next();
    if (step == Plan::none) break;
    start_step(step);
    if (stage_ == Stage::over) return;
  }
  if (states_.all_complete() && combines_.empty() && !combining_in_task_) {
    finish();
  } else if (!plan_->meets_everybody()) {
    greet_first_awaited();
  }
}

void CollectiveOperation::start_step(std::uint32_t step) {
  switch (step_at(step).kind) {
    case schedule::StepKind::send: start_send(step); break;
    case schedule::StepKind::receive: start_receive(step); break;
    case schedule::StepKind::reduce: start_reduce(step); break;
    case schedule::StepKind::copy: start_copy(step); break;
  }
}

void CollectiveOperation::start_copy(std::uint32_t step) {
  const ByteSpan source = bytes_of(step_at(step).source());
  const ByteSpan destination = bytes_of(step_at(step).destination());
  if (!source.empty() && source.data() != destination.data()) {
    std::memmove(destination.data(), source.data(), source.size());
    service_.endpoint().context().spend(cost_of(source.size()));
  }
  complete_step(step);
}

void CollectiveOperation::start_reduce(std::uint32_t step) {
  const schedule::Step& what = step_at(step);
  const ByteSpan destination = bytes_of(what.destination());
  const ByteSpan source = bytes_of(what.source());
  if (destination.size() <= eager_bytes && combines_.empty() && !call_.reduction.user) {
    combine_now(destination, source, what.order);
    complete_step(step);
    return;
  }
  combines_.push_back({step, destination, source, what.order, 0});
  do_piece_of_combine();
}

void CollectiveOperation::start_send(std::uint32_t step) {
  const schedule::Step& what = step_at(step);
  const ByteSpan data = bytes_of(what.source());
  if (data.size() <= eager_bytes) {
    service_.endpoint().send(group().node(what.peer), fabric::MessageType::collective_data,
                             stretto::bytes_of(header(what.tag)), data);
    if (!plan_->meets_everybody()) heard_by(what.peer);
    complete_step(step);
    return;
  }
  const NodeId peer = group().node(what.peer);
  const std::optional<fabric::Message> parked = parked_.find([&](const fabric::Message& message) {
    return message.from == peer && message.type == fabric::MessageType::collective_ready &&
           fabric::read_header<ReadyHeader>(message).call.tag == what.tag;
  });
  if (parked) {
    send_when_ready(step, fabric::read_header<ReadyHeader>(*parked));
  } else {
    wait_for(what.peer);
  }
}

// Sees to it that `peer` knows what we are in, so that two who wait for each other in different operations find out.
void CollectiveOperation::wait_for(Rank peer) {
  if (plan_->meets_everybody() || states_.heard_by(plan_->index_of_peer(peer))) return;
  heard_by(peer);
  service_.endpoint().send(group().node(peer), fabric::MessageType::collective_hello, stretto::bytes_of(header(0)), {});
}

// Of the peers whose data are missing, the one of the earliest step; the others will hear from us when it is their
// turn.
void CollectiveOperation::greet_first_awaited() {
  const auto& steps = plan_->steps();
  for (std::uint32_t step = states_.first_incomplete(*plan_); step < steps.size(); ++step) {
    if (steps[step].kind != schedule::StepKind::receive || states_.of(step) != StepStates::State::started) continue;
    wait_for(steps[step].peer);
    return;
  }
}

void CollectiveOperation::start_receive(std::uint32_t step) {
  const schedule::Step& what = step_at(step);
  const ByteSpan destination = bytes_of(what.destination());
  if (destination.size() > eager_bytes) {
    await_pieces(step, destination);
    return;
  }
  if (parked_.empty()) return;
  const NodeId peer = group().node(what.peer);
  const std::optional<fabric::Message> parked = parked_.find([&](const fabric::Message& message) {
    return message.from == peer && message.type == fabric::MessageType::collective_data &&
           fabric::read_header<CallHeader>(message).tag == what.tag;
  });
  if (!parked) return;
  if (!destination.empty()) std::memcpy(destination.data(), parked->payload.data(), destination.size());
  complete_step(step);
}

// Tells the sender where to put it: in place if that is in the segment, else beside.
void CollectiveOperation::await_pieces(std::uint32_t step, ByteSpan destination) {
  const schedule::Step& what = step_at(step);
  engage_with(what.peer);
  fabric::Segment& segment = service_.endpoint().segment();
  std::int64_t offset = segment.offset_of(destination.data());
  std::int64_t staging = -1;
  if (offset < 0) {
    try {
      staging = offset = static_cast<std::int64_t>(segment.allocate(destination.size()));
    } catch (const Error&) {
      fail(cause_of_current_exception("a collective"), Tell::everybody);
      return;
    }
  }
  const std::uint64_t name = service_.register_landing(*this, step);
  landings_[step] = {name, (destination.size() + piece_bytes - 1) / piece_bytes, staging};
  const ReadyHeader ready{header(what.tag), static_cast<std::uint64_t>(offset), name, destination.size()};
  service_.endpoint().send(group().node(what.peer), fabric::MessageType::collective_ready, stretto::bytes_of(ready),
                           {});
  heard_by(what.peer);
}

void CollectiveOperation::require_member(NodeId from) const {
  if (group().contains(from)) return;
  throw Error(ErrorCode::bad_input,
              "node " + std::to_string(from) + " speaks in " + describe() + ", of whose group it is no member");
}

// Whether a message is of this operation; those that are not end it.
bool CollectiveOperation::accepts(NodeId from, const CallHeader& theirs) {
  require_member(from);
  if (theirs.identity.digest == identity_.digest) return stage_ != Stage::over;
  if (stage_ == Stage::over) {
    service_.answer_late(from, theirs.identity);
    return false;
  }
  fail(std::make_shared<const Error>(
           ErrorCode::mismatch, describe() + " does not match what node " + std::to_string(from) + " calls, at line " +
                                    std::to_string(theirs.line) +
                                    " of its source, as the same collective: " + std::string(what_may_differ)),
       Tell::everybody);
  return false;
}

void CollectiveOperation::on_message(const fabric::Message& message) {
  const Entry entry(*this);
  switch (message.type) {
    case fabric::MessageType::collective_data: {
      const auto theirs = fabric::read_header<CallHeader>(message);
      if (accepts(message.from, theirs)) on_data(theirs.tag, message);
      break;
    }
    case fabric::MessageType::collective_ready: {
      const auto theirs = fabric::read_header<ReadyHeader>(message);
      if (accepts(message.from, theirs.call)) on_ready(theirs, message);
      break;
    }
    case fabric::MessageType::collective_hello: accepts(message.from, fabric::read_header<CallHeader>(message)); break;
    default: on_failure(message.from, fabric::read_header<FailedHeader>(message), message.payload);
  }
}

void CollectiveOperation::on_data(std::uint32_t tag, const fabric::Message& message) {
  const ConstByteSpan payload = message.payload;
  const std::uint32_t step = plan_->receive_step(group().rank_of(message.from), tag);
  const ByteSpan destination = step == Plan::none ? ByteSpan() : bytes_of(step_at(step).destination());
  if (step == Plan::none || destination.size() != payload.size() || payload.size() > eager_bytes ||
      !states_.note_message(step)) {
    throw Error(ErrorCode::bad_input,
                "node " + std::to_string(message.from) + " sends data that " + describe() + " has no place for");
  }
  if (states_.of(step) == StepStates::State::waiting) {
    parked_.add(message);
    return;
  }
  if (!payload.empty()) std::memcpy(destination.data(), payload.data(), payload.size());
  complete_step(step);
  run();
}

void CollectiveOperation::on_ready(const ReadyHeader& header, const fabric::Message& message) {
  const std::uint32_t step = plan_->send_step(group().rank_of(message.from), header.call.tag);
  if (step == Plan::none || bytes_of(step_at(step).source()).size() != header.bytes || header.bytes <= eager_bytes ||
      !states_.note_message(step)) {
    throw Error(ErrorCode::bad_input,
                "node " + std::to_string(message.from) + " is ready for data that " + describe() + " does not send");
  }
  if (states_.of(step) == StepStates::State::waiting) {
    parked_.add(message);
  } else {
    send_when_ready(step, header);
  }
}

void CollectiveOperation::send_when_ready(std::uint32_t step, const ReadyHeader& ready) {
  engage_with(step_at(step).peer);
  sendings_.push_back({step, ready, 0});
  take_turn_later();
}

void CollectiveOperation::do_piece_of_sending() {
  if (sendings_.empty() || stage_ == Stage::over) return;
  Sending& sending = sendings_.front();
  const schedule::Step& what = step_at(sending.step);
  const ByteSpan data = bytes_of(what.source());
  const std::size_t bytes = std::min(piece_bytes, data.size() - sending.sent);
  const bool last = sending.sent + bytes == data.size();
  ++under_way_;
  service_.endpoint().put(group().node(what.peer), sending.ready.offset + sending.sent,
                          data.subspan(sending.sent, bytes), sending.ready.landing,
                          new PutDone(*this, sending.step, last));
  service_.endpoint().context().spend(cost_of(bytes));
  sending.sent += bytes;
  if (last) sendings_.erase(sendings_.begin());
  if (!sendings_.empty()) take_turn_later();
}

void CollectiveOperation::on_piece(NodeId from, std::uint32_t step) {
  const Entry entry(*this);
  const auto found = landings_.find(step);
  if (group().node(step_at(step).peer) != from) return;  // not its to fill
  if (stage_ == Stage::over || found == landings_.end() || --found->second.pieces > 0) return;
  const Landing landing = found->second;
  landings_.erase(found);
  service_.forget_landing(landing.name);
  if (landing.staging >= 0) {
    fabric::Segment& segment = service_.endpoint().segment();
    const ByteSpan destination = bytes_of(step_at(step).destination());
    std::memcpy(destination.data(), segment.pointer(static_cast<std::uint64_t>(landing.staging)), destination.size());
    segment.release(static_cast<std::uint64_t>(landing.staging));
  }
  complete_step(step);
  run();
}

void CollectiveOperation::combine_now(ByteSpan destination, ConstByteSpan source, schedule::Order order) const {
  call_.reduction.combine(call_.reduction.op.get(), destination.data(), source.data(),
                          destination.size() / call_.element_bytes, order);
}

void CollectiveOperation::do_piece_of_combine() {
  if (combines_.empty() || combining_in_task_ || stage_ == Stage::over) return;
  if (call_.reduction.user) {
    hand_to_task();
    return;
  }
  Combine& combine = combines_.front();
  const std::size_t most = std::max(piece_bytes / call_.element_bytes, std::size_t{1}) * call_.element_bytes;
  const std::size_t bytes = std::min(most, combine.destination.size() - combine.done);
  combine_now(combine.destination.subspan(combine.done, bytes), combine.source.subspan(combine.done, bytes),
              combine.order);
  service_.endpoint().context().spend(cost_of(bytes));
  combine.done += bytes;
  if (combine.done == combine.destination.size()) {
    const std::uint32_t step = combine.step;
    combines_.erase(combines_.begin());
    combined(step);
  }
  if (!combines_.empty()) take_turn_later();
}

void CollectiveOperation::hand_to_task() {
  auto* const task = new CombineTask(*this, combines_.front());
  combines_.erase(combines_.begin());
  combining_in_task_ = true;
  ++under_way_;
  service_.node().service_processor().post(task);
}

// REQUIRES: `step` (none: a shard) has been combined.
void CollectiveOperation::combined(std::uint32_t step) {
  if (step != Plan::none) {
    complete_step(step);
  } else if (combines_.empty()) {
    states_.begin(*plan_);
  }
  if (!combines_.empty()) take_turn_later();
}

void CollectiveOperation::take_turn_later() {
  if (std::exchange(has_turn_, true)) return;
  service_.endpoint().context().post(this);
}

// Who finds out about a mismatch knows its own call's place; here is ours.
void CollectiveOperation::on_failure(NodeId from, const FailedHeader& header, ConstByteSpan text) {
  require_member(from);
  Cause cause = cause_from(TriggerHeader{0, 1, static_cast<std::uint8_t>(header.code)}, text);
  if (cause->code() == ErrorCode::mismatch && stage_ != Stage::over) {
    cause = std::make_shared<const Error>(ErrorCode::mismatch, cause->message() + "; here: " + describe());
  }
  fail(cause, Tell::neighbours);
}

void CollectiveOperation::fail(const Cause& cause, Tell tell) {
  const Entry entry(*this);
  if (stage_ == Stage::over) return;
  failure_ = cause;
  service_.tell_failure(*this, cause, tell);
  finish();
}

void CollectiveOperation::finish() {
  stage_ = Stage::over;
  if (engaged_) service_.endpoint().context().disengage();
  for (const auto& [step, landing] : landings_) service_.forget_landing(landing.name);
  stream_->end(identity_);
  call_.keep_alive.reset();
  service_.node().events().complete(completion_, failure_);
}

std::string CollectiveOperation::describe() const {
  return "node " + std::to_string(service_.node().id()) + "'s " + std::string(schedule::name_of(call_.operation)) +
         " of " + std::to_string(call_.input.size()) + " bytes at " + where_.file_name() + ":" +
         std::to_string(where_.line());
}

}  // namespace stretto
