// The message below all that ping_pong/ measures, from the fabric's `send` to its handler: half the round trip between
// two processes of one host, each pinned to a core of its own, the median of batches. One JSON object a line.

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "stretto/fabric/cluster/cluster_fabric.h"
#include "stretto/fabric/cluster/fork_job.h"
#include "stretto/program/arguments.h"

namespace {

using namespace stretto;
using namespace stretto::fabric;

constexpr int batch_rounds = 500;

struct Options {
  int rounds = 200'000;
  std::vector<int> cores = {0, 1};
};

void pin(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<unsigned>(core), &set);
  sched_setaffinity(0, sizeof(set), &set);
}

class Player final : public MessageHandler {
 public:
  explicit Player(Endpoint& endpoint) : endpoint_(endpoint) { endpoint.set_handler(MessageType::test, *this); }

  void on_message(const Message& message) override {
    ++received_;
    if (returns_) endpoint_.send(message.from, MessageType::test, {}, message.payload);
  }

  void serve(std::uint64_t count) {
    returns_ = true;
    while (received_ < count) endpoint_.progress();
  }

  void exchange(NodeId peer, ConstByteSpan payload) {
    const std::uint64_t next = received_ + 1;
    endpoint_.send(peer, MessageType::test, {}, payload);
    while (received_ < next) endpoint_.progress();
  }

 private:
  Endpoint& endpoint_;
  std::uint64_t received_ = 0;
  bool returns_ = false;
};

double median_ns(Player& player, std::size_t bytes, int rounds) {
  using Clock = std::chrono::steady_clock;
  const std::vector<std::byte> payload(bytes);
  std::vector<double> samples;
  for (int done = 0; done < rounds; done += batch_rounds) {
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < batch_rounds; ++i) player.exchange(1, payload);
    const std::chrono::duration<double, std::nano> taken = Clock::now() - start;
    samples.push_back(taken.count() / (2.0 * batch_rounds));
  }
  std::sort(samples.begin(), samples.end());
  return samples[samples.size() / 2];
}

/// Returns how many of the processes have failed.
int measure(const Options& options) {
  const int rounds = options.rounds / batch_rounds * batch_rounds;
  const std::vector<std::size_t> sizes = {8, 56, 1024, 16 * 1024};
  ForkJob job(2);
  std::vector<pid_t> children;
  for (NodeId rank = 0; rank < 2; ++rank) {
    children.push_back(job.start(rank, [&, rank](std::unique_ptr<Bootstrap> bootstrap) {
      pin(options.cores[rank]);
      const auto fabric = make_cluster_fabric(std::move(bootstrap), {}, nullptr);
      Endpoint& endpoint = *fabric->endpoints()[0];
      Player player(endpoint);
      endpoint.context().enter([&] {
        if (rank == 1) {
          player.serve(sizes.size() * static_cast<std::uint64_t>(rounds));
        } else {
          for (const std::size_t bytes : sizes) {
            std::printf("{\"benchmark\": \"ping_pong\", \"bytes\": %zu, \"half_round_trip_seconds\": %.3e}\n", bytes,
                        median_ns(player, bytes, rounds) * 1e-9);
          }
        }
      });
      fabric->close();
      return 0;
    }));
  }
  int failures = 0;
  for (const pid_t child : children) failures += ForkJob::result_of(child) != 0;
  return failures;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  program::Arguments arguments(
      "fabric_ping_pong_bench",
      "Measures messages between two processes by the endpoints of their fabric alone; JSON lines to stdout.");
  arguments
      .option("--rounds", options.rounds, "Round trips of each size, in batches of " + std::to_string(batch_rounds))
      .between(batch_rounds, 1'000'000'000)
      .shows_default();
  arguments.option("--cores", options.cores, "The core of each process")
      .values(2)
      .between(0, CPU_SETSIZE - 1)
      .shows_default();
  return arguments.run(argc, argv, [&] { return measure(options); });
}
