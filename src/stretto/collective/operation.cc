#include "stretto/collective/operation.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "stretto/base/arena.h"
#include "stretto/collective/collective_service.h"
#include "stretto/core/cause.h"

namespace stretto {

namespace {

constexpr std::size_t slot_alignment = 64;

// Units of a passing thread's budget (see Context::spend) for moving or combining so many bytes.
std::uint32_t cost_of(std::size_t bytes) { return static_cast<std::uint32_t>(bytes >> 10U); }

}  // namespace

// Keeps the operation alive while one of its functions runs; the last one out lets it go if it is over.
class CollectiveOperation::Entry {
 public:
  explicit Entry(CollectiveOperation& operation) noexcept : operation_(operation) { ++operation_.entered_; }
  ~Entry() {
    if (--operation_.entered_ > 0) return;
    if (operation_.over_ && operation_.under_way_ == 0 && !operation_.has_turn_) arena::destroy(&operation_);
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

  static void work(Runnable* runnable, Worker&) noexcept {
    auto* const task = static_cast<CombineTask*>(runnable);
    CollectiveOperation& operation = task->operation;
    const CollectiveCall& call = operation.setup_.call;
    try {
      call.reduction.combine(call.reduction.op.get(), task->combine.destination.data(), task->combine.source.data(),
                             task->combine.destination.size() / call.element_bytes, task->combine.order);
    } catch (...) {
      task->failure = cause_of_current_exception("a reduction operator");
    }
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
    } else if (!operation.over_) {
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
    if (last && !owner.over_) {
      owner.complete_step(step);
      owner.run();
    }
    delete this;
  }

  CollectiveOperation& operation;
  std::uint32_t step;
  bool last;
};

CollectiveOperation::CollectiveOperation(CollectiveService& service, Setup setup)
    : Waiter(&CollectiveOperation::precondition_over),
      Item(&CollectiveOperation::on_turn),
      service_(service),
      setup_(std::move(setup)) {}

CollectiveOperation::~CollectiveOperation() {
  // After a failure peers may still write there: such memory is not used again (CONTRACTS 14).
  if (failure_ == nullptr && scratch_offset_ >= 0 && over_) {
    service_.endpoint().segment().release(static_cast<std::uint64_t>(scratch_offset_));
  }
}

void CollectiveOperation::launch(CollectiveService& service, Setup setup, Event precondition) {
  auto* const operation = arena::make<CollectiveOperation>(service, std::move(setup));
  Cause cause;
  if (service.node().events().subscribe(precondition, operation, &cause) != EventState::untriggered) {
    precondition_over(operation, cause);
  }
}

void CollectiveOperation::precondition_over(Waiter* waiter, const Cause& cause) noexcept {
  auto* const operation = static_cast<CollectiveOperation*>(waiter);
  operation->failure_ = cause;
  operation->service_.endpoint().context().post(operation);
}

void CollectiveOperation::on_turn(fabric::Item* item) noexcept {
  CollectiveOperation& operation = *static_cast<CollectiveOperation*>(item);
  const Entry entry(operation);
  operation.has_turn_ = false;
  if (!operation.begun_) {
    operation.service_.begin(operation);
  } else if (!operation.over_) {
    operation.do_piece_of_combine();
    operation.do_piece_of_sending();
    operation.run();
  }
}

void CollectiveOperation::begin(Early early) {
  const Entry entry(*this);
  begun_ = true;
  if (const Cause failed_before = std::exchange(failure_, nullptr)) {
    fail(failed_before, Tell::everybody);
    return;
  }
  for (const NodeId member : setup_.group.nodes()) {
    if (!service_.endpoint().lost(member)) continue;
    fail(std::make_shared<const Error>(ErrorCode::peer_lost,
                                       describe() + ": node " + std::to_string(member) + " of the group is lost"),
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
  take(std::move(early));
}

void CollectiveOperation::take(Early early) {
  // What is bad costs its sender the connection, as it would have on arrival.
  const auto hear = [this](NodeId from, auto what) {
    try {
      what();
    } catch (const Error& error) {
      service_.endpoint().lose(from, error);
    }
  };
  for (const auto& ready : early.ready) hear(ready.first, [&] { on_ready(ready.first, ready.second); });
  for (const Early::Data& data : early.data) hear(data.from, [&] { on_data(data.from, data.header, data.payload); });
  for (const auto& hello : early.hellos) hear(hello.first, [&] { on_hello(hello.first, hello.second); });
  for (const auto& failure : early.failures) hear(failure.first, [&] { on_failure(failure.first, failure.second); });
}

void CollectiveOperation::prepare() {
  const schedule::Schedule& plan = setup_.plan->schedule();
  missing_.reserve(plan.steps.size());
  runnable_.reserve(plan.steps.size());
  for (const schedule::Step& step : plan.steps) missing_.push_back(step.dependency_count);
  states_.assign(plan.steps.size(), StepState::waiting);
  heard_by_.assign(setup_.plan->peers().size(), false);
  steps_left_ = plan.steps.size();
  allocate_scratch();

  CollectiveCall& call = setup_.call;
  for (const ConstByteSpan shard : call.shards) {
    combines_.push_back({Plan::none, call.output, shard, schedule::Order::destination_first, 0});
  }
  if (!call.shards.empty()) {
    if (!call.output.empty() && call.output.data() != call.input.data()) {
      std::memcpy(call.output.data(), call.input.data(), call.output.size());
    }
    call.input = call.output;
    take_turn_later();
    return;
  }
  for (std::uint32_t step = 0; step < missing_.size(); ++step) {
    if (missing_[step] == 0) runnable_.push_back(step);
  }
}

void CollectiveOperation::allocate_scratch() {
  const schedule::Schedule& plan = setup_.plan->schedule();
  slot_bytes_ = (vector_bytes() + slot_alignment - 1) / slot_alignment * slot_alignment;
  const std::size_t bytes = slot_bytes_ * plan.scratch_blocks;
  if (bytes == 0) return;
  if (slot_bytes_ > eager_bytes) {
    scratch_offset_ = static_cast<std::int64_t>(service_.endpoint().segment().allocate(bytes));
    scratch_ = service_.endpoint().segment().pointer(static_cast<std::uint64_t>(scratch_offset_));
  } else {
    scratch_ = static_cast<std::byte*>(memory_.allocate(bytes, slot_alignment));
  }
}

// Of the vector that is reduced or broadcast, or of this node's contribution to an allgather.
std::size_t CollectiveOperation::vector_bytes() const noexcept {
  const CollectiveCall& call = setup_.call;
  const bool gives = call.reduction.combine != nullptr || call.operation == schedule::Operation::allgather;
  return gives ? call.input.size() : call.output.size();
}

// REQUIRES: the vector is one block, where `blocks` are in scratch.
ByteSpan CollectiveOperation::bytes_of(schedule::BlockRef blocks) {
  if (blocks.count == 0) return {};
  if (blocks.buffer == schedule::Buffer::scratch) {
    return {scratch_ + blocks.first * slot_bytes_, (blocks.count - 1) * slot_bytes_ + vector_bytes()};
  }
  const schedule::Shape& shape = setup_.plan->schedule().shape;
  const CollectiveCall& call = setup_.call;
  const bool is_input = blocks.buffer == schedule::Buffer::input;
  std::byte* const base = is_input ? const_cast<std::byte*>(call.input.data()) : call.output.data();
  if (shape.operation == schedule::Operation::allgather) {
    return {base + blocks.first * vector_bytes(), blocks.count * vector_bytes()};
  }
  const std::size_t elements = (is_input ? call.input.size() : call.output.size()) / call.element_bytes;
  const schedule::Piece first = schedule::cut(elements, shape.blocks, blocks.first);
  const schedule::Piece last = schedule::cut(elements, shape.blocks, blocks.first + blocks.count - 1);
  return {base + first.first * call.element_bytes, (last.first + last.count - first.first) * call.element_bytes};
}

void CollectiveOperation::run() {
  while (!runnable_.empty() && !over_) {
    const std::uint32_t step = runnable_.back();
    runnable_.pop_back();
    start_step(step);
  }
  if (!over_) greet_first_awaited();
  if (steps_left_ == 0 && combines_.empty() && !combining_in_task_ && !over_) finish();
}

void CollectiveOperation::start_step(std::uint32_t step) {
  states_[step] = StepState::started;
  const schedule::Step& what = step_at(step);
  switch (what.kind) {
    case schedule::StepKind::send: start_send(step); break;
    case schedule::StepKind::receive: start_receive(step); break;
    case schedule::StepKind::reduce:
      combines_.push_back({step, bytes_of(what.destination()), bytes_of(what.source()), what.order, 0});
      do_piece_of_combine();
      break;
    case schedule::StepKind::copy: {
      const ByteSpan source = bytes_of(what.source());
      const ByteSpan destination = bytes_of(what.destination());
      if (!source.empty() && source.data() != destination.data()) {
        std::memmove(destination.data(), source.data(), source.size());
        service_.endpoint().context().spend(cost_of(source.size()));
      }
      complete_step(step);
    }
  }
}

void CollectiveOperation::complete_step(std::uint32_t step) {
  states_[step] = StepState::complete;
  --steps_left_;
  for (const std::uint32_t successor : setup_.plan->schedule().successors_of(step)) {
    if (--missing_[successor] == 0) runnable_.push_back(successor);
  }
}

void CollectiveOperation::start_send(std::uint32_t step) {
  const schedule::Step& what = step_at(step);
  const ByteSpan data = bytes_of(what.source());
  if (data.size() <= eager_bytes) {
    const DataHeader header{setup_.identity, what.tag, 0};
    service_.endpoint().send(setup_.group.node(what.peer), fabric::MessageType::collective_data,
                             stretto::bytes_of(header), data);
    heard_by(what.peer);
    complete_step(step);
    return;
  }
  const auto parked = parked_ready_.find(step);
  if (parked != parked_ready_.end()) {
    send_when_ready(step, parked->second);
  } else {
    wait_for(what.peer);
  }
}

void CollectiveOperation::heard_by(Rank peer) { heard_by_[setup_.plan->index_of_peer(peer)] = true; }

// Sees to it that `peer` knows what we are in, so that two who wait for each other in different operations find out.
void CollectiveOperation::wait_for(Rank peer) {
  if (setup_.plan->meets_everybody() || heard_by_[setup_.plan->index_of_peer(peer)]) return;
  heard_by(peer);
  service_.endpoint().send(setup_.group.node(peer), fabric::MessageType::collective_hello,
                           stretto::bytes_of(HelloHeader{setup_.identity}), {});
}

// Of the peers whose data are missing, the one of the earliest step; the others will hear from us when it is their
// turn.
void CollectiveOperation::greet_first_awaited() {
  const auto& steps = setup_.plan->steps();
  while (first_awaited_ < steps.size() && states_[first_awaited_] == StepState::complete) ++first_awaited_;
  for (std::uint32_t step = first_awaited_; step < steps.size(); ++step) {
    if (steps[step].kind != schedule::StepKind::receive || states_[step] != StepState::started) continue;
    wait_for(steps[step].peer);
    return;
  }
}

void CollectiveOperation::start_receive(std::uint32_t step) {
  const schedule::Step& what = step_at(step);
  const ByteSpan destination = bytes_of(what.destination());
  if (destination.size() <= eager_bytes) {
    const auto parked = parked_data_.find(step);
    if (parked == parked_data_.end()) return;
    if (!destination.empty()) std::memcpy(destination.data(), parked->second.data(), destination.size());
    complete_step(step);
    return;
  }
  // Tell the sender where to put it: in place if that is in the segment, else beside.
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
  const ReadyHeader ready{setup_.identity, what.tag, 0, static_cast<std::uint64_t>(offset), name, destination.size()};
  service_.endpoint().send(setup_.group.node(what.peer), fabric::MessageType::collective_ready,
                           stretto::bytes_of(ready), {});
  heard_by(what.peer);
}

void CollectiveOperation::require_member(NodeId from) const {
  if (setup_.group.contains(from)) return;
  throw Error(ErrorCode::bad_input,
              "node " + std::to_string(from) + " speaks in " + describe() + ", of whose group it is no member");
}

// Whether a message is of this operation; those that are not end it.
bool CollectiveOperation::accepts(NodeId from, const Identity& theirs) {
  require_member(from);
  if (theirs.digest == setup_.identity.digest) return !over_;
  if (over_) {
    service_.answer_late(from, theirs);
    return false;
  }
  fail(std::make_shared<const Error>(
           ErrorCode::mismatch,
           describe() + " does not match what node " + std::to_string(from) +
               " calls as the same collective: operation, count, type, operator, root, algorithm or order differ"),
       Tell::everybody);
  return false;
}

void CollectiveOperation::on_data(NodeId from, const DataHeader& header, ConstByteSpan payload) {
  const Entry entry(*this);
  if (!accepts(from, header.identity)) return;
  const std::uint32_t step = setup_.plan->receive_step(setup_.group.rank_of(from), header.tag);
  const ByteSpan destination = step == Plan::none ? ByteSpan() : bytes_of(step_at(step).destination());
  if (step == Plan::none || destination.size() != payload.size() || payload.size() > eager_bytes ||
      states_[step] == StepState::complete || parked_data_.contains(step)) {
    throw Error(ErrorCode::bad_input,
                "node " + std::to_string(from) + " sends data that " + describe() + " has no place for");
  }
  if (states_[step] == StepState::waiting) {
    parked_data_.emplace(step, std::vector<std::byte>(payload.begin(), payload.end()));
    return;
  }
  if (!payload.empty()) std::memcpy(destination.data(), payload.data(), payload.size());
  complete_step(step);
  run();
}

void CollectiveOperation::on_ready(NodeId from, const ReadyHeader& header) {
  const Entry entry(*this);
  if (!accepts(from, header.identity)) return;
  const std::uint32_t step = setup_.plan->send_step(setup_.group.rank_of(from), header.tag);
  if (step == Plan::none || bytes_of(step_at(step).source()).size() != header.bytes || header.bytes <= eager_bytes ||
      parked_ready_.contains(step)) {
    throw Error(ErrorCode::bad_input,
                "node " + std::to_string(from) + " is ready for data that " + describe() + " does not send");
  }
  parked_ready_.emplace(step, header);
  if (states_[step] == StepState::started) send_when_ready(step, header);
}

void CollectiveOperation::send_when_ready(std::uint32_t step, const ReadyHeader& ready) {
  sendings_.push_back({step, ready, 0});
  take_turn_later();
}

void CollectiveOperation::do_piece_of_sending() {
  if (sendings_.empty() || over_) return;
  Sending& sending = sendings_.front();
  const schedule::Step& what = step_at(sending.step);
  const ByteSpan data = bytes_of(what.source());
  const std::size_t bytes = std::min(piece_bytes, data.size() - sending.sent);
  const bool last = sending.sent + bytes == data.size();
  ++under_way_;
  service_.endpoint().put(setup_.group.node(what.peer), sending.ready.offset + sending.sent,
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
  if (setup_.group.node(step_at(step).peer) != from) return;  // not its to fill
  if (over_ || found == landings_.end() || --found->second.pieces > 0) return;
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

void CollectiveOperation::do_piece_of_combine() {
  if (combines_.empty() || combining_in_task_ || over_) return;
  const CollectiveCall& call = setup_.call;
  if (call.reduction.user) {
    hand_to_task();
    return;
  }
  Combine& combine = combines_.front();
  const std::size_t most = std::max(piece_bytes / call.element_bytes, std::size_t{1}) * call.element_bytes;
  const std::size_t bytes = std::min(most, combine.destination.size() - combine.done);
  call.reduction.combine(call.reduction.op.get(), combine.destination.data() + combine.done,
                         combine.source.data() + combine.done, bytes / call.element_bytes, combine.order);
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
    for (std::uint32_t first = 0; first < missing_.size(); ++first) {
      if (missing_[first] == 0) runnable_.push_back(first);
    }
  }
  if (!combines_.empty()) take_turn_later();
}

void CollectiveOperation::take_turn_later() {
  if (std::exchange(has_turn_, true)) return;
  service_.endpoint().context().post(this);
}

void CollectiveOperation::on_hello(NodeId from, const Identity& theirs) {
  const Entry entry(*this);
  accepts(from, theirs);
}

void CollectiveOperation::on_failure(NodeId from, const Cause& cause) {
  require_member(from);
  fail(cause, Tell::neighbours);
}

void CollectiveOperation::fail(const Cause& cause, Tell tell) {
  const Entry entry(*this);
  if (over_) return;
  failure_ = cause;
  service_.tell_failure(*this, cause, tell);
  finish();
}

void CollectiveOperation::finish() {
  over_ = true;
  for (const auto& [step, landing] : landings_) service_.forget_landing(landing.name);
  service_.finished(*this);
  setup_.call.keep_alive.reset();
  service_.node().events().complete(setup_.completion, failure_);
}

std::string CollectiveOperation::describe() const {
  return "node " + std::to_string(service_.node().id()) + "'s " +
         std::string(schedule::name_of(setup_.plan->schedule().shape.operation)) + " of " +
         std::to_string(setup_.call.input.size()) + " bytes at " + setup_.where.file_name() + ":" +
         std::to_string(setup_.where.line());
}

}  // namespace stretto
