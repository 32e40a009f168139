#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "stretto/base/bytes.h"
#include "stretto/base/hash.h"
#include "stretto/core/archive.h"
#include "stretto/core/event.h"
#include "stretto/core/spawn_options.h"
#include "stretto/fabric/bulk.h"

namespace stretto {

class Node;

/// The name of a function that can be spawned on another node: a hash of its type's name, the same in every process
/// that runs the same binary. Never numbered by hand.
using TaskType = std::uint64_t;

/// Tasks on other nodes: sends the call, and brings the outcome back into the caller's completion event.
///
/// Owned by the node.
class RemoteTasks final : private fabric::MessageHandler {
 public:
  /// Puts a result that came back where the caller's future finds it.
  using TakeResult = std::function<void(ConstByteSpan)>;
  /// Writes the result of a task that is done, for its way back.
  using WriteResult = std::function<void(ArchiveWriter&)>;
  struct Started {
    Event completion;
    WriteResult write_result;
    Cause failure;  ///< why it could not be spawned
  };
  /// Decodes arguments and spawns the task here.
  using Start = Started (*)(Node& node, const SpawnOptions& options, ConstByteSpan arguments);

  explicit RemoteTasks(Node& node);
  ~RemoteTasks() override;

  /// Calls `type` on `where` when the options' precondition has triggered; `take_result` may be null. Any thread.
  Event spawn(NodeId where, TaskType type, const SpawnOptions& options, std::vector<std::byte> arguments,
              TakeResult take_result);

  /// Poisons what was spawned on a node that died, or left before it had begun. Under the baton.
  void on_peer_gone(NodeId peer, const Cause& cause);
  /// Poisons what was spawned in other processes and is not over, and refuses what is spawned from now on, here or
  /// there. For a job that failed, whose other processes may have nobody to tell them that it did. Under the baton.
  void cancel(const Cause& cause);

  /// Makes a function known in this process; called before main, once for each that the program spawns remotely.
  static TaskType register_function(std::string_view type_name, Start start);

 private:
  struct Call;
  struct Reply;

  struct Pending {
    NodeId where;
    TakeResult take_result;
  };

  void on_message(const fabric::Message& message) override;
  void start_here(const fabric::Message& message);
  void finish_here(const fabric::Message& message);
  void send_call(Call& call);
  void send_reply(Reply& reply);
  bool is_here(NodeId where) const noexcept;
  template <class Given>
  void give_up(Given&& given, const Cause& cause);

  Node& node_;
  // Under the baton.
  std::map<Event, Pending> pending_;  // calls that wait for their outcome
  Cause cancelled_;                   // why nothing is spawned any more
};

namespace detail {

template <class R>
struct TaskResult;

// A function that can be spawned remotely, by its address as a template argument.
template <auto Function, class Signature = decltype(Function)>
struct RemoteFunction;

template <auto Function, class R, class... Parameters>
struct RemoteFunction<Function, R (*)(Node&, Parameters...)> {
  using Values = std::tuple<std::decay_t<Parameters>...>;
  // The arguments as Values, but by reference where they are of the right type.
  template <class... Arguments>
  using Sent = std::tuple<std::conditional_t<std::is_same_v<std::decay_t<Parameters>, std::remove_cvref_t<Arguments>>,
                                             const std::decay_t<Parameters>&, std::decay_t<Parameters>>...>;
  using Value = typename TaskResult<R>::Value;

  static RemoteTasks::Started start(Node& node, const SpawnOptions& options, ConstByteSpan bytes);

  // __PRETTY_FUNCTION__ spells the function's name out; typeid would need a type for each.
  static constexpr std::string_view type_name() { return __PRETTY_FUNCTION__; }
  static inline const TaskType type = RemoteTasks::register_function(type_name(), &start);
};

}  // namespace detail

}  // namespace stretto
