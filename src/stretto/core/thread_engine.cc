#include "stretto/core/thread_engine.h"

#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "stretto/base/error.h"
#include "stretto/core/event_table.h"
#include "stretto/core/prompt_thread.h"

namespace stretto {

namespace {

// While workers are busy, the service thread looks this often whether somebody polls the fabric. More often while it
// now and then finds something large that nobody attends to, if the process has cores to itself; and, where something
// large is under way, once more soon after. Ringing it at every hand-over instead would cost 14 to 19 us each time
// (CONTRACTS 5).
constexpr long tick_nanoseconds_among_large = 200'000;
constexpr long tick_nanoseconds_of_second_look = 30'000;
constexpr long tick_nanoseconds = 1'000'000;
// Each tick displaces a worker that polls, for 5 to 40 us: after this many that found nothing unattended they are rare.
constexpr int calm_ticks_before_rare_ones = 50;
// How long the service thread looks for the next message of something large before it sleeps until one comes. The
// kernel may let a thread that wakes up often wait for a tick of its own (4 ms) where another one computes on its core.
constexpr double engaged_seconds = 300e-6;
// The longest that a call may take because its operation makes progress meanwhile.
constexpr double longest_attendance_seconds = 100e-6;
// See must_rest.
constexpr double short_burst_seconds = 15e-6;
constexpr double rest_factor = 1.25;
// A worker that searches takes from another one's queue what lies there so long while nothing is taken from it, or as
// soon as more than so many lie there. Short tasks are done faster where they became ready: moving one to another core
// costs as much as running it.
constexpr double neglected_seconds = 5e-6;
constexpr std::uint32_t crowded_queue = 32;
// After this many ticks in which somebody watched the fabric and nothing happened, the service thread sleeps without
// ticks.
constexpr int quiet_ticks_before_deep_sleep = 20;

}  // namespace

ThreadEngine::Seat::Seat(ThreadEngine& engine, bool serves)
    : worker(engine, engine.options_.stack_bytes, true),
      number(static_cast<int>(engine.seats_.size())),
      service(serves),
      bell(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (bell < 0) {
    throw Error(ErrorCode::out_of_resources, std::string("no descriptor for a worker's bell: ") + std::strerror(errno));
  }
}

ThreadEngine::Seat::~Seat() { close(bell); }

// determinism: this engine is the one that runs in real time
ThreadEngine::ThreadEngine() : started_(std::chrono::steady_clock::now()) {}

ThreadEngine::~ThreadEngine() { stop(); }

void ThreadEngine::start(const Options& options, std::span<fabric::Endpoint* const> endpoints) {
  options_ = options;
  for (fabric::Endpoint* const endpoint : endpoints) {
    if (endpoint->descriptor() >= 0) polled_.push_back(endpoint);
  }
  for (unsigned i = 0; i < options.workers; ++i) seats_.push_back(std::make_unique<Seat>(*this, false));
  seats_.push_back(std::make_unique<Seat>(*this, true));
  for (const auto& seat : seats_) {
    seat->thread = std::thread([&seat = *seat] {
      if (seat.service) prefer_prompt_wake_ups();
      seat.worker.run();
    });
  }
}

void ThreadEngine::stop() {
  stopping_.store(true);
  for (const auto& seat : seats_) ring(*seat);
  for (const auto& seat : seats_) {
    if (seat->thread.joinable()) seat->thread.join();
  }
}

double ThreadEngine::now() const noexcept {
  // determinism: this engine is the one that runs in real time
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
}

ThreadEngine::Seat& ThreadEngine::seat_of(const Worker& worker) noexcept {
  return **std::find_if(seats_.begin(), seats_.end(), [&worker](const auto& seat) { return &seat->worker == &worker; });
}

void ThreadEngine::ring(Seat& seat) noexcept {
  const std::uint64_t one = 1;
  // A full counter rings as well.
  [[maybe_unused]] const auto written = write(seat.bell, &one, sizeof one);
}

// Chooses a sleeper to wake, unless somebody is about to look anyway. REQUIRES: mutex_ is held.
void ThreadEngine::wake_one_locked(bool service, Seat*& woken) noexcept {
  if (!service && searching_.load(std::memory_order_seq_cst) > 0) return;
  for (const auto& seat : seats_) {
    if (seat->service != service || !seat->asleep) continue;
    seat->asleep = false;
    woken = seat.get();
    return;
  }
}

// In the calling worker's own queue, which it looks into next.
bool ThreadEngine::make_ready_here(Processor& processor) noexcept {
  const Worker* const worker = Worker::current();
  if (worker == nullptr || &worker->engine() != this) return false;
  Seat& seat = seat_of(*worker);
  if (seat.service) return false;
  seat.local.push(processor);
  if (searching_.load(std::memory_order_seq_cst) > 0 || asleep_.load(std::memory_order_seq_cst) == 0) return true;
  Seat* woken = nullptr;
  {
    const std::lock_guard lock(mutex_);
    wake_one_locked(false, woken);
  }
  if (woken != nullptr) ring(*woken);
  return true;
}

void ThreadEngine::make_ready(Processor& processor) noexcept {
  const bool service = processor.kind() == Processor::Kind::service;
  if (!service && make_ready_here(processor)) return;
  Seat* woken = nullptr;
  {
    const std::lock_guard lock(mutex_);
    (service ? service_ : ordinary_).push(processor);
    waiting_work_.fetch_add(1, std::memory_order_seq_cst);
    wake_one_locked(service, woken);
  }
  if (woken != nullptr) ring(*woken);
}

void ThreadEngine::make_ready_for(Processor& processor, Worker& worker) noexcept {
  Seat& seat = seat_of(worker);
  bool was_asleep = false;
  {
    const std::lock_guard lock(mutex_);
    seat.own.push(processor);
    waiting_work_.fetch_add(1, std::memory_order_seq_cst);
    was_asleep = std::exchange(seat.asleep, false);
  }
  if (was_asleep) ring(seat);
}

void ThreadEngine::hand_over(fabric::Context& context) noexcept {
  Seat* woken = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (std::find(overflow_.begin(), overflow_.end(), &context) != overflow_.end()) return;
    overflow_.push_back(&context);
    waiting_work_.fetch_add(1, std::memory_order_seq_cst);
    wake_one_locked(true, woken);
  }
  if (woken != nullptr) ring(*woken);
}

// REQUIRES: mutex_ is held.
bool ThreadEngine::has_work(const Seat& seat) const noexcept {
  if (seat.own.first != nullptr) return true;
  return seat.service ? service_.first != nullptr || !overflow_.empty() : ordinary_.first != nullptr;
}

Processor* ThreadEngine::take(Seat& seat) {
  Processor* const processor = take_shared(seat);
  return processor != nullptr ? processor : seat.local.pop();
}

Processor* ThreadEngine::take_shared(Seat& seat) {
  if (waiting_work_.load(std::memory_order_seq_cst) == 0) return nullptr;
  Seat* woken = nullptr;
  Processor* processor = nullptr;
  {
    const std::lock_guard lock(mutex_);
    processor = seat.own.pop();
    if (processor == nullptr) processor = (seat.service ? service_ : ordinary_).pop();
    if (processor != nullptr) waiting_work_.fetch_sub(1, std::memory_order_relaxed);
    // Whoever made the others ready may have counted on this worker alone, since it was looking.
    if (!seat.service && ordinary_.first != nullptr) wake_one_locked(false, woken);
  }
  if (woken != nullptr) ring(*woken);
  return processor;
}

Processor* ThreadEngine::next(Worker& worker) {
  Seat& seat = seat_of(worker);
  for (;;) {
    if (Processor* const processor = take(seat)) {
      leave_fabric();
      return processor;
    }
    if (stopping_.load()) return nullptr;
    Processor* found = nullptr;
    if (!search(seat, found)) sleep(seat);
    if (found != nullptr) {
      leave_fabric();
      return found;
    }
  }
}

// Looks for work for a moment. The service thread only does what nobody else does, so it does not linger.
bool ThreadEngine::search(Seat& seat, Processor*& found) {
  if (seat.service) return serve_overflow();
  searching_.fetch_add(1, std::memory_order_seq_cst);
  seat.neglect.assign(seats_.size(), {});
  bool over = false;
  const unsigned spins = polled_.empty() ? 0 : options_.spins;
  double yields_began = 0;
  for (unsigned i = 0; i < spins + options_.yields && !over; ++i) {
    over = poll_fabric(seat) || waiting_work_.load(std::memory_order_relaxed) != 0 || seat.local.size() != 0 ||
           stopping_.load();
    if (!over) found = take_neglected(seat);
    over |= found != nullptr;
    if (over || i < spins) continue;
    if (i == spins) yields_began = now();
    if (now() - yields_began > options_.yield_seconds) break;
    sched_yield();
  }
  searching_.fetch_sub(1, std::memory_order_seq_cst);
  return over;
}

Processor* ThreadEngine::take_neglected(Seat& seat) {
  for (const auto& other : seats_) {
    if (other.get() == &seat || other->local.size() == 0) continue;
    if (other->local.size() > crowded_queue) return other->local.pop();
    Neglect& seen = seat.neglect[static_cast<std::size_t>(other->number)];
    const std::uint32_t taken = other->local.taken();
    if (!seen.noticed || seen.taken != taken) {
      seen = {true, taken, now()};
    } else if (now() - seen.since > neglected_seconds) {
      return other->local.pop();
    }
  }
  return nullptr;
}

bool ThreadEngine::others_have_work(const Seat& seat) const noexcept {
  return !seat.service &&
         std::any_of(seats_.begin(), seats_.end(), [](const auto& other) { return other->local.size() != 0; });
}

// Saves the way through the suspended task, the processor's queue and the engine's lists, some 0.1 us, where the answer
// of a peer is what comes next. Others may be asleep meanwhile and are woken as ever: this worker does not count as
// searching.
bool ThreadEngine::linger(const Processor& held, const EventTable& table, Event event) noexcept {
  EventState state = table.query(event);
  if (polled_.empty()) return state == EventState::triggered;
  const Seat& seat = seat_of(*Worker::current());
  const auto is_idle = [&] {
    return !held.has_work() && waiting_work_.load(std::memory_order_relaxed) == 0 && seat.local.size() == 0 &&
           !stopping_.load();
  };
  for (unsigned i = 0; i < options_.spins && state == EventState::untriggered && is_idle(); ++i) {
    poll_fabric(seat);
    state = table.query(event);
  }
  leave_fabric();
  return state == EventState::triggered;
}

// Where ranks compute between collectives, whatever they do not do for each other at the call waits for the service
// thread's tick. Only on a core of its own: elsewhere it would keep from the core whom it waits for.
void ThreadEngine::attend(fabric::Context& context, const EventTable& table, Event event, double patience) noexcept {
  const Worker* const worker = Worker::current();
  if (worker != nullptr && &worker->engine() == this && options_.spins > 0 && !polled_.empty()) {
    const Seat& seat = seat_of(*worker);
    const double began = now();
    double happened = began;
    double time = began;
    while (!seat.service && time - happened < patience && time - began < longest_attendance_seconds &&
           table.query(event) == EventState::untriggered) {
      const bool progress = poll_fabric(seat);
      time = now();
      if (progress) happened = time;
    }
  }
  context.hand_over_rest();
}

bool ThreadEngine::poll_fabric(const Seat& seat) {
  if (polled_.empty()) return false;
  if (!seat.service) {
    // A lost count does no harm: what counts is that it changes.
    polls_.store(polls_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    // Nobody needs to ring while this worker looks.
    if (watcher_.load(std::memory_order_relaxed) == service_number()) disarm_fabric(*seats_.back());
  }
  // Who has nothing else to do comes again; the service thread takes turns.
  const auto rest = seat.service ? fabric::Context::Rest::handed_over : fabric::Context::Rest::kept;
  bool progress = false;
  for (fabric::Endpoint* const endpoint : polled_) progress |= endpoint->context().serve(rest);
  return progress;
}

// A worker turns to something else than the fabric.
void ThreadEngine::leave_fabric() noexcept {
  for (fabric::Endpoint* const endpoint : polled_) endpoint->context().hand_over_rest();
}

bool ThreadEngine::serve_overflow() {
  std::vector<fabric::Context*> contexts;
  {
    const std::lock_guard lock(mutex_);
    contexts.swap(overflow_);
    waiting_work_.fetch_sub(static_cast<std::uint32_t>(contexts.size()), std::memory_order_relaxed);
  }
  for (fabric::Context* const context : contexts) context->serve();
  return !contexts.empty();
}

void ThreadEngine::sleep(Seat& seat) {
  const bool armed = arm_fabric(seat);
  {
    const std::lock_guard lock(mutex_);
    if (has_work(seat) || stopping_.load()) {
      if (armed) disarm_fabric(seat);
      return;
    }
    seat.asleep = true;
    if (!seat.service) asleep_.fetch_add(1, std::memory_order_seq_cst);
  }
  const int rung = others_have_work(seat) ? 0 : doze(seat, armed);
  {
    const std::lock_guard lock(mutex_);
    seat.asleep = false;
    if (!seat.service) asleep_.fetch_sub(1, std::memory_order_relaxed);
  }
  if (!armed) return;
  disarm_fabric(seat);
  if (rung > 0 || seat.service) poll_fabric(seat);
}

bool ThreadEngine::engaged() const noexcept {
  return std::any_of(polled_.begin(), polled_.end(),
                     [](fabric::Endpoint* endpoint) { return endpoint->context().engaged(); });
}

bool ThreadEngine::somebody_serves() const noexcept {
  return std::any_of(polled_.begin(), polled_.end(),
                     [](fabric::Endpoint* endpoint) { return endpoint->context().held(); });
}

// Polls as long as something large moves and nobody else does. For the service thread; it must not wait for a worker
// that it may have displaced.
void ThreadEngine::stay_engaged(const Seat& service) {
  double last_progress = now();
  while (engaged() && !somebody_serves() && polls_.load(std::memory_order_relaxed) == polls_seen_ &&
         !stopping_.load()) {
    if (serve_overflow() || poll_fabric(service)) last_progress = now();
    if (now() - last_progress > engaged_seconds) return;
  }
}

// Linux (6.6 and later) runs a thread at once when it wakes up, if it has used less than its share of the core; if not,
// where another thread computes, at one of its own ticks (4 ms). So the service thread sleeps as long as it was awake,
// unheard, before it wants to be woken again. Zero: it was awake for a moment only.
double ThreadEngine::must_rest() const noexcept {
  const double awake = now() - service_woke_up_;
  return awake > short_burst_seconds ? rest_factor * awake : 0;
}

// Takes the watch over the fabric if nobody has it and (for the service thread) nobody has polled for a tick.
bool ThreadEngine::arm_fabric(Seat& seat) {
  if (polled_.empty()) return false;
  if (seat.service) {
    const std::uint64_t polls = polls_.load(std::memory_order_relaxed);
    const bool attended = std::exchange(polls_seen_, polls) != polls;
    found_unattended_ = !attended && engaged();
    if (attended) return false;
    stay_engaged(seat);
    if (must_rest() > 0) return false;
  }
  int nobody = watched_by_nobody;
  if (!watcher_.compare_exchange_strong(nobody, seat.number)) return false;
  for (fabric::Endpoint* const endpoint : polled_) {
    while (!endpoint->arm()) {
      if (endpoint->context().serve() || !seat.service) continue;
      // A worker is at it, which may be waiting for this very core: to yield to it would cost a tick of the kernel.
      disarm_fabric(seat);
      return false;
    }
  }
  return true;
}

// Ends the watch of `seat`, if it still has it. Also called by workers that poll, for the service thread.
void ThreadEngine::disarm_fabric(const Seat& seat) {
  int expected = seat.number;
  if (!watcher_.compare_exchange_strong(expected, watch_changes)) return;
  for (fabric::Endpoint* const endpoint : polled_) endpoint->disarm();
  watcher_.store(watched_by_nobody);
  Seat& service = *seats_.back();
  if (service_in_deep_sleep_.exchange(false) && Worker::current() != &service.worker) ring(service);
}

// When a sleeper wakes up by itself; null: never. Only the service thread does, unless it or a worker has watched the
// fabric for a while in which nothing happened: whoever ends the watch then wakes it.
const timespec* ThreadEngine::tick_of(const Seat& seat, bool armed) const noexcept {
  static constexpr timespec second_look{0, tick_nanoseconds_of_second_look};
  static constexpr timespec frequent{0, tick_nanoseconds_among_large};
  static constexpr timespec rare{0, tick_nanoseconds};
  if (!seat.service || polled_.empty()) return nullptr;
  if (quiet_ticks_ >= quiet_ticks_before_deep_sleep) return nullptr;
  if (armed || options_.spins == 0 || calm_ticks_ == calm_ticks_before_rare_ones) return &rare;
  return looks_again_ ? &second_look : &frequent;
}

int ThreadEngine::doze(Seat& seat, bool armed) {
  if (seat.service && !polled_.empty()) {
    looks_again_ = engaged() && !looks_again_;
    calm_ticks_ = found_unattended_ ? 0 : std::min(calm_ticks_, calm_ticks_before_rare_ones - 1) + 1;
    quiet_ticks_ = watcher_.load() != watched_by_nobody ? quiet_ticks_ + 1 : 0;
    if (tick_of(seat, armed) == nullptr) {
      service_in_deep_sleep_.store(true);
      // The watch may have ended before this could be seen.
      if (watcher_.load() == watched_by_nobody) return 0;
    }
  }
  std::vector<pollfd> descriptors{{seat.bell, POLLIN, 0}};
  if (armed) {
    for (const fabric::Endpoint* const endpoint : polled_) descriptors.push_back({endpoint->descriptor(), POLLIN, 0});
  }
  const timespec* tick = tick_of(seat, armed);
  timespec rest{0, 0};
  if (tick != nullptr && !armed) {
    rest.tv_nsec = std::clamp(static_cast<long>(1e9 * must_rest()), tick->tv_nsec, 2 * tick_nanoseconds);
    tick = &rest;
  }
  const int ready = ppoll(descriptors.data(), descriptors.size(), tick, nullptr);
  if (seat.service) service_woke_up_ = now();
  if (seat.service && ready > 0) quiet_ticks_ = 0;
  if ((descriptors[0].revents & POLLIN) != 0) {
    std::uint64_t rings = 0;
    [[maybe_unused]] const auto got = read(seat.bell, &rings, sizeof rings);
  }
  return ready;
}

}  // namespace stretto
