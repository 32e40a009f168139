#pragma once

// The templates of Node::spawn and Node::spawn_on; included by node.h.

#include <functional>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include "stretto/base/arena.h"
#include "stretto/core/archive.h"
#include "stretto/core/node.h"
#include "stretto/core/remote_tasks.h"
#include "stretto/core/spawned_in_place.h"

namespace stretto {

namespace detail {

// What a callable gives when called with a node, or, if it takes none, without.
template <class F>
decltype(auto) call_with(F& function, Node& node) {
  if constexpr (std::is_invocable_v<F&, Node&>) {
    return std::invoke(function, node);
  } else {
    static_assert(std::is_invocable_v<F&>, "a task is called with nothing or with a Node&");
    return std::invoke(function);
  }
}

template <class R>
struct TaskResult {
  using Value = R;
  static constexpr bool is_coroutine = false;
};
template <class T>
struct TaskResult<Task<T>> {
  using Value = T;
  static constexpr bool is_coroutine = true;
};

// Where a task's value goes; nothing for void.
template <class Value>
struct ResultSlot {
  std::shared_ptr<typename Future<Value>::State> state = std::make_shared<typename Future<Value>::State>();
};
template <>
struct ResultSlot<void> {};

/// A task record with its callable, and its coroutine if it is one.
template <class F>
struct SpawnedTask final : TaskRecord {
  using Returned = decltype(call_with(std::declval<F&>(), std::declval<Node&>()));
  using Value = typename TaskResult<std::remove_cvref_t<Returned>>::Value;
  static constexpr bool coroutine = TaskResult<std::remove_cvref_t<Returned>>::is_coroutine;

  template <class G>
  SpawnedTask(G&& callable, Node& its_node, Processor& its_processor, int its_priority)
      : TaskRecord(functions, its_node, its_processor, its_priority), function(std::forward<G>(callable)) {}

  static void begin_task(TaskRecord& record) {
    auto& self = static_cast<SpawnedTask&>(record);
    if constexpr (coroutine) {
      self.frame = call_with(self.function, self.node);
      if (!self.frame.handle()) throw Error(ErrorCode::invalid_state, "a task's function returned an empty Task");
      self.frame.handle().promise().record = &self;
      self.is_coroutine = true;
      self.next_resume = self.frame.handle();
    } else if constexpr (std::is_void_v<Value>) {
      call_with(self.function, self.node);
    } else {
      self.slot.state->value.emplace(call_with(self.function, self.node));
    }
  }

  static void take_task_result(TaskRecord& record) {
    if constexpr (coroutine) {
      auto& self = static_cast<SpawnedTask&>(record);
      if constexpr (std::is_void_v<Value>) {
        self.frame.handle().promise().take();
      } else {
        self.slot.state->value.emplace(self.frame.handle().promise().take());
      }
    }
  }

  static void destroy_task(TaskRecord& record) noexcept { arena::destroy(static_cast<SpawnedTask*>(&record)); }

  static constexpr Behaviour functions{&begin_task, &take_task_result, &destroy_task};

  struct NoFrame {};
  F function;
  [[no_unique_address]] ResultSlot<Value> slot;
  [[no_unique_address]] std::conditional_t<
      coroutine, std::conditional_t<coroutine, std::remove_cvref_t<Returned>, NoFrame>, NoFrame> frame;
};

}  // namespace detail

template <class F>
auto Node::spawn(F&& function, const SpawnOptions& options) {
  using Spawned = detail::SpawnedTask<std::decay_t<F>>;
  static_assert(sizeof(Spawned) <= arena::max_block_bytes, "the callable is too large: let it own its data by pointer");
  events_.check(options.precondition());
  Processor& where = processor(options.processor());
  auto record = arena::make_owned<Spawned>(std::forward<F>(function), *this, where, options.priority());
  record->is_refusable = options.refusable();
  using Value = typename Spawned::Value;
  if constexpr (std::is_void_v<Value>) {
    const Event completion = submit(*record, options.precondition());
    (void)record.release();  // it runs, or has run
    return detail::completion_of<F>(completion);
  } else {
    const auto state = record->slot.state;
    const Event completion = submit(*record, options.precondition());
    (void)record.release();
    return detail::completion_of<F>(Future<Value>(completion, state));
  }
}

namespace detail {

template <auto Function, class R, class... Parameters>
RemoteTasks::Started RemoteFunction<Function, R (*)(Node&, Parameters...)>::start(Node& node,
                                                                                  const SpawnOptions& options,
                                                                                  ConstByteSpan bytes) {
  ArchiveReader reader(bytes);
  Values arguments{reader.read<std::decay_t<Parameters>>()...};  // braces: in order
  reader.finish();
  auto call = [values = std::move(arguments)](Node& here) mutable {  // which is called once
    return std::apply([&here](auto&... each) { return Function(here, static_cast<Parameters&&>(each)...); }, values);
  };
  if constexpr (std::is_void_v<Value>) {
    return {node.spawn(std::move(call), options), nullptr, nullptr};
  } else {
    const auto future = node.spawn(std::move(call), options);
    return {future.event(), [future](ArchiveWriter& writer) { writer.write(future.value()); }, nullptr};
  }
}

}  // namespace detail

template <auto Function, class... Arguments>
auto Node::spawn_on(NodeId where, const SpawnOptions& options, Arguments&&... arguments) {
  using Remote = detail::RemoteFunction<Function>;
  static_assert(std::is_constructible_v<typename Remote::Values, Arguments&&...>,
                "the arguments do not fit the function");
  ArchiveWriter writer;
  std::apply([&writer](const auto&... each) { (writer.write(each), ...); },
             typename Remote::template Sent<Arguments...>(std::forward<Arguments>(arguments)...));
  using Value = typename Remote::Value;
  if constexpr (std::is_void_v<Value>) {
    return remote_tasks_->spawn(where, Remote::type, options, writer.take(), nullptr);
  } else {
    auto state = std::make_shared<typename Future<Value>::State>();
    const Event completion =
        remote_tasks_->spawn(where, Remote::type, options, writer.take(), [state](ConstByteSpan bytes) {
          ArchiveReader reader(bytes);
          state->value.emplace(reader.read<Value>());
          reader.finish();
        });
    return Future<Value>(completion, state);
  }
}

}  // namespace stretto
