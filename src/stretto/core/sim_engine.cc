#include "stretto/core/sim_engine.h"

#include <memory>
#include <string>
#include <utility>

#include "stretto/base/log.h"
#include "stretto/base/units.h"
#include "stretto/core/cause.h"
#include "stretto/core/node.h"

namespace stretto {

namespace {

constexpr std::size_t stack_bytes = std::size_t{128} << 10U;
// A guard page costs a mapping of its own, of which a process has some 65,000.
constexpr std::uint32_t most_nodes_with_guards = 1000;

constexpr std::uint64_t label_ready = std::uint64_t{16} << 56U;
constexpr std::uint64_t label_charge = std::uint64_t{17} << 56U;

// Each is some hundred tasks.
constexpr std::uint32_t looks_worth_a_word = 1U << 14U;

std::uint64_t label_of(std::uint64_t kind, const Processor& processor) {
  return kind | std::uint64_t{processor.node().id()} << 16U | processor.index();
}

}  // namespace

class SimEngine::ProcessorReady final : public fabric::Action {
 public:
  ProcessorReady(SimEngine& engine, Processor& processor) noexcept : engine_(engine), processor_(processor) {}
  void run() override { engine_.ready_ = &processor_; }

 private:
  SimEngine& engine_;
  Processor& processor_;
};

class SimEngine::ChargeOver final : public fabric::Action {
 public:
  ChargeOver(SimEngine& engine, Worker::Suspended& charged) noexcept : engine_(engine), charged_(charged) {}
  void run() override { engine_.charged_ = &charged_; }

 private:
  SimEngine& engine_;
  Worker::Suspended& charged_;
};

SimEngine::SimEngine(fabric::SimFabric& fabric)
    : fabric_(fabric),
      worker_(*this, 0, stack_bytes, fabric.size() <= most_nodes_with_guards),
      launch_(fabric.options().task),
      clock_(fabric::make_slice_clock(fabric.options())) {}

bool SimEngine::run(bool (*finished)(void*), void* argument) {
  finished_ = finished;
  argument_ = argument;
  stuck_ = false;
  worker_.run();
  return !stuck_;
}

void SimEngine::make_ready(Processor& processor) noexcept {
  fabric_.timeline().at(fabric_.timeline().now(), std::make_unique<ProcessorReady>(*this, processor),
                        label_of(label_ready, processor));
}

void SimEngine::make_ready_for(Processor& processor, Worker& /*worker*/) noexcept { make_ready(processor); }

bool SimEngine::runs(const Processor& processor) const { return unwinding_ || fabric_.alive(processor.node().id()); }

Processor* SimEngine::next(Worker& worker) {
  for (;;) {
    if (finished_(argument_)) return nullptr;
    note_end_of_time();
    if (failure_ != nullptr && !unwinding_) return nullptr;
    if (!fabric_.timeline().step()) {
      if (do_what_was_put_off()) continue;
      stuck_ = true;
      return nullptr;
    }
    if (Processor* const ready = std::exchange(ready_, nullptr)) {
      if (runs(*ready)) return ready;
      buried_ready_.push_back(ready);
    }
    if (Worker::Suspended* const charged = std::exchange(charged_, nullptr)) {
      if (runs(*charged->processor)) {
        worker.resume(*charged);
      } else {
        buried_charged_.push_back(charged);
      }
    }
  }
}

// Only what is due by now: virtual time cannot go on before the processor's work is done.
bool SimEngine::others_wait_for(Worker& worker) noexcept {
  const fabric::Timeline& timeline = fabric_.timeline();
  if (finished_(argument_) || failure_ != nullptr) return true;
  note_that_time_stands_still(*worker.held());
  return !timeline.empty() && timeline.next_time() <= timeline.now();
}

// Where tasks that take no time make each other ready, whatever they wait for may be a message that never comes.
void SimEngine::note_that_time_stands_still(const Processor& held) {
  const fabric::VirtualTime now = fabric_.timeline().now();
  if (std::exchange(stands_since_, now) != now) looks_since_ = 0;
  if (++looks_since_ != looks_worth_a_word) return;
  const Logger log(held.node().surroundings().log_level, "node " + std::to_string(held.node().id()));
  log.warning("virtual time stands still at ", format_duration(fabric::to_seconds(now)),
              ": tasks that take no time make each other ready; charge() in them, or give them a launch time "
              "(STRETTO_FABRIC=sim:...,task=...)");
}

// Where what is next would be too late.
void SimEngine::note_end_of_time() {
  const fabric::Timeline& timeline = fabric_.timeline();
  if (unwinding_ || failure_ != nullptr || timeline.empty() || timeline.next_time() <= fabric::end_of_time) return;
  failure_ = std::make_shared<const Error>(ErrorCode::invalid_argument,
                                           "virtual time ends after " + format_duration(fabric::last_second) +
                                               "; simulate a faster machine, or less of the program (STRETTO_FABRIC)");
}

// Returns whether there was anything.
bool SimEngine::do_what_was_put_off() {
  bool any = false;
  for (fabric::Endpoint* const endpoint : fabric_.endpoints()) {
    if (fabric_.alive(endpoint->self())) any |= endpoint->context().run_put_off();
  }
  return any;
}

void SimEngine::exhume() {
  unwinding_ = true;
  for (Processor* const processor : std::exchange(buried_ready_, {})) make_ready(*processor);
  for (Worker::Suspended* const charged : std::exchange(buried_charged_, {})) {
    fabric_.timeline().at(fabric_.timeline().now(), std::make_unique<ChargeOver>(*this, *charged), label_charge);
  }
}

void SimEngine::save_durations() {
  if (clock_ != nullptr) clock_->save();
}

// What has not begun at a node's death never does: whoever waited for it may have gone, and taken with it what it uses.
void SimEngine::before_task(Worker& worker) {
  const NodeId node = worker.held()->node().id();
  if (launch_ > 0) {
    check_end("the launch of a task", launch_);
    pass(fabric::to_virtual(launch_));
  }
  if (unwinding_ && !fabric_.alive(node)) {
    throw Error(ErrorCode::peer_lost, "node " + std::to_string(node) + " was killed before a task of its began");
  }
}

void SimEngine::begin_slice() noexcept {
  if (clock_ != nullptr) clock_->start();
}

// What goes wrong here fails the job, not the task: a program may catch what a task throws, and go on in wrong times.
void SimEngine::end_slice() noexcept {
  if (clock_ == nullptr || unwinding_ || failure_ != nullptr) return;
  try {
    const fabric::VirtualTime duration = clock_->stop(worker_.held()->node().id());
    check_end("a slice of a task", fabric::to_seconds(duration));
    pass(duration);
  } catch (...) {
    failure_ = cause_of_current_exception("the end of a task's slice");
  }
}

double SimEngine::now() const noexcept { return fabric::to_seconds(fabric_.timeline().now()); }

void SimEngine::check_end(const char* what, double seconds) const {
  if (now() + seconds <= fabric::last_second) return;
  throw Error(ErrorCode::invalid_argument, std::string(what) + ": " + std::to_string(seconds) + " seconds after " +
                                               std::to_string(now()) + "; virtual time ends after " +
                                               std::to_string(fabric::last_second));
}

void SimEngine::charge(Worker& /*worker*/, double seconds) {
  check_end("charge", seconds);
  const BetweenSlices pause(*this);
  pass(fabric::to_virtual(seconds));
}

// The processor stays held meanwhile: nothing else runs on it.
void SimEngine::pass(fabric::VirtualTime duration) {
  worker_.reserve_stack();
  Worker::Suspended place;
  place.processor = worker_.held();
  fabric_.timeline().at(fabric_.timeline().now() + duration, std::make_unique<ChargeOver>(*this, place),
                        label_of(label_charge, *place.processor));
  worker_.suspend(place);
}

}  // namespace stretto
