#pragma once

#include <compare>
#include <cstdint>
#include <memory>

#include "stretto/base/error.h"
#include "stretto/base/ids.h"

namespace stretto {

/// Why an event is poisoned; null where it triggered clean.
using Cause = std::shared_ptr<const Error>;

/// The name of something that happens once (Realm paper, section 5): 64 bits that may be copied, stored and sent.
///
/// node 16 | slot 24 | generation 24. A slot stands for one untriggered event and all its triggered
/// predecessors, so an event is never freed by anyone. The default value is *no event*, which has always triggered.
/// Which node owns an event follows from the name; the owner keeps its state.
class Event {
 public:
  static constexpr std::uint32_t max_generation = (1U << 24U) - 1;
  static constexpr std::uint32_t slots = 1U << 24U;
  /// Slots from here on are phase barriers, whose generations may be waited for before they begin.
  static constexpr std::uint32_t first_barrier_slot = 1U << 23U;

  constexpr Event() = default;
  /// REQUIRES: owner < max_nodes, slot < slots, 1 <= generation <= max_generation.
  constexpr Event(NodeId owner, std::uint32_t slot, std::uint32_t generation)
      : bits_(std::uint64_t{owner} << 48U | std::uint64_t{slot} << 24U | generation) {}

  static constexpr Event from_bits(std::uint64_t bits) {
    Event event;
    event.bits_ = bits;
    return event;
  }

  constexpr std::uint64_t bits() const { return bits_; }
  constexpr bool exists() const { return bits_ != 0; }
  constexpr NodeId owner() const { return static_cast<NodeId>(bits_ >> 48U); }
  constexpr std::uint32_t slot() const { return static_cast<std::uint32_t>(bits_ >> 24U) & (slots - 1); }
  constexpr std::uint32_t generation() const { return static_cast<std::uint32_t>(bits_) & max_generation; }
  constexpr bool is_barrier() const { return slot() >= first_barrier_slot; }

  /// Whether it has triggered, clean or poisoned, as far as this node knows. In a task; elsewhere ask the Node.
  bool has_triggered() const;
  /// Returns when it has triggered; throws the cause if it was poisoned. In a task (others run meanwhile); elsewhere
  /// use Node::wait. In coroutines `co_await event` is cheaper.
  void wait() const;

  friend constexpr auto operator<=>(const Event&, const Event&) = default;

 private:
  std::uint64_t bits_ = 0;
};

inline constexpr Event no_event{};

/// An event that the program triggers. Created by Node::create_user_event; any node may trigger it, once.
class UserEvent : public Event {
 public:
  constexpr UserEvent() = default;
  constexpr explicit UserEvent(Event event) : Event(event) {}

  /// Triggers it when `precondition` has triggered; poisons it when that was poisoned. In a task; elsewhere use the
  /// Node. Throws Error(invalid_state) when this node can see that it was triggered before.
  void trigger(Event precondition = no_event) const;
  /// Triggers it as failed: whoever waits for it gets `error`.
  void poison(const Error& error) const;
};

}  // namespace stretto
