#pragma once

#include <coroutine>
#include <cstddef>
#include <exception>
#include <optional>
#include <utility>

#include "stretto/core/event.h"
#include "stretto/core/future.h"
#include "stretto/core/spawned_in_place.h"
#include "stretto/core/task_record.h"

namespace stretto {

template <class T = void>
class Task;

namespace detail {

/// Suspends the task until an event triggers. Never resumes inside the trigger: the task goes back to its processor.
class EventAwaiter {
 public:
  EventAwaiter(TaskRecord& record, Event event) noexcept : record_(record), event_(event) {}

  bool await_ready() noexcept { return !event_.exists(); }
  bool await_suspend(std::coroutine_handle<> handle);
  /// Throws the cause of a poisoned event.
  void await_resume() {
    if (record_.cause != nullptr) throw_cause();
  }

 private:
  [[noreturn]] void throw_cause();

  TaskRecord& record_;
  Event event_;
};

template <class T>
class FutureAwaiter : public EventAwaiter {
 public:
  FutureAwaiter(TaskRecord& record, Future<T> future) noexcept
      : EventAwaiter(record, future.event()), future_(std::move(future)) {}

  T await_resume() {
    EventAwaiter::await_resume();
    return future_.take();
  }

 private:
  Future<T> future_;
};

/// What the promises of all tasks share.
class PromiseBase {
 public:
  struct FinalAwaiter {
    bool await_ready() noexcept { return false; }
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> handle) noexcept {
      PromiseBase& promise = handle.promise();
      promise.record->next_resume = promise.continuation;
    }
    void await_resume() noexcept {}
  };

  std::suspend_always initial_suspend() noexcept { return {}; }
  FinalAwaiter final_suspend() noexcept { return {}; }
  void unhandled_exception() noexcept { exception = std::current_exception(); }

  EventAwaiter await_transform(Event event) noexcept { return {*record, event}; }
  template <class T>
  FutureAwaiter<T> await_transform(Future<T> future) noexcept {
    return {*record, std::move(future)};
  }
  template <class T>
  auto await_transform(Task<T>&& task);
  // GCC 12: spawn first, then await, `const Event done = node.spawn([text] { ... }); co_await done;`
  template <class Completion>
  void await_transform(SpawnedInPlace<Completion>&&) = delete;

  static void* operator new(std::size_t bytes);
  static void operator delete(void* frame, std::size_t bytes) noexcept;

  void rethrow() const {
    if (exception) std::rethrow_exception(exception);
  }

  TaskRecord* record = nullptr;
  std::coroutine_handle<> continuation;  // who awaits this coroutine; null for the outermost
  std::exception_ptr exception;
};

template <class T>
class Promise : public PromiseBase {
 public:
  Task<T> get_return_object() noexcept;
  template <class U>
  void return_value(U&& value) {
    value_.emplace(std::forward<U>(value));
  }
  T take() {
    rethrow();
    return std::move(*value_);
  }

 private:
  std::optional<T> value_;
};

template <>
class Promise<void> : public PromiseBase {
 public:
  Task<void> get_return_object() noexcept;
  void return_void() noexcept {}
  void take() { rethrow(); }
};

}  // namespace detail

/// A coroutine that computes a T: what a task's function may return, and what such a coroutine may `co_await`.
///
/// Lazy: runs when spawned or awaited. Inside, `co_await` takes events, futures and further tasks; each resumes on the
/// task's own processor. Owns its frame. Arguments are stored by value; do not pass references to what may be gone.
///
/// A fault of GCC 12: it destroys twice what is built inside of an expression with `co_await`, if that is an aggregate
/// or a closure that captures something with a destructor. Spawn first, then await:
/// `const Event done = node.spawn([text] { ... }); co_await done;`
/// With that compiler `co_await node.spawn([text] { ... })` is refused. Nothing finds closures elsewhere in such an
/// expression, as in the arguments of a collective: name them first.
template <class T>
class [[nodiscard]] Task {
 public:
  using promise_type = detail::Promise<T>;
  using Value = T;

  Task() noexcept = default;
  explicit Task(std::coroutine_handle<promise_type> handle) noexcept : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Task() {
    if (handle_) handle_.destroy();
  }

  std::coroutine_handle<promise_type> handle() const noexcept { return handle_; }

 private:
  std::coroutine_handle<promise_type> handle_;
};

namespace detail {

/// Runs a task inside the one that awaits it, as part of the same spawned task.
template <class T>
class TaskAwaiter {
 public:
  TaskAwaiter(TaskRecord& record, Task<T>&& task) noexcept : record_(record), task_(std::move(task)) {}

  bool await_ready() noexcept { return false; }
  void await_suspend(std::coroutine_handle<> awaiting) noexcept {
    auto& promise = task_.handle().promise();
    promise.record = &record_;
    promise.continuation = awaiting;
    record_.next_resume = task_.handle();
  }
  T await_resume() { return task_.handle().promise().take(); }

 private:
  TaskRecord& record_;
  Task<T> task_;
};

template <class T>
auto PromiseBase::await_transform(Task<T>&& task) {
  if (!task.handle()) throw Error(ErrorCode::invalid_state, "a Task was awaited twice, or after it was moved from");
  return TaskAwaiter<T>(*record, std::move(task));
}

template <class T>
Task<T> Promise<T>::get_return_object() noexcept {
  return Task<T>(std::coroutine_handle<Promise<T>>::from_promise(*this));
}

inline Task<void> Promise<void>::get_return_object() noexcept {
  return Task<void>(std::coroutine_handle<Promise<void>>::from_promise(*this));
}

}  // namespace detail

}  // namespace stretto
