#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

namespace stretto {

class Engine;
class Node;
class Processor;
class Worker;

/// Something that is ready to run on a processor. Intrusive; `run` owns it from then on.
struct Runnable {
  using Run = void (*)(Runnable*, Worker&) noexcept;

  Runnable(Run run_function, int run_priority) noexcept : run(run_function), priority(run_priority) {}

  Runnable* next = nullptr;
  Run run;
  int priority;
  Worker* pinned = nullptr;  ///< set for a stack that only this worker can go back to
};

/// Where a node's tasks run: one queue, one task at a time (Realm paper, section 4.1).
///
/// Any thread posts. A worker that *holds* the processor takes from it; an engine brings processors with work and
/// workers together. Higher priorities first, oldest first among equals.
class Processor {  // NOLINT(clang-analyzer-optin.performance.Padding): what others write has a line of its own
 public:
  /// Ordinary processors run the program's tasks. A service processor runs short work that must go on while every
  /// ordinary one is in a long task, such as a user's reduction operator.
  enum class Kind : std::uint8_t { ordinary, service };

  Processor(Node& node, Engine& engine, std::uint32_t index, Kind kind) noexcept
      : node_(node), engine_(engine), index_(index), kind_(kind) {}
  Processor(const Processor&) = delete;
  Processor& operator=(const Processor&) = delete;

  Node& node() const noexcept { return node_; }
  std::uint32_t index() const noexcept { return index_; }
  Kind kind() const noexcept { return kind_; }

  /// Queues `runnable`. Any thread.
  void post(Runnable* runnable) noexcept;

  // For the worker that holds the processor.

  /// Whether `pop` would return something.
  bool has_work() const noexcept;
  /// The next to run, or null.
  Runnable* pop() noexcept;
  /// Puts back what `pop` returned, to be next again.
  void unpop(Runnable* runnable) noexcept;
  /// Lets go of it. Returns true when it is still held because there is work after all.
  bool release() noexcept;
  /// Lets go of it; if it has work left, it is made ready for any worker.
  void hand_on() noexcept;

  /// How often it has come to have work, and to have none: odd while it is held or has some. The same even number
  /// twice: it has rested in between. Any thread.
  std::uint32_t changes() const noexcept { return changes_.load(std::memory_order_seq_cst); }

  /// For the engine's list of ready processors, under the engine's lock.
  Processor* next_ready = nullptr;

 private:
  struct Bucket {
    int priority;
    Runnable* first;
    Runnable* last;
  };

  bool has_queued() const noexcept { return !buckets_.empty(); }
  void append(Runnable* runnable) noexcept;
  void take_incoming() noexcept;
  bool try_leave_idle() noexcept;
  Bucket& bucket(int priority);

  Node& node_;
  Engine& engine_;
  std::uint32_t index_;
  Kind kind_;
  std::vector<Bucket> buckets_;                           // by rising priority, none empty; only the holder touches it
  alignas(64) std::atomic<Runnable*> incoming_{nullptr};  // newest first
  std::atomic<std::uint32_t> changes_{0};
};

}  // namespace stretto
