// Two processes over UCX: half the round trip of a message, and the bandwidth of puts. On the loopback, unless
// UCX_NET_DEVICES and UCX_TLS say otherwise.
//
//   network_transport_bench

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "stretto/fabric/cluster/network/fake_node.h"

namespace {

using namespace stretto;
using namespace stretto::fabric;
using namespace stretto::fabric::cluster;
using namespace stretto::fabric::cluster::network_test;
using Clock = std::chrono::steady_clock;

constexpr std::size_t segment_bytes = std::size_t{8} << 20U;
constexpr std::array message_sizes = {std::size_t{8}, std::size_t{1024}, max_message_bytes};
constexpr std::array put_sizes = {std::size_t{65536}, std::size_t{1} << 20U, segment_bytes};
constexpr int batches = 11;
constexpr int rounds = 500;
constexpr std::size_t bytes_per_batch = std::size_t{64} << 20U;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

double median(std::vector<double> samples) {
  const auto middle = samples.begin() + batches / 2;
  std::nth_element(samples.begin(), middle, samples.end());
  return *middle;
}

/// Sends the messages of rank 0 back.
void serve(FakeNode& node) {
  std::uint64_t left = message_sizes.size() * batches * rounds;
  node.on_receive = [&](const Message& message) {
    --left;
    node.send(message.from, {}, message.payload);
  };
  while (left != 0) node.step();
  // One message for each batch of puts.
  for (const std::size_t bytes : put_sizes) {
    for (int batch = 0; batch < batches; ++batch) {
      while (node.notifications.size() < bytes_per_batch / bytes) node.step();
      node.notifications.clear();
      node.send(0, {}, {});
    }
  }
  while (node.departures.empty()) node.step();
}

void measure(FakeNode& node) {
  std::uint64_t received = 0;
  node.on_receive = [&](const Message&) { ++received; };
  const auto await_one = [&] {
    const std::uint64_t before = received;
    while (received == before) node.step();
  };
  const std::vector<std::byte> source(segment_bytes);
  for (const std::size_t bytes : message_sizes) {
    std::vector<double> samples;
    for (int batch = 0; batch < batches; ++batch) {
      const auto start = Clock::now();
      for (int round = 0; round < rounds; ++round) {
        node.send(1, {}, ConstByteSpan(source).first(bytes));
        await_one();
      }
      samples.push_back(seconds_since(start) / rounds / 2 * 1e6);
    }
    std::printf("message %6zu B  half round trip %8.2f us\n", bytes, median(samples));
  }
  for (const std::size_t bytes : put_sizes) {
    std::vector<double> samples;
    for (int batch = 0; batch < batches; ++batch) {
      const auto start = Clock::now();
      for (std::size_t done = 0; done < bytes_per_batch; done += bytes) {
        node.transport->put(1, 0, ConstByteSpan(source).first(bytes), 0, nullptr);
      }
      await_one();
      samples.push_back(static_cast<double>(bytes_per_batch) / seconds_since(start) / 1e6);
    }
    std::printf("put %10zu B  bandwidth       %8.0f MB/s\n", bytes, median(samples));
  }
  std::printf("carried by %s\n", node.transport->networks(1).at(0).c_str());
  node.transport->leave();
  while (!node.transport->left()) node.step();
}

}  // namespace

int main() {
  setenv("UCX_TLS", "tcp", 0);
  setenv("UCX_NET_DEVICES", "lo", 0);
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends.data()) != 0) return 1;
  const pid_t child = fork();
  const NodeId self = child == 0 ? 1 : 0;
  {
    FakeNode node(self, segment_bytes);
    const std::vector<std::byte> mine = node.transport->address();
    std::vector<std::byte> peers(65536);
    if (write(ends[self], mine.data(), mine.size()) < 0) return 1;
    const ssize_t bytes = read(ends[self], peers.data(), peers.size());
    if (bytes <= 0) return 1;
    peers.resize(static_cast<std::size_t>(bytes));
    const NodeId peer = 1 - self;
    node.transport->start({&peer, 1}, [&](NodeId) { return peers; });
    self == 0 ? measure(node) : serve(node);
  }
  if (child != 0) waitpid(child, nullptr, 0);
  return 0;
}
