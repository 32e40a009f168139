// What plain TCP sockets take for the bytes of an all-reduce by a ring: each of P ranks sends 2 (P-1)/P of the vector
// to the next rank and receives as much, without waiting in between and without adding. A ring over the same links is
// not faster; for short vectors it is the kernel's wake-ups that this measures. One JSON object a line, for each size
// and each of two send buffers: of 64 KiB, and as the kernel chooses. Or (--measure overlap) with a thread that does
// that while the rank computes; and in a third manner, which takes as little of its processor as can be: what that
// loses of a computation, an all-reduce loses, too.
//
//   sockets_bench --ranks 2                                                           on the loopback
//   sockets_bench --ranks 2 --namespaces a,b --addresses 10.78.0.1,10.78.0.2          in network namespaces, as root
//
// Ranks are processes. A time is the maximum over the ranks, each call after a barrier in shared memory.

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <iostream>
#include <new>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "sockets/ring.h"
#include "stretto/base/affinity.h"
#include "stretto/program/arguments.h"
#include "stretto/program/computation.h"
#include "stretto/program/median.h"
#include "stretto/program/overlap.h"

namespace {

using sockets_bench::Descriptor;
using sockets_bench::Manner;
using sockets_bench::Ring;
using stretto::program::median_of;
using stretto::program::Overlapped;

constexpr int most_ranks = 64;
constexpr double fewest_iterations = 8;
constexpr double most_iterations = 5000;
constexpr int first_calls = 3;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

struct Options {
  int ranks = 2;
  std::string measure = "latency";
  bool bind = false;
  std::vector<std::string> namespaces;
  sockets_bench::Addresses addresses{{}, 47000};
  std::vector<std::size_t> sizes = {8, 1024, std::size_t{1} << 20U, std::size_t{8} << 20U};
  double seconds = 0.5;
};

/// What the ranks share: a barrier, and the time of each in the last call.
class Meeting {
 public:
  explicit Meeting(int ranks) : ranks_(ranks) {
    pthread_barrierattr_t attributes;
    pthread_barrierattr_init(&attributes);
    pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&barrier_, &attributes, unsigned(ranks));
    pthread_barrierattr_destroy(&attributes);
  }
  void meet() { pthread_barrier_wait(&barrier_); }
  /// The greatest of the values that the ranks come with; the same at all.
  double greatest(int rank, double value) {
    values_[rank] = value;
    meet();
    const double result = *std::max_element(values_, values_ + ranks_);
    meet();
    return result;
  }
  double least(int rank, double value) { return -greatest(rank, -value); }

 private:
  const int ranks_;
  pthread_barrier_t barrier_;
  double values_[most_ranks] = {};
};

Meeting& shared_meeting(int ranks) {
  void* const memory = mmap(nullptr, sizeof(Meeting), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
  return *new (memory) Meeting(ranks);
}

void enter_namespace(const std::string& name) {
  const Descriptor space(open(("/run/netns/" + name).c_str(), O_RDONLY | O_CLOEXEC));
  if (space.number() < 0 || setns(space.number(), CLONE_NEWNET) != 0) {
    throw std::system_error(errno, std::generic_category(), "the network namespace " + name);
  }
}

class Rank {
 public:
  Rank(const Options& options, int rank, Meeting& meeting)
      : options_(options), rank_(rank), meeting_(meeting), ring_(options.addresses, rank) {}

  void measure() {
    const bool overlap = options_.measure == "overlap";
    std::vector<Manner> manners = {{"64 KiB", 64 << 10}, {"kernel's buffers"}};
    if (overlap) manners.push_back({"at once", 4 << 20, true});
    for (const Manner& manner : manners) {
      ring_.choose(manner);
      meeting_.meet();
      ring_.join();
      if (overlap) {
        measure_overlap(manner);
      } else {
        for (const std::size_t size : options_.sizes) measure_size(size, manner);
      }
    }
  }

 private:
  /// What each rank sends.
  std::size_t bytes_of_ring(std::size_t size) const {
    const auto ranks = std::size_t(options_.ranks);
    return (2 * (ranks - 1) * size + ranks - 1) / ranks;
  }

  double timed_call(std::size_t bytes) {
    meeting_.meet();
    const Clock::time_point start = Clock::now();
    ring_.exchange(bytes);
    return meeting_.greatest(rank_, seconds_since(start));
  }

  double computation_alone(std::size_t steps) {
    meeting_.meet();
    const Clock::time_point start = Clock::now();
    compute(steps);
    return meeting_.greatest(rank_, seconds_since(start));
  }

  Overlapped overlapped_call(std::size_t bytes, std::size_t steps) {
    meeting_.meet();
    const Clock::time_point start = Clock::now();
    double completed = 0;
    std::thread carrier([&] {
      ring_.exchange(bytes);
      completed = seconds_since(start);
    });
    const double issued = seconds_since(start);
    compute(steps);
    const double computed = seconds_since(start);
    carrier.join();
    const double together = seconds_since(start);
    const double computing = computed - issued;
    return {meeting_.greatest(rank_, completed), meeting_.least(rank_, computed), meeting_.greatest(rank_, together),
            meeting_.greatest(rank_, computing), meeting_.greatest(rank_, together - computing)};
  }

  void measure_overlap(const Manner& manner) {
    const std::size_t bytes = bytes_of_ring(overlap_bytes);
    std::vector<double> alone(overlap_calls_alone);
    for (double& each : alone) each = timed_call(bytes);
    for (const int factor : overlap_factors) {
      const auto summary = stretto::program::measure_overlap(
          factor, median_of(alone), [&](std::size_t steps) { return computation_alone(steps); },
          [&](std::size_t steps) { return overlapped_call(bytes, steps); });
      nlohmann::ordered_json result = row("allreduce_overlap", overlap_bytes, manner);
      summary.write_to(result);
      print(result);
    }
  }

  void measure_size(std::size_t size, const Manner& manner) {
    const std::size_t bytes = bytes_of_ring(size);
    double estimate = 0;
    for (int i = 0; i < first_calls; ++i) estimate = timed_call(bytes);
    const double fitting = options_.seconds / std::max(estimate, 1e-7);
    std::vector<double> seconds(std::size_t(std::clamp(fitting, fewest_iterations, most_iterations)));
    for (double& each : seconds) each = timed_call(bytes);
    std::sort(seconds.begin(), seconds.end());
    nlohmann::ordered_json result = row("allreduce", size, manner);
    result["iterations"] = seconds.size();
    result["median_seconds"] = seconds[seconds.size() / 2];
    result["p99_seconds"] = stretto::program::p99_of_sorted(seconds);
    print(result);
  }

  nlohmann::ordered_json row(const char* operation, std::size_t size, const Manner& manner) const {
    return {{"operation", operation},
            {"rival", "sockets, " + manner.name},
            {"fabric", "processes"},
            {"ranks", options_.ranks},
            {"bytes", size}};
  }

  void print(const nlohmann::ordered_json& row) const {
    if (rank_ == 0) std::cout << row.dump() << std::endl;
  }

  const Options& options_;
  const int rank_;
  Meeting& meeting_;
  Ring ring_;
};

int run_rank(const Options& options, int rank, Meeting& meeting) {
  try {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!options.namespaces.empty()) enter_namespace(options.namespaces.at(std::size_t(rank)));
    if (options.bind) stretto::bind_thread_to_cores(std::size_t(rank), 1);
    Rank(options, rank, meeting).measure();
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "sockets_bench: rank " << rank << ": " << error.what() << '\n';
    return 1;
  }
}

/// A rank that fails ends the others, who would wait for it.
int run_ranks(const Options& options) {
  Meeting& meeting = shared_meeting(options.ranks);
  std::vector<pid_t> children;
  for (int rank = 0; rank < options.ranks; ++rank) {
    const pid_t child = fork();
    if (child == 0) _exit(run_rank(options, rank, meeting));
    if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
    children.push_back(child);
  }
  int failures = 0;
  for (std::size_t ended = 0; ended < children.size(); ++ended) {
    int status = 0;
    wait(&status);
    if (status == 0) continue;
    ++failures;
    for (const pid_t child : children) kill(child, SIGKILL);
  }
  return failures == 0 ? 0 : 1;
}

void check(const std::vector<std::string>& list, const char* option, int ranks) {
  if (int(list.size()) == ranks) return;
  stretto::program::refuse(option + std::string(": needs one for each of the ") + std::to_string(ranks) +
                           " ranks, not " + std::to_string(list.size()));
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  stretto::program::Arguments arguments(
      "sockets_bench", "Measures plain TCP sockets with the bytes of an all-reduce by a ring; JSON lines to stdout.");
  arguments.option("--ranks", options.ranks, "Processes in the ring").between(2, most_ranks).shows_default();
  arguments.option("--namespaces", options.namespaces, "The network namespace of each rank; default: this one")
      .comma_separated();
  arguments.option("--addresses", options.addresses.hosts, "The IPv4 address of each rank; default: 127.0.0.1")
      .comma_separated();
  arguments.option("--port", options.addresses.port, "Of rank 0; the others' follow")
      .between(1, 65535 - most_ranks)
      .shows_default();
  arguments.option("--measure", options.measure, "What: latency, overlap (with a computation, of 1 MiB)")
      .one_of({"latency", "overlap"})
      .shows_default();
  arguments.flag("--bind", options.bind, "Rank 0 to the first core, rank 1 to the second, and so on");
  arguments.option("--sizes", options.sizes, "Bytes of the vector, multiples of 8")
      .comma_separated()
      .whole_doubles()
      .shows_default();
  arguments.option("--seconds", options.seconds, "About how long to measure each size")
      .measured_seconds()
      .shows_default();
  return arguments.run(argc, argv, [&] {
    if (options.addresses.hosts.empty()) {
      options.addresses.hosts.assign(std::size_t(options.ranks), "127.0.0.1");
    }
    check(options.addresses.hosts, "--addresses", options.ranks);
    if (!options.namespaces.empty()) check(options.namespaces, "--namespaces", options.ranks);
    return run_ranks(options);
  });
}
