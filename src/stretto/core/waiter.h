#pragma once

#include "stretto/core/event.h"

namespace stretto {

/// Something that wants to know when an event triggers. Lives in the arena, embedded in the record it belongs to
/// (a merge, a task, a step of a collective); is on at most one list.
///
/// `fire` runs on the thread that triggered, in a flattened loop: it holds no user code, does not block, and may
/// destroy the record. `cause` is null for a clean trigger.
struct Waiter {
  using Fire = void (*)(Waiter*, const Cause& cause) noexcept;

  explicit Waiter(Fire fire_function) noexcept : fire(fire_function) {}

  Waiter* next = nullptr;
  Fire fire;
};

/// Fires a list of waiters, newest first as event slots keep them, in the order in which they registered. Called from
/// inside a waiter it only queues them, so that a chain of any length needs no stack. Any thread.
void fire_all(Waiter* newest, const Cause& cause) noexcept;

}  // namespace stretto
