#include "stretto/core/event_table.h"

#include <sched.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "stretto/base/arena.h"

namespace stretto {

namespace {

constexpr unsigned waiter_bits = 40;
constexpr std::uint64_t waiter_mask = (std::uint64_t{1} << waiter_bits) - 1;
constexpr std::uint64_t poisoned_mark = waiter_mask;
// Of a slot whose next generation nobody has created yet. Both marks are greater than any waiter.
constexpr std::uint64_t free_mark = waiter_mask - 1;

constexpr std::uint32_t slots = Event::first_barrier_slot;
constexpr std::uint32_t slots_of_page = 4096 / sizeof(std::uint64_t);
constexpr std::size_t words_bytes = std::size_t{slots} * sizeof(std::uint64_t);
constexpr std::size_t retired_bytes = slots / slots_of_page * sizeof(std::uint16_t);
constexpr std::size_t ends_bytes = std::size_t{slots} * sizeof(Ends);
constexpr std::size_t table_bytes = words_bytes + retired_bytes + ends_bytes;
constexpr std::uint32_t refill_slots = 64;

constexpr std::uint64_t make_word(std::uint32_t generation, std::uint64_t waiter) {
  return std::uint64_t{generation} << waiter_bits | waiter;
}
constexpr std::uint32_t generation_of(std::uint64_t word) { return static_cast<std::uint32_t>(word >> waiter_bits); }
constexpr std::uint64_t waiter_of(std::uint64_t word) { return word & waiter_mask; }

// The word of a slot whose generation just triggered: free for the next one, or used up.
constexpr std::uint64_t after(std::uint32_t generation) {
  return generation == Event::max_generation ? 0 : make_word(generation + 1, free_mark);
}

constexpr EventState state_of(std::uint64_t word, std::uint32_t generation) {
  if (generation_of(word) != generation || waiter_of(word) == free_mark) return EventState::triggered;
  return waiter_of(word) == poisoned_mark ? EventState::poisoned : EventState::untriggered;
}

Waiter* waiters_of(std::uint64_t word) noexcept {
  return waiter_of(word) == 0 ? nullptr : static_cast<Waiter*>(arena::address_of(waiter_of(word)));
}

std::uint32_t this_thread_number() noexcept {
  static std::atomic<std::uint32_t> count{0};
  thread_local const std::uint32_t number = count.fetch_add(1);  // determinism: chooses a cache, nothing else
  return number;
}

}  // namespace

EventTable::EventTable(NodeId self) : self_(self) {
  // Zero pages cost nothing until touched, and a page of used-up slots is given back by making it zero again.
  void* const memory =
      mmap(nullptr, table_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    throw Error(ErrorCode::out_of_resources, std::string("cannot reserve address space for events: ") +
                                                 std::strerror(errno) + "; raise the limit (ulimit -v unlimited)");
  }
  words_ = static_cast<std::atomic<std::uint64_t>*>(memory);
  retired_ = reinterpret_cast<std::atomic<std::uint16_t>*>(static_cast<std::byte*>(memory) + words_bytes);
  ends_ = reinterpret_cast<std::atomic<Ends>*>(static_cast<std::byte*>(memory) + words_bytes + retired_bytes);
}

EventTable::~EventTable() { munmap(words_, table_bytes); }

EventTable::FreeSlots& EventTable::lock_some() noexcept {
  const std::uint32_t mine = this_thread_number();
  for (std::uint32_t i = 0;; ++i) {
    FreeSlots& free = free_[(mine + i) % free_.size()];
    if (!free.locked.exchange(true, std::memory_order_acquire)) return free;
    if (i % free_.size() == free_.size() - 1) sched_yield();
  }
}

// Moves half of another cache's slots, if it has `least` or more, into this one.
bool EventTable::take_from_another(FreeSlots& free, std::size_t least) {
  for (FreeSlots& other : free_) {
    if (&other == &free || other.locked.exchange(true, std::memory_order_acquire)) continue;
    if (other.slots.size() >= least) {
      const auto half = other.slots.end() - static_cast<std::ptrdiff_t>((other.slots.size() + 1) / 2);
      free.slots.assign(half, other.slots.end());
      other.slots.erase(half, other.slots.end());
    }
    other.locked.store(false, std::memory_order_release);
    if (!free.slots.empty()) return true;
  }
  return false;
}

[[gnu::hot]] void EventTable::refill(FreeSlots& free) {
  // Where one thread creates what another triggers, the free slots gather at the other.
  if (take_from_another(free, refill_slots)) return;
  const std::uint32_t first = high_water_.fetch_add(refill_slots, std::memory_order_relaxed);
  if (first + refill_slots > slots) {
    high_water_.fetch_sub(refill_slots, std::memory_order_relaxed);
    if (take_from_another(free, 1)) return;
    throw out_of_events();
  }
  for (std::uint32_t slot = first + refill_slots; slot-- > first;) {
    words_[slot].store(make_word(first_generation_, free_mark), std::memory_order_relaxed);
    free.slots.push_back(slot);
  }
}

Error EventTable::out_of_events() const {
  const std::lock_guard lock(causes_mutex_);
  return Error(ErrorCode::out_of_resources,
               "node " + std::to_string(self_) + " has no free event: of " + std::to_string(slots) + ", " +
                   std::to_string(causes_.size()) +
                   " are poisoned, for good, and the others untriggered; wait for some of those before creating more");
}

std::uint32_t EventTable::take_slot() {
  FreeSlots& free = lock_some();
  struct Unlock {
    FreeSlots& held;
    ~Unlock() { held.locked.store(false, std::memory_order_release); }
  } const unlock{free};
  if (free.slots.empty()) refill(free);
  const std::uint32_t slot = free.slots.back();
  free.slots.pop_back();
  return slot;
}

void EventTable::recycle(std::uint32_t slot) {
  FreeSlots& free = lock_some();
  free.slots.push_back(slot);
  free.locked.store(false, std::memory_order_release);
}

Event EventTable::create(Ends ends) {
  const std::uint32_t slot = take_slot();
  // Slots mostly stay with their kind, and so does what other cores have read of them.
  if (ends_[slot].load(std::memory_order_relaxed) != ends) set_ends(slot, ends);
  const std::uint32_t generation = generation_of(words_[slot].load(std::memory_order_relaxed));
  words_[slot].store(make_word(generation, 0), std::memory_order_relaxed);
  return {self_, slot, generation};
}

void EventTable::discard(Event event) noexcept {
  words_[event.slot()].store(make_word(event.generation(), free_mark), std::memory_order_relaxed);
  recycle(event.slot());
}

bool EventTable::set_ends_by_itself(Event event) noexcept {
  if (query(event) != EventState::untriggered) return false;
  set_ends(event.slot(), Ends::by_itself);
  return true;
}

[[gnu::hot]] EventState EventTable::query(Event event) const noexcept {
  return state_of(words_[event.slot()].load(std::memory_order_acquire), event.generation());
}

EventState EventTable::subscribe(Event event, Waiter* waiter) noexcept {
  std::atomic<std::uint64_t>& word = words_[event.slot()];
  std::uint64_t old = word.load(std::memory_order_acquire);
  const std::uint64_t wanted = make_word(event.generation(), arena::index_of(waiter));
  do {
    const EventState state = state_of(old, event.generation());
    if (state != EventState::untriggered) return state;
    waiter->next = waiters_of(old);
    // Sequentially consistent with poison_awaited: see EventService::subscribe.
  } while (!word.compare_exchange_weak(old, wanted, std::memory_order_seq_cst, std::memory_order_acquire));
  return EventState::untriggered;
}

bool EventTable::trigger(Event event, const Cause& cause) noexcept {
  std::atomic<std::uint64_t>& word = words_[event.slot()];
  if (cause != nullptr) {
    const std::lock_guard lock(causes_mutex_);
    // Before the word tells of it. A racing trigger that wins takes it out again.
    if (state_of(word.load(std::memory_order_acquire), event.generation()) != EventState::untriggered) return false;
    causes_.emplace(event, cause);
  }
  const std::uint64_t next =
      cause == nullptr ? after(event.generation()) : make_word(event.generation(), poisoned_mark);
  std::uint64_t old = word.load(std::memory_order_acquire);
  do {
    if (state_of(old, event.generation()) != EventState::untriggered) {
      if (cause != nullptr && generation_of(old) != event.generation()) {
        const std::lock_guard lock(causes_mutex_);
        causes_.erase(event);
      }
      return false;
    }
  } while (!word.compare_exchange_weak(old, next, std::memory_order_acq_rel, std::memory_order_acquire));
  if (cause == nullptr) {
    finish(event, old);
  } else {
    fire_all(waiters_of(old), cause);
  }
  return true;
}

bool EventTable::trigger_unawaited(Event event) noexcept {
  std::uint64_t old = make_word(event.generation(), 0);
  if (!words_[event.slot()].compare_exchange_strong(old, after(event.generation()), std::memory_order_acq_rel)) {
    return false;
  }
  finish(event, old);
  return true;
}

[[gnu::hot]] Event EventTable::trigger_and_renew(Event event) noexcept {
  if (event.generation() == Event::max_generation) {
    trigger(event);
    return no_event;
  }
  std::atomic<std::uint64_t>& word = words_[event.slot()];
  std::uint64_t old = make_word(event.generation(), 0);  // mostly nobody waits yet
  const std::uint64_t renewed = make_word(event.generation() + 1, 0);
  while (!word.compare_exchange_weak(old, renewed, std::memory_order_acq_rel, std::memory_order_acquire)) {
    if (state_of(old, event.generation()) != EventState::untriggered) return no_event;
  }
  if (Waiter* const newest = waiters_of(old)) fire_all(newest, nullptr);
  return {self_, event.slot(), event.generation() + 1};
}

// The slot is free again before its waiters run: a chain of events keeps using the same one.
void EventTable::finish(Event event, std::uint64_t old_word) noexcept {
  if (event.generation() == Event::max_generation) {
    retire_page_if_done(event.slot());
  } else {
    recycle(event.slot());
  }
  fire_all(waiters_of(old_word), nullptr);
}

void EventTable::retire_page_if_done(std::uint32_t slot) noexcept {
  const std::uint32_t page = slot / slots_of_page;
  const std::uint32_t retired_before = retired_[page].fetch_add(1);
  if (retired_before + 1 < slots_of_page) return;
  madvise(words_ + std::size_t{page} * slots_of_page, slots_of_page * sizeof(std::uint64_t), MADV_DONTNEED);
}

Cause EventTable::cause_of(Event event) const {
  const std::lock_guard lock(causes_mutex_);
  const auto found = causes_.find(event);
  return found == causes_.end() ? nullptr : found->second;
}

bool EventTable::was_created(Event event) const noexcept {
  if (event.slot() >= high_water_.load(std::memory_order_acquire) || event.generation() == 0) return false;
  const std::uint64_t word = words_[event.slot()].load(std::memory_order_acquire);
  if (word == 0 || event.generation() < generation_of(word)) return true;
  return event.generation() == generation_of(word) && waiter_of(word) != free_mark;
}

bool EventTable::poison_awaited(const Cause& cause, Ends up_to) noexcept {
  bool any = false;
  // Beyond all for a moment, where none is left and somebody asks.
  const std::uint32_t end = std::min(high_water_.load(std::memory_order_acquire), slots);
  for (std::uint32_t slot = 0; slot < end; ++slot) {
    const std::uint64_t word = words_[slot].load(std::memory_order_seq_cst);
    if (waiter_of(word) == 0 || waiter_of(word) >= free_mark) continue;
    // Read after the word: of another generation only where this one is over.
    if (ends_[slot].load(std::memory_order_relaxed) > up_to) continue;
    any |= trigger({self_, slot, generation_of(word)}, cause);
  }
  return any;
}

}  // namespace stretto
