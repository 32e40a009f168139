#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "stretto/base/error.h"
#include "stretto/core/event.h"

namespace stretto {

/// An event with a value: what an operation will have computed when its event triggers.
///
/// Copies share the value. `co_await future` gives it, `get()` waits in a plain task. Valid on the node that made it.
template <class T>
class Future {
 public:
  struct State {
    std::optional<T> value;
  };

  Future() = default;
  Future(Event event, std::shared_ptr<State> state) noexcept : event_(event), state_(std::move(state)) {}

  /// Triggers when the value is there; poisoned if there will be none.
  Event event() const noexcept { return event_; }
  // A future may be waited for, merged and used as a precondition like its event.
  operator Event() const noexcept { return event_; }

  /// The value, as long as a copy of the future lives. REQUIRES: the event has triggered clean; checked where there is
  /// no value before, as in the future of a task. (A collective's is its buffer, and holds this node's input until
  /// then.)
  const T& value() const {
    if (state_ != nullptr && state_->value.has_value()) return *state_->value;
    throw Error(ErrorCode::invalid_state, "a future's value was asked for before its event triggered; wait for it");
  }
  /// A copy of the value.
  T take() const { return value(); }

  /// Waits, then returns a copy of the value. In a task.
  T get() const {
    event_.wait();
    return take();
  }

 private:
  Event event_;
  std::shared_ptr<State> state_;
};

}  // namespace stretto
