#include "stretto/core/thread_engine.h"

#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "stretto/base/affinity.h"
#include "stretto/base/error.h"
#include "stretto/core/event_table.h"
#include "stretto/core/prompt_thread.h"
#include "stretto/core/start_thread.h"

namespace stretto {

namespace {

// The longest that a call may take because its operation makes progress meanwhile.
constexpr double longest_attendance_seconds = 200e-6;
// Who has been heard of is at it, too, and goes on unless the kernel takes its core for a moment.
constexpr double patience_factor_once_heard = 2;
// Another worker is woken for what this one leaves lying only where that takes longer than to wake it.
constexpr double worth_waking_seconds = 30e-6;
// A worker that searches takes from another one's queue what lies there so long while nothing is taken from it, or as
// soon as more than so many lie there. Short tasks are done faster where they became ready: moving one to another core
// costs as much as running it.
constexpr double neglected_seconds = 5e-6;
constexpr std::uint32_t crowded_queue = 32;
// Then its own queue comes first, once: what all workers may take may never end.
constexpr unsigned takes_from_others_in_a_row = 16;

}  // namespace

ThreadEngine::Seat::Seat(ThreadEngine& engine, bool serves)
    : worker(engine, engine.seats_.size(), engine.options_.stack_bytes, true),
      bell(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      service(serves) {
  if (bell < 0) {
    throw Error(ErrorCode::out_of_resources, std::string("no descriptor for a worker's bell: ") + std::strerror(errno));
  }
}

ThreadEngine::Seat::~Seat() { close(bell); }

ThreadEngine::ThreadEngine()
    // determinism: this engine is the one that runs in real time
    : started_(std::chrono::steady_clock::now()), watch_([this] { return now(); }, [this] { wake_service(); }) {}

ThreadEngine::~ThreadEngine() { stop(); }

void ThreadEngine::start(const Options& options, std::span<fabric::Endpoint* const> endpoints) {
  options_ = options;
  endpoints_ = endpoints;
  watch_.start(endpoints, options.idling.spins > 0, options.workers_per_core);
  beds_ = Beds(options.workers);
  for (unsigned i = 0; i < options.workers; ++i) seats_.push_back(std::make_unique<Seat>(*this, false));
  seats_.push_back(std::make_unique<Seat>(*this, true));
  for (const auto& seat : seats_) {
    seat->neglect.resize(seats_.size());
    seat->worker.reserve_stack();
  }
  const std::string remedy = "this process wants " + std::to_string(seats_.size()) + ": use fewer (STRETTO_WORKERS)";
  for (const auto& seat : seats_) {
    seat->thread = start_thread("a worker thread", remedy, [this, &seat = *seat] { work_at(seat); });
  }
}

void ThreadEngine::work_at(Seat& seat) {
  if (options_.first_core) bind(seat);
  if (seat.service) prefer_prompt_wake_ups();
  seat.worker.run();
}

void ThreadEngine::bind(const Seat& seat) const {
  const std::size_t first = *options_.first_core;
  if (seat.service) {
    bind_thread_to_cores(first, options_.workers);
  } else {
    bind_thread_to_cores(first + seat.worker.number(), 1);
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

[[gnu::hot]] void ThreadEngine::note_look() noexcept {
  if (watch_.note_look() && own_worker() != nullptr) watch_.end_watch();
}

[[gnu::hot]] bool ThreadEngine::others_want_worker() const noexcept {
  const Worker* const worker = own_worker();
  if (worker == nullptr || worker->held() == nullptr) return false;
  return others_want(*worker->held(), seat_of(*worker));
}

bool ThreadEngine::others_want(const Processor& held, const Seat& seat) const noexcept {
  return held.has_work() || has_tasks_for(seat);
}

// The calling thread, if it is a worker of this engine; else null.
const Worker* ThreadEngine::own_worker() const noexcept {
  const Worker* const worker = Worker::current();
  return worker != nullptr && &worker->engine() == this ? worker : nullptr;
}

ThreadEngine::Seat& ThreadEngine::seat_of(const Worker& worker) const noexcept { return *seats_[worker.number()]; }

void ThreadEngine::ring(Seat& seat) noexcept {
  const std::uint64_t one = 1;
  // A full counter rings as well.
  [[maybe_unused]] const auto written = write(seat.bell, &one, sizeof one);
}

// Gets one up, whom the caller is to ring, unless somebody is about to look anyway. REQUIRES: mutex_ is held.
ThreadEngine::Seat* ThreadEngine::wake_one_locked(bool service, Beds::Whom whom) noexcept {
  if (service) return service_bed_.wake_one(whom) ? seats_.back().get() : nullptr;
  if (searching_.load(std::memory_order_seq_cst) > 0) return nullptr;
  const std::optional<std::size_t> woken = beds_.wake_one(whom);
  if (!woken) return nullptr;
  coming_.fetch_add(1, std::memory_order_relaxed);
  return seats_[*woken].get();
}

void ThreadEngine::wake_one_for_tasks(Beds::Whom whom) noexcept {
  Seat* woken = nullptr;
  {
    const std::lock_guard lock(mutex_);
    woken = wake_one_locked(false, whom);
  }
  if (woken != nullptr) ring(*woken);
}

// A worker that was woken looks for work, or has found some.
void ThreadEngine::arrive(Seat& seat) noexcept {
  if (std::exchange(seat.was_woken, false)) coming_.fetch_sub(1, std::memory_order_relaxed);
}

// In the calling worker's own queue, which it looks into next.
bool ThreadEngine::make_ready_here(Processor& processor) noexcept {
  const Worker* const worker = own_worker();
  if (worker == nullptr) return false;
  Seat& seat = seat_of(*worker);
  if (seat.service) return false;
  seat.local.push(processor);
  if (searching_.load(std::memory_order_seq_cst) > 0) return true;
  const bool crowded = napping_.load(std::memory_order_relaxed) > 0 && seat.local.size() > crowded_queue;
  const Beds::Whom whom = crowded ? Beds::Whom::all : Beds::Whom::sleepers;
  if (crowded || asleep_.load(std::memory_order_seq_cst) > 0) wake_one_for_tasks(whom);
  return true;
}

void ThreadEngine::make_ready(Processor& processor) noexcept {
  const bool service = processor.kind() == Processor::Kind::service;
  if (!service && make_ready_here(processor)) return;
  Seat* woken = nullptr;
  {
    const std::lock_guard lock(mutex_);
    (service ? service_ : ordinary_).push(processor);
    waiting_for(service).fetch_add(1, std::memory_order_seq_cst);
    woken = wake_one_locked(service);
  }
  if (woken != nullptr) ring(*woken);
}

void ThreadEngine::make_ready_for(Processor& processor, Worker& worker) noexcept {
  Seat& seat = seat_of(worker);
  seat.own.push(processor);
  bool was_at_rest = false;
  {
    const std::lock_guard lock(mutex_);
    was_at_rest = beds_of(seat).get_up(seat.bed());
    if (was_at_rest && !seat.service) coming_.fetch_add(1, std::memory_order_relaxed);
  }
  if (was_at_rest) ring(seat);
}

void ThreadEngine::hand_over(fabric::Context& context) noexcept {
  Seat* woken = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (std::find(overflow_.begin(), overflow_.end(), &context) != overflow_.end()) return;
    overflow_.push_back(&context);
    waiting_for(true).fetch_add(1, std::memory_order_seq_cst);
    woken = wake_one_locked(true);
  }
  if (woken != nullptr) ring(*woken);
}

// REQUIRES: mutex_ is held.
bool ThreadEngine::has_work(const Seat& seat) const noexcept {
  if (seat.own.size() != 0) return true;
  return seat.service ? service_.first != nullptr || !overflow_.empty() : ordinary_.first != nullptr;
}

Processor* ThreadEngine::take(Seat& seat) {
  if (Processor* const processor = seat.own.pop()) return processor;
  if (++seat.taken % takes_from_others_in_a_row == 0) {
    if (Processor* const processor = seat.local.pop()) return processor;
  }
  Processor* const processor = take_shared(seat);
  return processor != nullptr ? processor : seat.local.pop();
}

[[gnu::hot]] Processor* ThreadEngine::take_shared(Seat& seat) {
  std::atomic<std::uint32_t>& waiting = waiting_for(seat.service);
  if (waiting.load(std::memory_order_seq_cst) == 0) return nullptr;
  Seat* woken = nullptr;
  Processor* processor = nullptr;
  {
    const std::lock_guard lock(mutex_);
    processor = (seat.service ? service_ : ordinary_).pop();
    if (processor != nullptr) waiting.fetch_sub(1, std::memory_order_relaxed);
    // Whoever made the others ready may have counted on this worker alone, since it was looking.
    if (!seat.service && ordinary_.first != nullptr) woken = wake_one_locked(false);
  }
  if (woken != nullptr) ring(*woken);
  return processor;
}

[[gnu::hot]] Processor* ThreadEngine::next(Worker& worker) {
  Seat& seat = seat_of(worker);
  bool has_searched = false;
  for (bool has_worked = true;; has_worked = false) {
    Processor* neglected = nullptr;
    // Operators may follow each other without end.
    if (seat.service && waiting_for(true).load(std::memory_order_relaxed) != 0) serve_overflow();
    Processor* found = take(seat);
    if (found == nullptr && stopping_.load()) return nullptr;
    if (found == nullptr) {
      has_searched = search(seat, has_worked, neglected);
      if (!has_searched) sleep(seat);
      found = neglected;
    }
    if (found == nullptr) continue;
    if (has_searched) pass_on(seat);
    arrive(seat);
    fabric::Context::hand_over_rest();
    return found;
  }
}

bool ThreadEngine::others_wait_for(Worker& worker) noexcept {
  const Seat& seat = seat_of(worker);
  if (!seat.service) return has_tasks_for(seat);
  return seat.own.size() != 0 || waiting_for(true).load(std::memory_order_relaxed) != 0;
}

// Looks for work for a moment. The service thread only does what nobody else does, so it does not linger.
[[gnu::hot]] bool ThreadEngine::search(Seat& seat, bool has_worked, Processor*& found) {
  if (seat.service) return serve_overflow();
  searching_.fetch_add(1, std::memory_order_seq_cst);
  const bool has_napped = std::exchange(seat.has_napped, false) && !seat.was_woken;
  arrive(seat);
  const bool naps_on = has_napped && decide_to_nap(seat);
  const bool over = naps_on ? has_reason_to_get_up(seat, found) : look_for_tasks(seat, has_worked, found);
  searching_.fetch_sub(1, std::memory_order_seq_cst);
  if (!over) return false;
  seat.nap.found_work();
  return true;
}

// Whoever made something ready may have counted on this worker alone, since it was looking, and it has taken something
// else.
void ThreadEngine::pass_on(const Seat& seat) noexcept {
  if (seat.service || asleep_.load(std::memory_order_seq_cst) == 0) return;
  if (waiting_for(false).load(std::memory_order_seq_cst) == 0 && !anyone_has_work(seat)) return;
  wake_one_for_tasks(Beds::Whom::sleepers);
}

[[gnu::hot]] bool ThreadEngine::look_for_tasks(Seat& seat, bool has_worked, Processor*& found) {
  Idling::Limits limits = options_.idling;
  if (!watch_.needed()) {  // whatever comes makes a task ready
    limits.spins = 0;
    limits.takes_turns = false;
  }
  seat.nap.begin_looks(taken_by_others(seat), now());
  Idling idling(limits, watch_.requests(), seat.requests_at_turn);
  FabricWatch::Searcher searcher(watch_, seat.watcher(), has_worked);
  auto look = [&] {
    const bool something_came = searcher.poll();
    if (searcher.gives_way_to_who_waits()) idling.leave_it_to_others();
    return something_came;
  };
  const bool over = idle(seat, idling, look, [&] { return has_reason_to_get_up(seat, found); });
  seat.gave_way = searcher.gives_way_to_who_waits();
  if (!over) decide_to_nap(seat);
  return over;
}

// Of those who nap, too: what one does not come to waits no longer because another one hurries.
bool ThreadEngine::has_reason_to_get_up(Seat& seat, Processor*& found) {
  if (is_over_for(seat)) return true;
  found = take_neglected(seat);
  return found != nullptr;
}

// Nothing was found.
bool ThreadEngine::decide_to_nap(Seat& seat) noexcept {
  return seat.nap.after_looks(taken_by_others(seat), now(), neglected_seconds);
}

// Looks, as `look()` does, and yields until `over()`, which is so if this returns true, or until it is time to sleep.
template <class Look, class Over>
bool ThreadEngine::idle(Seat& seat, Idling& idling, const Look& look, const Over& over) noexcept {
  for (auto next = Idling::Next::look; next != Idling::Next::sleep;) {
    if (next == Idling::Next::yield) {
      sched_yield();
      seat.requests_at_turn = watch_.requests();
    }
    const bool something_came = look();
    if (over()) return true;
    // Who has just done a part of what it keeps goes on.
    next = something_came && fabric::Context::keeps()
               ? Idling::Next::look
               : idling.after_look(something_came, watch_.requests(), [this] { return now(); });
  }
  return false;
}

[[gnu::hot]] Processor* ThreadEngine::take_neglected(Seat& seat) {
  for (const auto& other : seats_) {
    // Before its length: what is there then has not been taken yet.
    const std::uint32_t taken = other->local.taken();
    if (other.get() == &seat || other->local.size() == 0) continue;
    Neglect& neglect = seat.neglect[other->worker.number()];
    if (other->local.size() > crowded_queue || other->attends.load(std::memory_order_relaxed) ||
        neglect.look(taken, now(), neglected_seconds)) {
      return other->local.pop();
    }
  }
  return nullptr;
}

bool ThreadEngine::anyone_has_work(const Seat& seat) const noexcept {
  return !seat.service &&
         std::any_of(seats_.begin(), seats_.end(), [](const auto& any) { return any->local.size() != 0; });
}

// From their own queues, in all.
std::uint32_t ThreadEngine::taken_by_others(const Seat& seat) const noexcept {
  std::uint32_t taken = 0;
  for (const auto& other : seats_) taken += other.get() == &seat ? 0 : other->local.taken();
  return taken;
}

// Saves the way through the suspended task, the processor's queue and the engine's lists, some 0.1 us, where the answer
// of a peer is what comes next. Others may be asleep meanwhile and are woken as ever: this worker does not count as
// searching.
[[gnu::hot]] bool ThreadEngine::linger(const Processor& held, const EventTable& table, Event event) noexcept {
  if (!watch_.needed()) return table.query(event) == EventState::triggered;
  Seat& seat = seat_of(*Worker::current());
  auto is_over = [&] {
    return table.query(event) != EventState::untriggered || others_want(held, seat) || stopping_.load();
  };
  for (unsigned i = 0; i < options_.idling.spins && !is_over();) i += watch_.poll_until(is_over);
  if (options_.idling.takes_turns && !is_over()) {
    Idling idling(options_.idling, watch_.requests(), seat.requests_at_turn);
    idle(seat, idling, [this] { return watch_.poll(); }, is_over);
  }
  fabric::Context::hand_over_rest();
  return table.query(event) == EventState::triggered;
}

bool ThreadEngine::somebody_takes_tasks() const noexcept {
  return searching_.load(std::memory_order_relaxed) + coming_.load(std::memory_order_relaxed) > 0;
}

void ThreadEngine::attend(fabric::Context& context, const EventTable& table, Event event, Until until,
                          double patience) noexcept {
  const Worker* const worker = own_worker();
  const bool is_worker = worker != nullptr && !seat_of(*worker).service;
  if (is_worker && !options_.idling.takes_turns) {
    await_late_peers(seat_of(*worker), context, table, event, until, patience);
  }
  if (is_worker && options_.idling.takes_turns) do_what_is_kept(context);
  fabric::Context::hand_over_rest();
}

// Where ranks compute between collectives, whatever they do not do for each other at the call waits for the service
// thread. Only on a core of its own, and where no task waits for this worker alone: otherwise it would keep from the
// core whom it waits for. What others may take they take at once, and where it must not spin, the kernel its core.
void ThreadEngine::await_late_peers(Seat& seat, fabric::Context& context, const EventTable& table, Event event,
                                    Until until, double patience) noexcept {
  seat.attends.store(true, std::memory_order_relaxed);
  const double began = now();
  leave_tasks(seat, patience);
  double happened = began;
  double time = began;
  const auto is_pending = [&] { return table.query(event) == EventState::untriggered; };
  const auto awaits_peers = [&] { return is_pending() && (until == Until::triggered || context.expects_request()); };
  while (time - happened < patience && time - began < longest_attendance_seconds &&
         (!has_tasks_for(seat) || somebody_takes_tasks()) && awaits_peers()) {
    const bool progress = watch_.needed() ? watch_.poll() : context.serve(fabric::Context::Rest::kept);
    if (!progress && options_.idling.spins == 0) sched_yield();
    time = now();
    if (!progress) continue;
    if (happened == began) patience *= patience_factor_once_heard;
    happened = time;
  }
  seat.attends.store(false, std::memory_order_relaxed);
  if (is_pending()) watch_.note_departure();
}

// Has somebody come for what lies with a worker that does something else for so long. Returns whether there is
// anything, and somebody comes.
bool ThreadEngine::leave_tasks(const Seat& seat, double seconds) noexcept {
  if (!has_tasks_for(seat) || seconds <= worth_waking_seconds) return false;
  if (!somebody_takes_tasks()) wake_one_for_tasks(Beds::Whom::all);
  return somebody_takes_tasks();
}

bool ThreadEngine::begin_long_call(double seconds) noexcept {
  const Worker* const worker = own_worker();
  if (worker == nullptr || options_.idling.takes_turns || seconds <= worth_waking_seconds) return false;
  Seat& seat = seat_of(*worker);
  if (seat.service) return false;
  seat.attends.store(true, std::memory_order_relaxed);
  return leave_tasks(seat, seconds);
}

void ThreadEngine::end_long_call() noexcept {
  if (const Worker* const worker = own_worker()) seat_of(*worker).attends.store(false, std::memory_order_relaxed);
}

// The service thread would do it on the same core, after two switches.
void ThreadEngine::do_what_is_kept(fabric::Context& context) noexcept {
  const double began = now();
  while (fabric::Context::keeps() && now() - began < longest_attendance_seconds) {
    context.serve(fabric::Context::Rest::kept);
  }
}

bool ThreadEngine::is_over_for(const Seat& seat) const noexcept { return has_tasks_for(seat) || stopping_.load(); }

// A hint.
bool ThreadEngine::has_tasks_for(const Seat& seat) const noexcept {
  return waiting_for_workers_.load(std::memory_order_relaxed) != 0 || seat.local.size() != 0 || seat.own.size() != 0;
}

bool ThreadEngine::serve_overflow() {
  std::vector<fabric::Context*> contexts;
  {
    const std::lock_guard lock(mutex_);
    contexts.swap(overflow_);
    waiting_for(true).fetch_sub(static_cast<std::uint32_t>(contexts.size()), std::memory_order_relaxed);
  }
  for (fabric::Context* const context : contexts) context->serve();
  return !contexts.empty();
}

// Returns whether there was anything, which may have made tasks ready.
bool ThreadEngine::do_what_was_put_off() noexcept {
  bool any = false;
  for (fabric::Endpoint* const endpoint : endpoints_) any |= endpoint->context().run_put_off();
  return any;
}

void ThreadEngine::sleep(Seat& seat) {
  const bool naps = seat.nap.seconds().has_value();
  if (!naps && do_what_was_put_off()) return;
  fabric::Context::hand_over_rest();  // of a baton that others had whenever this worker polled
  const int watcher = seat.watcher();
  std::atomic<int>& sleepers = naps ? napping_ : asleep_;
  // Who waits for something would take the watch from it at once.
  const bool armed = seat.service ? watch_.arm_service([this] { return serve_overflow(); }, stopping_)
                                  : !seat.gave_way && watch_.arm(watcher);
  {
    const std::lock_guard lock(mutex_);
    if (has_work(seat) || stopping_.load()) {
      if (armed) watch_.disarm(watcher);
      return;
    }
    beds_of(seat).lie_down(seat.bed(), naps ? Beds::Rest::nap : Beds::Rest::sleep);
    if (!seat.service) sleepers.fetch_add(1, std::memory_order_seq_cst);
  }
  // Who naps leaves what others have to them.
  const bool may_sleep = naps ? seat.local.size() == 0 : !anyone_has_work(seat);
  const bool woken = may_sleep && doze(seat, armed);
  {
    const std::lock_guard lock(mutex_);
    const bool still_asleep = beds_of(seat).get_up(seat.bed());
    if (!seat.service) {
      seat.was_woken = !still_asleep;
      seat.has_napped = naps;
      sleepers.fetch_sub(1, std::memory_order_relaxed);
    }
  }
  if (!armed) return;
  const bool had_watch = watch_.disarm(watcher);
  if (seat.service) {
    watch_.poll_for_service();
  } else if (woken && had_watch) {
    FabricWatch::Searcher(watch_, watcher, false).poll();
  }
}

// Returns whether something woke it.
bool ThreadEngine::doze(Seat& seat, bool armed) {
  std::vector<pollfd> descriptors{{seat.bell, POLLIN, 0}};
  if (armed) watch_.add_descriptors(descriptors);
  const std::optional<timespec> end = alarm(seat, armed);
  const bool woken = ppoll(descriptors.data(), descriptors.size(), end ? &*end : nullptr, nullptr) > 0;
  if (seat.service) watch_.service_woke_up(woken);
  if ((descriptors[0].revents & POLLIN) != 0) {
    std::uint64_t rings = 0;
    [[maybe_unused]] const auto got = read(seat.bell, &rings, sizeof rings);
  }
  return woken;
}

// How long it sleeps at most.
std::optional<timespec> ThreadEngine::alarm(const Seat& seat, bool armed) {
  if (seat.service) return watch_.tick_of_service(armed, asleep_.load(std::memory_order_relaxed) > 0);
  const std::optional<double> nap = seat.nap.seconds();
  return nap ? std::optional(timespec{0, static_cast<long>(1e9 * *nap)}) : std::nullopt;
}

// Unless that is who calls.
void ThreadEngine::wake_service() noexcept {
  Seat& service = *seats_.back();
  if (Worker::current() != &service.worker) ring(service);
}

}  // namespace stretto
