#include "stretto/core/remote_tasks.h"

#include <new>
#include <string>
#include <utility>
#include <vector>

#include "stretto/base/arena.h"
#include "stretto/core/cause.h"
#include "stretto/core/node.h"

namespace stretto {

namespace {

struct SpawnHeader {
  TaskType type;
  std::uint64_t completion;
  std::int32_t priority;
  std::int32_t processor;
};

std::map<TaskType, std::pair<std::string_view, RemoteTasks::Start>>& functions() {
  static std::map<TaskType, std::pair<std::string_view, RemoteTasks::Start>> known;  // filled before main
  return known;
}

}  // namespace

TaskType RemoteTasks::register_function(std::string_view type_name, Start start) {
  const TaskType type = fnv1a_64(type_name);
  const auto [place, added] = functions().try_emplace(type, type_name, start);
  if (!added && (place->second.first != type_name || place->second.second != start)) {
    throw Error(ErrorCode::internal, "two remote functions have the same name or hash; rename one of them: " +
                                         std::string(type_name) + " and " + std::string(place->second.first));
  }
  return type;
}

// A call on its way out: waits for its precondition, then for the baton.
struct RemoteTasks::Call : Waiter, fabric::Item {
  Call(RemoteTasks& owner, NodeId target, const SpawnHeader& call_header, std::vector<std::byte> bytes, TakeResult take)
      : Waiter(&Call::ready),
        Item(&Call::send),
        tasks(owner),
        where(target),
        header(call_header),
        arguments(std::move(bytes)),
        take_result(std::move(take)) {}

  static void ready(Waiter* waiter, const Cause& why) noexcept {
    auto* const call = static_cast<Call*>(waiter);
    call->cause = why;
    call->tasks.node_.endpoint().context().post(call);
  }

  static void send(Item* item) noexcept {
    const arena::Owned<Call> call(static_cast<Call*>(item));
    call->tasks.send_call(*call);
  }

  RemoteTasks& tasks;
  NodeId where;
  SpawnHeader header;
  std::vector<std::byte> arguments;
  TakeResult take_result;
  Cause cause;
};

// An outcome on its way back.
struct RemoteTasks::Reply : Waiter, fabric::Item {
  Reply(RemoteTasks& owner, NodeId caller, Event remote_completion, WriteResult write) noexcept
      : Waiter(&Reply::ready),
        Item(&Reply::send),
        tasks(owner),
        to(caller),
        completion(remote_completion),
        write_result(std::move(write)) {}

  static void ready(Waiter* waiter, const Cause& why) noexcept {
    auto* const reply = static_cast<Reply*>(waiter);
    reply->cause = why;
    reply->tasks.node_.endpoint().context().post(reply);
  }

  static void send(Item* item) noexcept {
    const arena::Owned<Reply> reply(static_cast<Reply*>(item));
    reply->tasks.send_reply(*reply);
  }

  RemoteTasks& tasks;
  NodeId to;
  Event completion;
  WriteResult write_result;
  Cause cause;
};

RemoteTasks::RemoteTasks(Node& node) : node_(node) {
  node.bulk().set_handler(fabric::MessageType::task_spawn, *this);
  node.bulk().set_handler(fabric::MessageType::task_done, *this);
}

RemoteTasks::~RemoteTasks() = default;

Event RemoteTasks::spawn(NodeId where, TaskType type, const SpawnOptions& options, std::vector<std::byte> arguments,
                         TakeResult take_result) {
  if (where >= node_.size()) {
    throw Error(ErrorCode::invalid_argument, "spawn_on: node " + std::to_string(where) +
                                                 " does not exist; the job has " + std::to_string(node_.size()) +
                                                 " nodes, numbered from 0");
  }
  node_.events().check(options.precondition());
  const SpawnHeader header{type, 0, options.priority(), options.processor()};
  auto owned = arena::make_owned<Call>(*this, where, header, std::move(arguments), std::move(take_result));
  // What another process does uses nothing of ours, and nobody need wait for it.
  const Event completion = node_.events().create(is_here(where) ? Ends::by_itself : Ends::when_told);
  owned->header.completion = completion.bits();
  node_.task_started();
  Call* const call = owned.release();
  Cause cause;
  if (node_.events().subscribe(options.precondition(), call, &cause) != EventState::untriggered) {
    Call::ready(call, cause);
  }
  return completion;
}

void RemoteTasks::send_call(Call& call) {
  const Event completion = Event::from_bits(call.header.completion);
  Cause failure = call.cause != nullptr ? call.cause : cancelled_;
  if (failure == nullptr && node_.endpoint().gone(call.where)) {
    const char* const how = node_.endpoint().lost(call.where) ? " is lost" : " has left the job";
    failure = std::make_shared<const Error>(ErrorCode::peer_lost,
                                            "node " + std::to_string(call.where) + how + "; it cannot run a task");
  }
  if (failure == nullptr) {
    try {
      pending_.emplace(completion, Pending{call.where, std::move(call.take_result)});
      node_.bulk().send(call.where, fabric::MessageType::task_spawn, bytes_of(call.header), call.arguments);
      return;
    } catch (...) {
      failure = cause_of_current_exception("spawn_on");
      pending_.erase(completion);
    }
  }
  node_.task_finished(completion, failure);
}

void RemoteTasks::send_reply(Reply& reply) {
  ArchiveWriter writer;
  try {
    if (reply.cause == nullptr && reply.write_result != nullptr) reply.write_result(writer);
    const ConstByteSpan payload = reply.cause == nullptr ? writer.bytes() : text_of(reply.cause);
    node_.bulk().send(reply.to, fabric::MessageType::task_done, bytes_of(trigger_header(reply.completion, reply.cause)),
                      payload);
  } catch (...) {
    const Cause failure = cause_of_current_exception("the result of a remote task");
    node_.endpoint().send(reply.to, fabric::MessageType::task_done, bytes_of(trigger_header(reply.completion, failure)),
                          text_of(failure));
  }
}

void RemoteTasks::on_message(const fabric::Message& message) {
  if (message.type == fabric::MessageType::task_spawn) {
    start_here(message);
  } else {
    finish_here(message);
  }
}

void RemoteTasks::start_here(const fabric::Message& message) {
  const auto header = fabric::read_header<SpawnHeader>(message);
  const auto found = functions().find(header.type);
  if (found == functions().end()) {
    throw Error(ErrorCode::bad_input, "node " + std::to_string(message.from) +
                                          " spawns a function that this program does not contain; all nodes must run "
                                          "the same binary");
  }
  const SpawnOptions options = SpawnOptions().priority(header.priority).processor(header.processor);
  Started started;
  started.failure = cancelled_;
  try {
    if (cancelled_ == nullptr) started = found->second.second(node_, options, message.payload);
  } catch (...) {  // no room for a task here, or no such processor, unless the call is bad
    started.failure = cause_of_current_exception("spawn_on");
    if (started.failure->code() == ErrorCode::bad_input) throw;
  }
  auto* const reply =
      arena::make<Reply>(*this, message.from, Event::from_bits(header.completion), std::move(started.write_result));
  Cause cause = started.failure;
  if (cause != nullptr || node_.events().subscribe(started.completion, reply, &cause) != EventState::untriggered) {
    Reply::ready(reply, cause);
  }
}

void RemoteTasks::finish_here(const fabric::Message& message) {
  const auto header = fabric::read_header<TriggerHeader>(message);
  const Event completion = Event::from_bits(header.event);
  const auto found = pending_.find(completion);
  if (found == pending_.end() || found->second.where != message.from) {
    if (cancelled_ != nullptr) return;
    throw Error(ErrorCode::bad_input,
                "node " + std::to_string(message.from) + " finishes a task that it was not given");
  }
  Cause cause = cause_from(header, message.payload);
  try {
    if (cause == nullptr && found->second.take_result != nullptr) found->second.take_result(message.payload);
  } catch (const std::bad_alloc&) {
    cause = cause_of_current_exception("the result of a remote task");
  }
  pending_.erase(found);
  node_.task_finished(completion, cause);
}

// Whether tasks of that node run in this process.
bool RemoteTasks::is_here(NodeId where) const noexcept {
  return node_.surroundings().one_process || where == node_.id();
}

// Poisons what was spawned on the nodes for which `given` holds, and is not over.
template <class Given>
void RemoteTasks::give_up(Given&& given, const Cause& cause) {
  for (auto it = pending_.begin(); it != pending_.end();) {
    if (!given(it->second.where)) {
      ++it;
      continue;
    }
    const Event completion = it->first;
    it = pending_.erase(it);
    node_.task_finished(completion, cause);
  }
}

void RemoteTasks::on_peer_gone(NodeId peer, const Cause& cause) {
  give_up([peer](NodeId where) { return where == peer; }, cause);
}

void RemoteTasks::cancel(const Cause& cause) {
  cancelled_ = cause;
  give_up([this](NodeId where) { return !is_here(where); }, cause);
}

}  // namespace stretto
