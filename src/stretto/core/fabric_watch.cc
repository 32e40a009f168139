#include "stretto/core/fabric_watch.h"

#include <algorithm>
#include <utility>

namespace stretto {

namespace {

// While workers are busy, the service thread looks this often whether somebody polls the fabric. More often while it
// now and then finds something large that nobody attends to, if the process has cores to itself; and, where something
// large is under way, once more soon after. Ringing it at every hand-over instead would cost 14 to 19 us each time
// (decision 3).
constexpr long nanoseconds_among_large = 200'000;
constexpr long nanoseconds_to_second_look = 30'000;
constexpr long nanoseconds_of_rare_ticks = 1'000'000;
// Where workers sleep, on cores that nobody else wants, while another one computes: what comes for them should not wait
// for that one.
constexpr long nanoseconds_beside_sleepers = 200'000;
// Ticks get rarer until so many workers share a core.
constexpr unsigned most_crowded = 100;
// Each tick displaces a worker that polls, for 5 to 40 us: after this many that found nothing unattended they are rare.
constexpr int calm_ticks_before_rare_ones = 50;
// Where each of so many ticks has found that a worker had polled since, they are half as many, and so once more; as
// soon as one has not, as many as before.
constexpr int attended_ticks_before_rarer_ones = 8;
constexpr int most_attended_ticks = 2 * attended_ticks_before_rarer_ones;
// How long the service thread sleeps at most while large data flow: longer from one time to the next while they do.
constexpr long least_flow_nanoseconds = 125'000;
constexpr long most_flow_nanoseconds = 4'000'000;
// How long the service thread looks for the next message of something large before it sleeps until one comes. The
// kernel may let a thread that wakes up often wait for a tick of its own (4 ms) where another one computes on its core.
constexpr double engaged_seconds = 300e-6;
// See must_rest.
constexpr double short_burst_seconds = 15e-6;
constexpr double rest_factor = 1.25;
// After this many ticks in which somebody watched the fabric and nothing happened, the service thread sleeps without
// ticks.
constexpr int quiet_ticks_before_deep_sleep = 2;
// Who searches leaves the fabric for so many looks, some microseconds, to somebody who has polled or looked.
constexpr unsigned looks_after_those_of_others = 64;

}  // namespace

FabricWatch::FabricWatch(std::function<double()> now, std::function<void()> wake_service)
    : now_(std::move(now)), wake_service_(std::move(wake_service)) {}

void FabricWatch::start(std::span<fabric::Endpoint* const> endpoints, bool has_cores, unsigned workers_per_core) {
  has_cores_ = has_cores;
  shares_cores_ = workers_per_core > 1;
  rare_tick_nanoseconds_ = nanoseconds_of_rare_ticks * static_cast<long>(std::min(workers_per_core, most_crowded));
  for (fabric::Endpoint* const endpoint : endpoints) {
    if (endpoint->descriptor() >= 0) endpoints_.push_back(endpoint);
  }
}

bool FabricWatch::serve(fabric::Context::Rest rest) {
  bool progress = false;
  for (fabric::Endpoint* const endpoint : endpoints_) progress |= endpoint->context().serve(rest);
  return progress;
}

[[gnu::hot]] bool FabricWatch::poll() {
  if (endpoints_.empty()) return false;
  note_poll();
  return serve(fabric::Context::Rest::kept);
}

void FabricWatch::note_poll() {
  count(polls_);
  end_watch();
}

[[gnu::hot]] void FabricWatch::end_watch() {
  if (const int watcher = watcher_.load(std::memory_order_relaxed); watcher >= 0) disarm(watcher);
}

std::uint64_t FabricWatch::polls() const noexcept {
  return polls_.load(std::memory_order_relaxed) + polls_of_searchers_.load(std::memory_order_relaxed);
}

// Polls and looks of those who wait.
std::uint64_t FabricWatch::waits() const noexcept {
  return polls_.load(std::memory_order_relaxed) + looks_.load(std::memory_order_relaxed);
}

FabricWatch::Searcher::Searcher(FabricWatch& watch, int worker, bool has_worked) noexcept
    : watch_(watch), worker_(worker), waits_seen_(watch.waits()) {
  if (has_worked && watch.needed()) watch_.searcher_.store(worker_, std::memory_order_relaxed);
}

FabricWatch::Searcher::~Searcher() {
  int expected = worker_;
  watch_.searcher_.compare_exchange_strong(expected, nobody, std::memory_order_relaxed);
}

bool FabricWatch::Searcher::is_the_one() noexcept {
  int searcher = watch_.searcher_.load(std::memory_order_relaxed);
  if (searcher == nobody) watch_.searcher_.compare_exchange_strong(searcher, worker_, std::memory_order_relaxed);
  return searcher == worker_ || searcher == nobody;
}

[[gnu::hot]] bool FabricWatch::Searcher::poll() {
  if (!watch_.needed()) return false;
  const std::uint64_t waits = watch_.waits();
  if (std::exchange(waits_seen_, waits) != waits) {
    looks_to_give_way_ = looks_after_those_of_others;
  } else if (looks_to_give_way_ > 0) {
    --looks_to_give_way_;
  }
  if (looks_to_give_way_ > 0 || !is_the_one()) return false;
  count(watch_.polls_of_searchers_);
  watch_.end_watch();
  return watch_.serve(fabric::Context::Rest::kept);
}

bool FabricWatch::poll_for_service() { return serve(fabric::Context::Rest::handed_over); }

bool FabricWatch::engaged() const noexcept {
  return std::any_of(endpoints_.begin(), endpoints_.end(),
                     [](fabric::Endpoint* endpoint) { return endpoint->context().engaged(); });
}

bool FabricWatch::somebody_serves() const noexcept {
  return std::any_of(endpoints_.begin(), endpoints_.end(),
                     [](fabric::Endpoint* endpoint) { return endpoint->context().held(); });
}

[[gnu::hot]] std::uint64_t FabricWatch::requests() const noexcept {
  std::uint64_t requests = 0;
  for (const fabric::Endpoint* const endpoint : endpoints_) requests += endpoint->requests();
  return requests;
}

bool FabricWatch::arm(int watcher) { return take(watcher) && arm_endpoints(watcher, fabric::Alarm::none); }

bool FabricWatch::take(int watcher) {
  int free = nobody;
  return !endpoints_.empty() && watcher_.compare_exchange_strong(free, watcher);
}

// REQUIRES: the watcher has just taken the watch.
bool FabricWatch::arm_endpoints(int watcher, fabric::Alarm alarm) {
  for (fabric::Endpoint* const endpoint : endpoints_) {
    // The service thread is at it for a moment only, a worker may be for long, or be waiting for this very core: to
    // yield to it would cost a tick of the kernel.
    unsigned patience = watcher == service ? 1 : turns_of_a_moment;
    while (!endpoint->arm(alarm)) {
      if (endpoint->context().serve() || --patience > 0) continue;
      // The watch may be another one's by now, which was just disarmed here: nobody has it then.
      end_watch();
      return false;
    }
  }
  return true;
}

bool FabricWatch::arm_service(const std::function<bool()>& do_others, const std::atomic<bool>& stopping) {
  if (endpoints_.empty()) return false;
  const bool flowed = std::exchange(flows_, false) && !std::exchange(woken_by_something_, false);
  const std::uint64_t polls_before = std::exchange(polls_seen_, polls());
  const std::uint64_t looks_before = std::exchange(looks_seen_, looks_.load(std::memory_order_relaxed));
  const bool polled = polls_seen_ != polls_before && polls_seen_ != departed_.load(std::memory_order_relaxed);
  // Who has the baton may be at it for many pieces without polling, and was displaced by this very look.
  const bool attended = polled || looks_seen_ != looks_before || somebody_serves();
  found_unattended_ = !attended && engaged();
  attended_ticks_ = attended ? std::min(attended_ticks_ + 1, most_attended_ticks) : 0;
  // Before it arms: what it finds only then may be the beginning of what could flow.
  if (!polled) poll_for_service();
  if (attended) return false;
  stay_engaged(do_others, stopping);
  if (!take(service)) return false;
  let_flow(flowed);
  if (flows_) return arm_endpoints(service, fabric::Alarm::soon);
  if (must_rest() == 0) return arm_endpoints(service, fabric::Alarm::none);
  give_back();
  return false;
}

// Only who has the watch may, since it wakes up by itself. Where they go on for longer than it has slept, it may sleep
// for longer; where they are over, that was too long.
void FabricWatch::let_flow(bool flowed) {
  for (fabric::Endpoint* const endpoint : endpoints_) flows_ |= endpoint->let_flow();
  if (!flowed) return;
  const long next = flows_ ? 2 * flow_nanoseconds_ : flow_nanoseconds_ / 2;
  flow_nanoseconds_ = std::clamp(next, least_flow_nanoseconds, most_flow_nanoseconds);
}

// What the service thread has taken, and has not armed.
void FabricWatch::give_back() {
  int taken = service;
  watcher_.compare_exchange_strong(taken, nobody);
}

// It must not wait for a worker that it may have displaced.
void FabricWatch::stay_engaged(const std::function<bool()>& do_others, const std::atomic<bool>& stopping) {
  double last_progress = now_();
  const auto is_unattended = [this] {
    return !somebody_serves() && polls() == polls_seen_ && looks_.load(std::memory_order_relaxed) == looks_seen_;
  };
  while (engaged() && is_unattended() && !stopping.load()) {
    if (do_others() || poll_for_service()) last_progress = now_();
    if (now_() - last_progress > engaged_seconds) return;
  }
}

// Linux (6.6 and later) runs a thread at once when it wakes up, if it has used less than its share of the core; if not,
// where another thread computes, at one of its own ticks (4 ms). So the service thread sleeps as long as it was awake,
// unheard, before it wants to be woken again. Zero: it was awake for a moment only.
double FabricWatch::must_rest() const {
  const double awake = now_() - woke_up_;
  return awake > short_burst_seconds ? rest_factor * awake : 0;
}

bool FabricWatch::disarm(int watcher) {
  int expected = watcher;
  if (!watcher_.compare_exchange_strong(expected, changes)) return false;
  for (fabric::Endpoint* const endpoint : endpoints_) endpoint->disarm();
  watcher_.store(nobody);
  if (service_in_deep_sleep_.exchange(false)) wake_service_();
  return true;
}

void FabricWatch::add_descriptors(std::vector<pollfd>& list) const {
  for (const fabric::Endpoint* const endpoint : endpoints_) list.push_back({endpoint->descriptor(), POLLIN, 0});
}

long FabricWatch::tick_nanoseconds(bool armed, bool workers_sleep) const noexcept {
  if (!armed && workers_sleep && !shares_cores_) return nanoseconds_beside_sleepers;
  if (armed || !has_cores_ || calm_ticks_ == calm_ticks_before_rare_ones) {
    return rare_tick_nanoseconds_ << (attended_ticks_ / attended_ticks_before_rarer_ones);
  }
  return looks_again_ ? nanoseconds_to_second_look : nanoseconds_among_large;
}

// It ticks unless it or a worker has watched the fabric for a while in which nothing happened: whoever ends the watch
// then wakes it.
std::optional<timespec> FabricWatch::tick_of_service(bool armed, bool workers_sleep) {
  if (endpoints_.empty()) return std::nullopt;
  if (armed && flows_) return timespec{0, flow_nanoseconds_};
  looks_again_ = engaged() && !looks_again_;
  calm_ticks_ = found_unattended_ ? 0 : std::min(calm_ticks_, calm_ticks_before_rare_ones - 1) + 1;
  quiet_ticks_ = watcher_.load() != nobody ? quiet_ticks_ + 1 : 0;
  if (quiet_ticks_ >= quiet_ticks_before_deep_sleep) {
    service_in_deep_sleep_.store(true);
    // The watch may have ended before this could be seen.
    return watcher_.load() == nobody ? std::optional(timespec{0, 0}) : std::nullopt;
  }
  const long tick = tick_nanoseconds(armed, workers_sleep);
  if (armed) return timespec{0, tick};
  return timespec{0, std::max(tick, std::min(static_cast<long>(1e9 * must_rest()), 2 * rare_tick_nanoseconds_))};
}

void FabricWatch::service_woke_up(bool by_something) noexcept {
  woke_up_ = now_();
  woken_by_something_ = by_something;
  if (by_something) quiet_ticks_ = 0;
}

}  // namespace stretto
