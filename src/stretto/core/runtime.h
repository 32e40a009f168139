#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "stretto/base/log.h"
#include "stretto/core/node.h"
#include "stretto/core/surroundings.h"
#include "stretto/core/task.h"
#include "stretto/fabric/fabric.h"

namespace stretto {

/// What a job's process needs to know before it begins.
struct RuntimeOptions {
  RuntimeOptions() {}
  /// From the environment (`stretto info --settings` lists it): `cluster` if a launcher announces this process.
  /// Throws Error: bad_input or invalid_argument (a value that is none, a setting that does not exist); not_supported
  /// (a launcher whose other ranks cannot be reached); io (a file that a setting names).
  static RuntimeOptions from_environment();
  /// The same without the costs, for what measures them anew: STRETTO_TUNING may name a file that is yet to be written.
  static RuntimeOptions untuned_from_environment();

  std::string fabric = "local:1";      ///< see fabric/spec.h
  std::string network = "tcp";         ///< between hosts: tcp, tcp/INTERFACE or ucx; the same at all nodes of the job
  std::string process_reads = "auto";  ///< of each other's ordinary memory, by processes of a host: auto, on or off
  /// Worker threads of the process; 0: as many as it may use cores, on `cluster` divided by the job's nodes on its
  /// host, and at least one. `sim` has one, whatever is asked for.
  unsigned workers = 0;
  /// Each worker of the job keeps to a core of its host, and so do the threads that its tasks start: to one of its own,
  /// or, where there are more workers than cores, to the next one in turn, so that each core has equally many. A second
  /// job would take the same cores.
  bool bind = false;
  /// Address space of a node's segment, in which SegmentArrays and staging memory lie; memory is taken only as it is
  /// used. The nodes of one process (`local`, `sim`) share 512 GiB at most.
  std::size_t segment_bytes = std::size_t{64} << 30U;
  /// In memory that other processes of the host can't reach, large data of collectives pass through so much of the
  /// segment for each message and direction; at least 8 KiB are taken.
  std::size_t staging_bytes = std::size_t{1} << 20U;
  LogLevel log_level = LogLevel::warning;
  /// What has waited for other nodes for as long as this is told, as a warning in the log; 0: never. In real time.
  double stall_seconds = 30;
  Tuning tuning;              ///< the same at all nodes of the job
  bool reproducible = false;  ///< reductions are, see CollectiveOptions; the same at all nodes of the job
  /// For debugging: members of a collective compare also where in the source they call it and, where its operator is a
  /// function, which one. So calls in another order are found though they are otherwise alike, and so are calls that
  /// match but stand in several places. The same at all nodes of the job.
  bool check_calls = false;
};

/// The costs in a file, as STRETTO_TUNING names one. Throws Error(io) for what can be none.
Tuning read_tuning(const std::string& path);

/// The part of a job that this process is: its nodes, and the engine and fabric under them.
///
/// Used by one thread, which `run` blocks. Several may exist one after the other in a process.
class Runtime {
 public:
  using Main = std::function<Task<>(Node&)>;

  /// Sets up this process's part of the job, on `cluster` together with all others. Throws Error: bad_input or
  /// invalid_argument (an option, a table of costs, what a launcher or a peer says); not_supported (what this machine
  /// or launcher lacks); out_of_resources (memory, address space, threads, descriptors); io; peer_lost (a process of
  /// the job has died meanwhile); mismatch (processes with other tables of costs).
  explicit Runtime(const RuntimeOptions& options = RuntimeOptions());
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  /// Calls `main` once for each node of this process, as a task, and returns when all have returned and no task is
  /// left. Called once: again it throws Error(invalid_state). Tasks that still wait when the last main returns are
  /// cancelled; those that wait for tasks, when these are over. When one main fails, the other nodes of the process are
  /// cancelled likewise, and tasks that have not begun never do; those of other processes see this one die, and its
  /// Error is thrown. On `sim`, throws Error(deadlock) when nothing can happen any more, Error(bad_input) when the job
  /// is not the one whose task durations it replays, and Error(io) when those that it recorded cannot be written.
  void run(Main main);
  template <class F>
    requires(!std::is_constructible_v<Main, F> && std::is_invocable_v<F, Node&>)
  void run(F main) {
    run(Main([main = std::move(main)](Node& node) -> Task<> {
      main(node);
      co_return;
    }));
  }

  /// The nodes of this process. Valid between construction and destruction.
  std::span<const std::unique_ptr<Node>> nodes() const;
  fabric::Fabric& fabric();
  Engine& engine();
  unsigned workers() const;
  /// What runs where, in one line for people: "4 nodes on local, all in this process; 2 worker threads".
  std::string describe() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

namespace detail {
int report_failure(const std::exception& error);
}  // namespace detail

/// A whole program: reads the environment, runs `main` on every node of this process, and returns the exit code: 0, or
/// 1 after a failure, which is written to standard error as one line. Throws nothing: whatever RuntimeOptions, Runtime
/// and `main` throw ends here.
///
/// `main` is a coroutine `Task<> main(Node&)` or a plain function `void main(Node&)`. `argc` and `argv` are left to the
/// program.
template <class F>
int run(int /*argc*/, char** /*argv*/, F main) {
  try {
    Runtime runtime(RuntimeOptions::from_environment());
    runtime.run(std::move(main));
    return 0;
  } catch (const std::exception& error) {
    return detail::report_failure(error);
  }
}

}  // namespace stretto
