// Nodes as processes: traffic, deaths at chosen points, stopped processes. What processes wait for one another for goes
// through pipes; nothing sleeps for a time.

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <functional>
#include <set>
#include <span>

#include "stretto/base/hash.h"
#include "stretto/base/random.h"
#include "stretto/base/refuse_call.h"
#include "stretto/fabric/cluster/fork_job.h"
#include "stretto/fabric/cluster/host/introduction.h"
#include "stretto/fabric/cluster/test_node.h"

namespace stretto::fabric {
namespace {

using Member = std::unique_ptr<Bootstrap>;

std::uint64_t number_in(const TestNode::Received& message) {
  std::uint64_t number = 0;
  std::memcpy(&number, message.payload.data(), sizeof(number));
  return number;
}

/// Runs `body` as each rank of a job, and expects each to return 0.
void run_job(std::uint32_t size, const std::function<int(NodeId, Member)>& body, std::vector<std::string> hosts = {}) {
  ForkJob job(size, std::move(hosts));
  std::vector<pid_t> children;
  for (NodeId rank = 0; rank < size; ++rank) {
    children.push_back(job.start(rank, [&](Member member) { return body(rank, std::move(member)); }));
  }
  for (NodeId rank = 0; rank < size; ++rank) EXPECT_EQ(ForkJob::result_of(children[rank]), 0) << "rank " << rank;
}

// Each sends to each; a checksum in the header, a number in the payload.
int exchange_all(Member member, std::uint64_t count) {
  TestNode node(std::move(member));
  const NodeId self = node.endpoint().self();
  const std::uint32_t size = node.endpoint().size();
  Random random(31 + self);
  for (std::uint64_t i = 0; i < count; ++i) {
    for (NodeId to = 0; to < size; ++to) {
      std::vector<std::byte> payload(8 + random.below(i % 100 == 0 ? 12'000 : 200), static_cast<std::byte>(i));
      std::memcpy(payload.data(), &i, sizeof(i));
      node.send(to, payload, bytes_of(fnv1a_64(payload)));
    }
    if (random.below(10) == 0) node.serve();
  }
  node.serve_until([&] { return node.messages.size() >= size * count; });
  std::set<std::pair<NodeId, std::uint64_t>> seen;
  for (const auto& message : node.messages) {
    std::uint64_t sum = 0;
    if (message.header.size() != sizeof(sum)) return 1;
    std::memcpy(&sum, message.header.data(), sizeof(sum));
    if (sum != fnv1a_64(message.payload)) return 2;
    if (!seen.emplace(message.from, number_in(message)).second) return 3;
  }
  node.close();
  return seen.size() == size * count && node.lost.empty() ? 0 : 4;
}

TEST(ClusterProcesses, EveryMessageArrivesOnce) {
  run_job(4, [](NodeId, Member member) { return exchange_all(std::move(member), 3000); });
}

TEST(ClusterProcesses, SixteenShareAHost) {
  run_job(16, [](NodeId, Member member) { return exchange_all(std::move(member), 50); });
}

TEST(ClusterProcesses, TwoHostsAndWithinThem) {
  run_job(4, [](NodeId, Member member) { return exchange_all(std::move(member), 300); }, {"a", "a", "b", "b"});
}

TEST(ClusterProcesses, PutsAndGetsReachNearAndFarPeers) {
  constexpr std::size_t bytes = 300'000;
  run_job(3,
          [](NodeId self, Member member) {
            TestNode node(std::move(member));
            // Every node takes the same first piece of its segment, one part for each writer.
            const std::uint64_t offset = node.endpoint().segment().allocate(3 * bytes);
            node.serve_until([&, told = false]() mutable {
              // An offset may be used once its owner has said that it is there.
              for (NodeId to = 0; to < 3 && !told; ++to) node.send(to, bytes_of(offset));
              told = true;
              return node.messages.size() == 3;
            });
            const std::vector<std::byte> source(bytes, static_cast<std::byte>(self + 1));
            std::vector<TestCompletion> puts(3);
            node.with([&](Endpoint& endpoint) {
              for (NodeId to = 0; to < 3; ++to) endpoint.put(to, offset + self * bytes, source, self, &puts[to]);
            });
            node.serve_until(
                [&] { return node.notifications.size() == 3 && puts[0].fired + puts[1].fired + puts[2].fired == 3; });
            for (NodeId from = 0; from < 3; ++from) {
              if (*node.endpoint().segment().pointer(offset + (from + 1) * bytes - 1) != std::byte(from + 1)) return 1;
            }
            std::vector<std::byte> fetched(bytes);
            for (NodeId from = 0; from < 3; ++from) {
              TestCompletion got;
              node.with([&](Endpoint& endpoint) { endpoint.get(from, offset + self * bytes, fetched, &got); });
              node.serve_until([&] { return got.fired != 0; });
              if (got.lost || fetched != source) return 2;
            }
            // Nobody leaves before all have what they want.
            for (NodeId to = 0; to < 3; ++to) node.send(to, bytes_of(offset));
            node.serve_until([&] { return node.messages.size() == 6; });
            node.close();
            return node.lost.empty() ? 0 : 3;
          },
          {"a", "a", "b"});
}

/// A survivor that waits, asleep, until it knows that rank 1 is dead.
int outlive(Member member, const std::function<int(TestNode&)>& check) {
  TestNode node(std::move(member));
  node.serve_until([&] { return node.lost.contains(1); });
  if (node.lost.at(1).code() != ErrorCode::peer_lost) return 1;
  return check(node);
}

TEST(ClusterProcesses, ADeathBeforeTheFirstMessageIsSeen) {
  ForkJob job(3);
  const auto survive = [](Member member) {
    return outlive(std::move(member), [](TestNode& node) {
      node.send(1, bytes_of(1));  // dropped
      TestCompletion completion;
      std::byte byte{};
      node.with([&](Endpoint& endpoint) { endpoint.get(1, 0, {&byte, 1}, &completion); });
      return completion.fired == 1 && completion.lost ? 0 : 2;
    });
  };
  const pid_t first = job.start(0, survive);
  const pid_t second = job.start(2, survive);
  const pid_t dying = job.start(1, [](Member member) {
    TestNode node(std::move(member));
    return std::raise(SIGKILL);
  });
  EXPECT_EQ(ForkJob::result_of(dying), -SIGKILL);
  EXPECT_EQ(ForkJob::result_of(first), 0);
  EXPECT_EQ(ForkJob::result_of(second), 0);
}

TEST(ClusterProcesses, WhatWasWrittenBeforeADeathArrives) {
  for (const std::uint64_t count : {1U, 2U, 17U, 127U, 128U, 1000U}) {
    ForkJob job(2);
    Gate dead;
    const pid_t survivor = job.start(0, [&](Member member) {
      TestNode node(std::move(member));
      dead.wait();  // the death and the last words are noticed together
      node.serve_until([&] { return node.lost.contains(1); });
      for (std::uint64_t i = 0; i < node.messages.size(); ++i) {
        if (number_in(node.messages[i]) != i) return 2;
      }
      return node.messages.size() == count ? 0 : 3;
    });
    const pid_t dying = job.start(1, [&](Member member) {
      TestNode node(std::move(member));
      for (std::uint64_t i = 0; i < count; ++i) node.send(0, bytes_of(i));
      return std::raise(SIGKILL);
    });
    EXPECT_EQ(ForkJob::result_of(dying), -SIGKILL);
    dead.open();
    EXPECT_EQ(ForkJob::result_of(survivor), 0) << count << " messages";
  }
}

TEST(ClusterProcesses, ADeathInTheMiddleFailsWhatWasUnderWay) {
  for (const bool peer_pointer : {true, false}) {
    ForkJob job(2);
    Gate flooded;
    const pid_t survivor = job.start(0, [&](Member member) {
      ClusterOptions options = TestNode::small();
      options.peer_pointer = peer_pointer;
      TestNode node(std::move(member), options);
      node.serve_until([&] { return node.messages.size() == 1; });
      // The peer does not read: these wait in our queues.
      const std::vector<std::byte> source(4'000'000);
      std::vector<std::byte> destination(4'000'000);
      TestCompletion put;
      TestCompletion got;
      for (std::uint64_t i = 0; i < 5000; ++i) node.send(1, bytes_of(i));
      node.with([&](Endpoint& endpoint) {
        endpoint.put(1, 0, source, 1, &put);
        endpoint.get(1, 0, destination, &got);
      });
      while (node.serve()) {
      }
      flooded.open();
      node.serve_until([&] { return node.lost.contains(1); });
      if (put.fired != 1 || !put.lost || got.fired != 1 || !got.lost) return 2;
      node.close();  // nothing is left to wait for
      return 0;
    });
    const pid_t dying = job.start(1, [&](Member member) {
      TestNode node(std::move(member));
      node.endpoint().segment().allocate(4'000'000);
      node.send(0, bytes_of(std::uint64_t{0}));
      flooded.wait();
      return std::raise(SIGKILL);
    });
    EXPECT_EQ(ForkJob::result_of(dying), -SIGKILL);
    EXPECT_EQ(ForkJob::result_of(survivor), 0);
  }
}

TEST(ClusterProcesses, ADeathAfterTheGoodbyeIsSilent) {
  ForkJob job(2);
  Gate dead;
  const pid_t survivor = job.start(0, [&](Member member) {
    TestNode node(std::move(member));
    node.serve_until([&] { return node.messages.size() == 1; });
    dead.wait();
    for (int i = 0; i < 10; ++i) {
      if (node.endpoint().arm(Alarm::none)) node.endpoint().disarm();
      while (node.serve()) {
      }
    }
    node.close();
    return node.lost.empty() ? 0 : 1;
  });
  const pid_t leaving = job.start(1, [](Member member) {
    TestNode node(std::move(member));
    node.send(0, bytes_of(std::uint64_t{0}));
    node.close();
    return std::raise(SIGKILL);
  });
  EXPECT_EQ(ForkJob::result_of(leaving), -SIGKILL);
  dead.open();
  EXPECT_EQ(ForkJob::result_of(survivor), 0);
}

// A child that was forked without exec keeps the dead process's descriptors open.
TEST(ClusterProcesses, ADeathIsSeenThoughAChildHoldsTheSockets) {
  ForkJob job(2);
  Gate over;
  const pid_t survivor =
      job.start(0, [](Member member) { return outlive(std::move(member), [](TestNode&) { return 0; }); });
  const pid_t dying = job.start(1, [&](Member member) {
    TestNode node(std::move(member));
    if (fork() == 0) {
      over.wait();
      _exit(0);
    }
    return std::raise(SIGKILL);
  });
  EXPECT_EQ(ForkJob::result_of(dying), -SIGKILL);
  EXPECT_EQ(ForkJob::result_of(survivor), 0);
  over.open();
}

TEST(ClusterProcesses, AStoppedProcessIsSlowNotDead) {
  ForkJob job(2);
  Gate stopped;
  Gate waited;
  const pid_t waiting = job.start(0, [&](Member member) {
    TestNode node(std::move(member));
    stopped.wait();
    // More than fits, and many looks for a death that is none.
    for (std::uint64_t i = 0; i < 3000; ++i) node.send(1, bytes_of(i));
    for (int i = 0; i < 20'000; ++i) {
      node.serve();
      if (i % 100 == 0 && node.endpoint().arm(Alarm::none)) node.endpoint().disarm();
    }
    if (!node.lost.empty()) return 1;
    waited.open();
    node.serve_until([&] { return node.messages.size() == 1; });
    node.close();
    return node.lost.empty() ? 0 : 2;
  });
  const pid_t slow = job.start(1, [](Member member) {
    TestNode node(std::move(member));
    std::raise(SIGSTOP);
    node.serve_until([&] { return node.messages.size() == 3000; });
    node.send(0, bytes_of(std::uint64_t{0}));
    node.close();
    return node.lost.empty() ? 0 : 1;
  });
  int status = 0;
  waitpid(slow, &status, WUNTRACED);
  ASSERT_TRUE(WIFSTOPPED(status));
  stopped.open();
  waited.wait();
  kill(slow, SIGCONT);
  EXPECT_EQ(ForkJob::result_of(waiting), 0);
  EXPECT_EQ(ForkJob::result_of(slow), 0);
}

/// What a node has published that answers nobody who calls on it.
struct SilentNode {
  explicit SilentNode(Bootstrap& member) {
    door.open([](NodeId) { return false; }, {});
    const cluster::HostCard card = cluster::make_card(door.name(), secret, 1024, 1U << 20U);
    const std::string_view host = member.host();
    member.put("cluster.host", std::as_bytes(std::span(host.data(), host.size())));
    member.put("cluster.machine", std::as_bytes(std::span(host.data(), host.size())));
    member.put("cluster.cores", bytes_of(std::uint32_t{1}));
    member.put("cluster.tuning", bytes_of(std::uint64_t{0}));
    member.put("cluster.card", bytes_of(card));
    member.fence();
  }
  const cluster::Secret secret = cluster::make_secret();
  cluster::Watcher watcher;
  cluster::Door door{watcher, 0, secret};
};

// Rank 1 publishes a card and dies: before anybody calls, or while rank 0 waits for its answer.
TEST(ClusterProcesses, ADeathDuringTheStartIsSeen) {
  for (const bool answers_the_door : {false, true}) {
    ForkJob job(2);
    const pid_t survivor =
        job.start(0, [](Member member) { return outlive(std::move(member), [](TestNode&) { return 0; }); });
    const pid_t dying = job.start(1, [&](Member member) {
      SilentNode node(*member);
      std::uint64_t tag = 0;
      if (answers_the_door) node.watcher.wait({&tag, 1}, -1);
      return std::raise(SIGKILL);
    });
    EXPECT_EQ(ForkJob::result_of(dying), -SIGKILL);
    EXPECT_EQ(ForkJob::result_of(survivor), 0);
  }
}

// Its connection does not tell: a child of it may hold on to the other end.
TEST(ClusterProcesses, AProcessThatIsNoMoreIsLostDuringTheStart) {
  ForkJob job(2);
  Gate over;
  const pid_t survivor = job.start(0, [](Member member) {
    if (!test::refuse_call(SYS_pidfd_open, ESRCH)) return 3;
    return outlive(std::move(member), [](TestNode&) { return 0; });
  });
  const pid_t silent = job.start(1, [&](Member member) {
    const SilentNode node(*member);
    over.wait();
    return 0;
  });
  EXPECT_EQ(ForkJob::result_of(survivor), 0);
  over.open();
  EXPECT_EQ(ForkJob::result_of(silent), 0);
}

TEST(ClusterProcesses, WhereProcessesCannotBeWatchedTheirConnectionsAre) {
  for (const int error : {ENOSYS, EPERM}) {
    run_job(2, [error](NodeId, Member member) {
      return test::refuse_call(SYS_pidfd_open, error) ? exchange_all(std::move(member), 10) : 9;
    });
  }
}

/// From now on this process gets no memory for what it shares; whether the kernel does us that favour.
bool refuse_shared_memory() { return test::refuse_call(SYS_fallocate, ENOSPC); }

TEST(ClusterProcesses, APeerForWhoseRingThereIsNoMemoryIsLost) {
  run_job(2, [](NodeId self, Member member) {
    if (self == 0) return outlive(std::move(member), [](TestNode&) { return 0; });
    TestNode node(std::move(member));
    if (!refuse_shared_memory()) return 1;
    bool in_the_call = true;
    node.with([&](Endpoint& endpoint) {
      endpoint.send(0, MessageType::test, bytes_of(1), {});
      in_the_call = node.lost.contains(0);
    });
    if (in_the_call) return 3;  // who sends may be in the middle of its books
    node.serve_until([&] { return node.lost.contains(0); });
    const Error& cause = node.lost.at(0);
    return cause.code() == ErrorCode::out_of_resources && cause.message().starts_with("node 0 of this host: ") ? 0 : 2;
  });
}

/// Lets this process open no more than a few further descriptors once the job has met.
class MeagreBootstrap final : public Bootstrap {
 public:
  MeagreBootstrap(Member inner, rlim_t further) : inner_(std::move(inner)), further_(further) {}
  NodeId rank() const override { return inner_->rank(); }
  std::uint32_t size() const override { return inner_->size(); }
  std::string_view host() const override { return inner_->host(); }
  void put(std::string_view key, ConstByteSpan value) override { inner_->put(key, value); }
  void fence() override {
    inner_->fence();
    const Descriptor next(dup(0));  // the lowest free number
    const rlimit limit{static_cast<rlim_t>(next.number()) + further_, static_cast<rlim_t>(next.number()) + further_};
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  std::vector<std::byte> fetch(NodeId rank, std::string_view key) override { return inner_->fetch(rank, key); }
  void abort(const Error& error) noexcept override { inner_->abort(error); }
  void finalize() override { inner_->finalize(); }
  int failure_descriptor() const override { return inner_->failure_descriptor(); }
  std::vector<PeerLoss> lost_peers() override { return inner_->lost_peers(); }

 private:
  Member inner_;
  rlim_t further_;
};

TEST(ClusterProcesses, TooFewDescriptorsAreANamedErrorAndADeathToTheOthers) {
  for (rlim_t further = 0; further < 5; ++further) {
    ForkJob job(2);
    const pid_t survivor =
        job.start(0, [](Member member) { return outlive(std::move(member), [](TestNode&) { return 0; }); });
    const pid_t meagre = job.start(1, [&](Member member) {
      try {
        TestNode node(std::make_unique<MeagreBootstrap>(std::move(member), further));
        return 1;
      } catch (const Error& error) {
        return error.code() == ErrorCode::out_of_resources ? 0 : 2;
      }
    });
    EXPECT_EQ(ForkJob::result_of(meagre), 0) << "with " << further << " further descriptors";
    EXPECT_EQ(ForkJob::result_of(survivor), 0);
  }
}

TEST(ClusterProcesses, TooFewDescriptorsToWatchProcessesAreANamedError) {
  ForkJob job(2);
  const pid_t survivor =
      job.start(0, [](Member member) { return outlive(std::move(member), [](TestNode&) { return 0; }); });
  const pid_t meagre = job.start(1, [](Member member) {
    if (!test::refuse_call(SYS_pidfd_open, EMFILE)) return 3;
    try {
      TestNode node(std::move(member));
      return 1;
    } catch (const Error& error) {
      return error.code() == ErrorCode::out_of_resources ? 0 : 2;
    }
  });
  EXPECT_EQ(ForkJob::result_of(meagre), 0);
  EXPECT_EQ(ForkJob::result_of(survivor), 0);
}

TEST(ClusterProcesses, ADeathOnAnotherHostIsSeenOnceTheyHaveTalked) {
  ForkJob job(2, {"a", "b"});
  const pid_t survivor = job.start(0, [](Member member) {
    TestNode node(std::move(member));
    node.send(1, bytes_of(std::uint64_t{0}));
    node.serve_until([&] { return node.lost.contains(1); });
    return node.lost.at(1).code() == ErrorCode::peer_lost ? 0 : 1;
  });
  const pid_t dying = job.start(1, [](Member member) {
    TestNode node(std::move(member));
    node.serve_until([&] { return node.messages.size() == 1; });
    return std::raise(SIGKILL);
  });
  EXPECT_EQ(ForkJob::result_of(dying), -SIGKILL);
  EXPECT_EQ(ForkJob::result_of(survivor), 0);
}

}  // namespace
}  // namespace stretto::fabric
