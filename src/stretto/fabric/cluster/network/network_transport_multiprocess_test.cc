// Peers that are killed, between processes. The test's own process never uses UCX, which must not be used before a
// fork.

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "stretto/fabric/cluster/network/fake_node.h"

namespace stretto::fabric::cluster {
namespace {

using namespace network_test;

/// Bytes from one process to another, in whole records.
class Pipe {
 public:
  Pipe() {
    if (pipe(ends_.data()) != 0) std::abort();
  }
  ~Pipe() {
    close(ends_[0]);
    close(ends_[1]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  void put(ConstByteSpan record) {
    const std::size_t size = record.size();
    all(write(ends_[1], &size, sizeof(size)), sizeof(size));
    all(write(ends_[1], record.data(), size), size);
  }
  /// Blocks; aborts the process when the other one is gone without a word, so that nothing hangs.
  std::vector<std::byte> take() {
    pollfd entry{ends_[0], POLLIN, 0};
    if (poll(&entry, 1, 60000) != 1) std::abort();
    std::size_t size = 0;
    all(read(ends_[0], &size, sizeof(size)), sizeof(size));
    std::vector<std::byte> record(size);
    for (std::size_t at = 0; at < size;) {
      const ssize_t got = read(ends_[0], record.data() + at, size - at);
      if (got <= 0) std::abort();
      at += static_cast<std::size_t>(got);
    }
    return record;
  }
  void signal() { put({}); }

 private:
  static void all(ssize_t done, std::size_t bytes) {
    if (done != static_cast<ssize_t>(bytes)) std::abort();
  }
  std::array<int, 2> ends_{};
};

/// Two processes, nodes 0 and 1 of a job. A body returns whether all was as it should be.
class TwoProcesses : public ::testing::TestWithParam<const char*> {
 protected:
  using Body = std::function<bool(FakeNode&)>;

  TwoProcesses() { use_tcp_loopback(); }

  pid_t start(NodeId self, const Body& body) {
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child != 0) return child;
    bool good = false;
    {
      FakeNode node(GetParam(), self, segment_bytes);
      const NodeId peer = 1 - self;
      published_[self].put(node.transport->address());
      const std::vector<std::byte> address = published_[peer].take();
      node.transport->start(std::array{peer}, [&](NodeId) { return address; });
      good = body(node);
    }
    _exit(good ? 0 : 1);
  }

  static void expect_good_end(pid_t child) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "wait status " << status;
  }
  static void expect_killed(pid_t child) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "wait status " << status;
  }

  /// Progress until `done`, asleep where there is nothing to do; false when nothing has happened for a minute.
  static bool sleep_until(FakeNode& node, const std::function<bool()>& done) {
    while (!done()) {
      if (node.step()) continue;
      if (done()) return true;
      if (!node.transport->arm(Alarm::none)) continue;
      pollfd entry{node.transport->descriptor(), POLLIN, 0};
      if (poll(&entry, 1, 60000) != 1) return false;
      node.transport->disarm();
    }
    return true;
  }

  static bool lost_by_failure(const FakeNode& node, NodeId peer) {
    return node.losses.size() == 1 && node.losses[0].first == peer &&
           node.losses[0].second.code() == ErrorCode::peer_lost;
  }

  static constexpr std::size_t segment_bytes = std::size_t{8} << 20U;
  std::array<Pipe, 2> published_;
  Pipe ready_;
  Pipe killed_;
};

INSTANTIATE_TEST_SUITE_P(EachNetwork, TwoProcesses, ::testing::ValuesIn(networks_under_test),
                         [](const auto& test) { return carrier_of(test.param); });

TEST_P(TwoProcesses, ExchangeByTcpAsleepAndLeave) {
  constexpr std::size_t count = 1000;
  const auto body = [&](FakeNode& node) {
    const NodeId peer = 1 - node.id;
    const std::vector<std::byte> source = pattern(segment_bytes, node.id);
    for (std::uint32_t i = 0; i < count; ++i) node.send(peer, bytes_of(i), ConstByteSpan(source).first(i * 13 % 9000));
    CountedCompletion done;
    node.transport->put(peer, 0, source, 1, &done);
    bool good = sleep_until(
        node, [&] { return node.received.size() == count && node.notifications.size() == 1 && done.fired == 1; });
    good = good && node.segment == pattern(segment_bytes, peer);
    good = good && node.transport->networks(peer) == std::vector<std::string>{"tcp/lo"};
    std::vector<bool> seen(count);
    for (const FakeNode::Received& message : node.received) {
      std::uint32_t number = count;
      std::memcpy(&number, message.header.data(), sizeof(number));
      good = good && number < count && !seen[number];
      if (good) seen[number] = true;
    }
    node.transport->leave();
    good = good && sleep_until(node, [&] { return node.transport->left(); });
    return good && node.losses.empty();
  };
  const pid_t first = start(0, body);
  const pid_t second = start(1, body);
  expect_good_end(first);
  expect_good_end(second);
}

TEST_P(TwoProcesses, APeerKilledBeforeTheFirstUseIsLost) {
  const pid_t survivor = start(0, [&](FakeNode& node) {
    killed_.take();
    CountedCompletion done;
    node.send(1, {}, {});
    node.transport->put(1, 0, node.segment, 0, &done);
    return sleep_until(node, [&] { return node.lost(1) && done.fired == 1; }) && done.lost && lost_by_failure(node, 1);
  });
  const pid_t victim = start(1, [&](FakeNode&) {
    ready_.signal();
    pause();
    return false;
  });
  ready_.take();
  kill(victim, SIGKILL);
  expect_killed(victim);
  killed_.signal();
  expect_good_end(survivor);
}

TEST_P(TwoProcesses, APeerKilledWhileBothAreIdleIsLost) {
  const pid_t survivor = start(0, [&](FakeNode& node) {
    if (!sleep_until(node, [&] { return node.received.size() == 1; })) return false;
    ready_.signal();
    return sleep_until(node, [&] { return node.lost(1); }) && lost_by_failure(node, 1);
  });
  const pid_t victim = start(1, [&](FakeNode& node) {
    node.send(0, {}, {});
    return sleep_until(node, [] { return false; });
  });
  ready_.take();
  kill(victim, SIGKILL);
  expect_killed(victim);
  expect_good_end(survivor);
}

TEST_P(TwoProcesses, APeerKilledInTheMiddleOfTransfersIsLostWithThem) {
  constexpr std::size_t transfers = 40;
  const pid_t survivor = start(0, [&](FakeNode& node) {
    std::vector<std::byte> destination(segment_bytes);
    std::vector<CountedCompletion> done(2 * transfers);
    std::size_t lost = 0;
    bool announced = false;
    for (std::size_t i = 0; i < transfers; ++i) {
      node.transport->put(1, 0, node.segment, i, &done[i]);
      node.transport->get(1, 0, destination, &done[transfers + i]);
      node.send(1, {}, ConstByteSpan(node.segment).first(12000));
    }
    const auto all_fired = [&] {
      const auto fired = static_cast<std::size_t>(
          std::count_if(done.begin(), done.end(), [](const CountedCompletion& c) { return c.fired > 0; }));
      if (fired > 3 && !std::exchange(announced, true)) ready_.signal();
      return fired == done.size();
    };
    if (!sleep_until(node, [&] { return all_fired() && node.lost(1); })) return false;
    for (int i = 0; i < 1000; ++i) node.step();
    for (const CountedCompletion& completion : done) {
      if (completion.fired != 1) return false;
      lost += completion.lost ? 1 : 0;
    }
    return lost > 0 && lost < done.size() && lost_by_failure(node, 1);
  });
  const pid_t victim = start(1, [&](FakeNode& node) { return sleep_until(node, [] { return false; }); });
  ready_.take();
  kill(victim, SIGKILL);
  expect_killed(victim);
  expect_good_end(survivor);
}

TEST_P(TwoProcesses, MessagesThatArrivedBeforeTheDeathAreHandedOver) {
  constexpr std::size_t count = 100;
  const pid_t survivor = start(0, [&](FakeNode& node) {
    if (!sleep_until(node, [&] { return node.received.size() == 1; })) return false;
    ready_.signal();  // and sleep through the rest of the peer's life
    killed_.take();
    return sleep_until(node, [&] { return node.lost(1); }) && node.received.size() == 1 + count;
  });
  Pipe go;
  Pipe sent;
  const pid_t victim = start(1, [&](FakeNode& node) {
    node.send(0, {}, {});
    if (!sleep_until(node, [&] { return node.transport->flushed(); })) return false;
    go.take();
    for (std::size_t i = 0; i < count; ++i) node.send(0, {}, ConstByteSpan(node.segment).first(100));
    if (!sleep_until(node, [&] { return node.transport->flushed(); })) return false;
    sent.signal();
    pause();
    return false;
  });
  ready_.take();
  go.signal();
  sent.take();
  kill(victim, SIGKILL);
  expect_killed(victim);
  killed_.signal();
  expect_good_end(survivor);
}

TEST_P(TwoProcesses, AStoppedPeerIsSlowNotDead) {
  const pid_t slow = start(1, [&](FakeNode& node) {
    if (!sleep_until(node, [&] { return node.notifications.size() == 1; })) return false;
    ready_.signal();
    return sleep_until(node, [&] { return node.notifications.size() == 3; }) && node.losses.empty();
  });
  Pipe stopped;
  Pipe waited;
  const pid_t fast = start(0, [&](FakeNode& node) {
    CountedCompletion first;
    CountedCompletion second;
    node.transport->put(1, 0, ConstByteSpan(node.segment).first(100), 1, nullptr);
    if (!sleep_until(node, [&] { return node.transport->flushed(); })) return false;
    stopped.take();
    node.transport->put(1, 0, node.segment, 2, &first);
    node.transport->put(1, 0, node.segment, 3, &second);
    // The kernel's buffers hold less than this: the second put waits for the peer.
    for (int i = 0; i < 10000; ++i) node.step();
    if (second.fired != 0 || !node.losses.empty()) return false;
    waited.signal();
    if (!sleep_until(node, [&] { return second.fired == 1; }) || second.lost) return false;
    node.transport->leave();
    return sleep_until(node, [&] { return node.transport->left() || node.lost(1); });
  });
  ready_.take();
  kill(slow, SIGSTOP);
  int status = 0;
  ASSERT_EQ(waitpid(slow, &status, WUNTRACED), slow);
  ASSERT_TRUE(WIFSTOPPED(status));
  stopped.signal();
  waited.take();
  kill(slow, SIGCONT);
  expect_good_end(slow);
  expect_good_end(fast);
}

}  // namespace
}  // namespace stretto::fabric::cluster
