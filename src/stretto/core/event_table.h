#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "stretto/core/event.h"
#include "stretto/core/waiter.h"

namespace stretto {

enum class EventState : std::uint8_t { untriggered, triggered, poisoned };

/// What becomes of an event that nobody triggers: nothing, or it still ends, since something of the runtime triggers it
/// whatever happens, as a task does when it is over.
enum class Ends : std::uint8_t { when_told, by_itself };

/// The events that a node owns: one word a slot, {generation 24 | newest waiter 40}.
///
/// Registering and triggering are compare-and-swaps that demand the generation. A slot whose word is zero
/// is used up: every event it ever named has triggered. A poisoned generation is its slot's last, so that a node which
/// sees a later generation knows that the earlier ones were clean. Storage follows untriggered and poisoned events:
/// slots are recycled newest first. Any thread may call everything.
class EventTable {  // NOLINT(clang-analyzer-optin.performance.Padding): free slots have lines of their own
 public:
  explicit EventTable(NodeId self);
  ~EventTable();
  EventTable(const EventTable&) = delete;
  EventTable& operator=(const EventTable&) = delete;

  /// A new untriggered event. Throws Error(out_of_resources) when 2^23 are untriggered or poisoned.
  Event create(Ends ends = Ends::when_told);

  Ends ends(Event event) const noexcept { return ends_[event.slot()].load(std::memory_order_relaxed); }
  /// From now on something triggers an event that only the program was to trigger. Returns false, and does nothing,
  /// when it has triggered already. Where it is triggered meanwhile, this may become so of the slot's next event.
  bool set_ends_by_itself(Event event) noexcept;

  EventState query(Event event) const noexcept;

  /// Registers `waiter`, unless the event is not untriggered any more: then returns its state and leaves the waiter.
  EventState subscribe(Event event, Waiter* waiter) noexcept;

  /// Triggers or poisons an event. Returns false, and does nothing, when it has triggered already.
  bool trigger(Event event, const Cause& cause = nullptr) noexcept;

  /// Triggers an event clean if nobody waits for it; else returns false, and does nothing.
  bool trigger_unawaited(Event event) noexcept;

  /// Triggers an event clean, and creates another one in its slot: cheaper than one after the other. no_event: it had
  /// triggered already, or was the slot's last.
  Event trigger_and_renew(Event event) noexcept;

  /// Takes back an event that nobody has heard of.
  void discard(Event event) noexcept;

  /// Why a poisoned event is poisoned. REQUIRES: query(event) == poisoned.
  Cause cause_of(Event event) const;

  /// Whether such an event was ever created here; peers may name any.
  bool was_created(Event event) const noexcept;

  /// Poisons every untriggered event that somebody waits for, and that ends when told; or also those that end by
  /// themselves. For shutdown. Returns whether there was any.
  bool poison_awaited(const Cause& cause, Ends up_to = Ends::when_told) noexcept;

  /// Slots ever used: a measure of storage.
  std::uint32_t slots_used() const noexcept { return high_water_.load(std::memory_order_relaxed); }

  /// Lets tests begin near the end of a slot's life: the next `create` on a fresh slot gets this generation.
  void set_first_generation(std::uint32_t generation) noexcept { first_generation_ = generation; }

 private:
  // A cache of free slots; which one a thread uses is a matter of speed only.
  struct alignas(64) FreeSlots {
    std::atomic<bool> locked{false};
    std::vector<std::uint32_t> slots;
  };

  std::uint32_t take_slot();
  void set_ends(std::uint32_t slot, Ends ends) noexcept { ends_[slot].store(ends, std::memory_order_relaxed); }
  void recycle(std::uint32_t slot);
  void refill(FreeSlots& free);
  Error out_of_events() const;
  bool take_from_another(FreeSlots& free, std::size_t least);
  FreeSlots& lock_some() noexcept;
  void finish(Event event, std::uint64_t old_word) noexcept;
  void retire_page_if_done(std::uint32_t slot) noexcept;

  NodeId self_;
  std::uint32_t first_generation_ = 1;
  std::atomic<std::uint64_t>* words_;    // reserved for all slots, zero until used
  std::atomic<std::uint16_t>* retired_;  // used-up slots, for each page of words
  std::atomic<Ends>* ends_;              // by slot, of its newest generation
  std::atomic<std::uint32_t> high_water_{0};
  std::array<FreeSlots, 8> free_;
  mutable std::mutex causes_mutex_;
  std::map<Event, Cause> causes_;  // of poisoned events
};

}  // namespace stretto
