#include "stretto/core/task.h"

#include "stretto/base/arena.h"
#include "stretto/core/engine.h"
#include "stretto/core/node.h"

namespace stretto::detail {

[[gnu::hot]] bool EventAwaiter::await_suspend(std::coroutine_handle<> handle) {
  const BetweenSlices pause(record_.node.engine());
  if (record_.node.linger(record_.processor, event_)) return false;
  Cause cause;
  if (record_.node.events().subscribe(event_, &record_.waiter, &cause) == EventState::untriggered) {
    record_.suspended = handle;  // nobody resumes it before this worker lets go of the processor
    return true;
  }
  record_.cause = cause;
  return false;
}

void EventAwaiter::throw_cause() {
  const Cause cause = std::exchange(record_.cause, nullptr);
  throw Error(*cause);
}

void* PromiseBase::operator new(std::size_t bytes) {
  return bytes <= arena::max_block_bytes ? arena::allocate(bytes) : ::operator new(bytes);
}

void PromiseBase::operator delete(void* frame, std::size_t bytes) noexcept {
  if (bytes <= arena::max_block_bytes) {
    arena::release(frame, bytes);
  } else {
    ::operator delete(frame, bytes);
  }
}

}  // namespace stretto::detail
