#pragma once

#include <cstddef>
#include <memory>

namespace stretto {

/// A stack that a thread can leave and come back to, so that a plain function may wait (decision 2).
///
/// Belongs to the thread that made it: a fiber is resumed only there, because compilers keep addresses of
/// thread-local variables across calls. Exceptions in flight are kept with their fiber, and the sanitizers are told
/// of every switch.
class Fiber {
 public:
  using Entry = void (*)(void* argument);

  /// The stack that the calling thread runs on now.
  Fiber();
  /// A new stack of `stack_bytes`; `entry(argument)` runs on it at the first switch to it and must never return.
  /// `guarded` puts an unmapped page below the stack. Throws Error(out_of_resources).
  Fiber(std::size_t stack_bytes, bool guarded, Entry entry, void* argument);
  /// REQUIRES: it is not running. What is on its stack is dropped, not unwound.
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Leaves the running fiber `from` for `to`; returns when somebody switches back.
  static void switch_stack(Fiber& from, Fiber& to) noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace stretto
