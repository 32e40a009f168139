#include "stretto/core/remote_tasks.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <string>
#include <vector>

#include "stretto/core/test_support.h"
#include "stretto/fabric/sim/sim_fabric.h"

namespace stretto {
namespace remote_tasks_test {

using test::code_of;
using test::options_for;
using test::run_on;
using test::scaled;

std::string echo(Node& node, std::string text) { return std::to_string(node.id()) + text; }
void nothing(Node&) {}
int where(Node& node) { return static_cast<int>(node.id()); }
Task<std::uint64_t> sum(Node& node, std::vector<std::uint64_t> values) {
  co_await node.spawn([] {});
  std::uint64_t total = 0;
  for (const std::uint64_t value : values) total += value;
  co_return total;
}
int fail(Node&, std::string text) { throw Error(ErrorCode::io, text); }
int exhaust(Node&) { throw std::bad_alloc(); }
Task<> wait_for(Node&, Event event) { co_await event; }
// Whatever a parameter's kind is, it gets what was sent.
double add_all(Node&, const std::vector<double>& viewed, std::vector<double>& changed, std::vector<double>&& moved,
               std::vector<double> own, double scale) {
  changed.push_back(0);
  const std::vector<double> taken = std::move(moved);
  return scale * (viewed.at(0) + 10 * changed.at(0) + 100 * taken.at(0) + 1000 * own.at(0));
}
Task<> hop(Node& node, std::uint32_t hops, UserEvent done) {
  if (hops == 0) {
    node.trigger(done);
    co_return;
  }
  co_await node.spawn_on<hop>((node.id() + 1) % node.size(), SpawnOptions(), hops - 1, done);
}

constexpr const char* fabrics[] = {"local:1", "local:2", "local:3,peer_pointer=off", "sim:3,reorder=0.3,jitter=3us"};

TEST(RemoteTasks, ArgumentsAndResultsOfAnySizeTravel) {
  for (const char* const fabric : fabrics) {
    Runtime runtime(options_for(fabric));
    runtime.run([](Node& node) -> Task<> {
      const NodeId next = (node.id() + 1) % node.size();
      for (const std::size_t bytes : {0U, 1U, 1000U, 16'000U, 16'384U, 16'500U, 100'000U, 5'000'000U}) {
        const std::string text(bytes, 'x');
        const std::string answer = co_await node.spawn_on<echo>(next, SpawnOptions(), text);
        EXPECT_EQ(answer.size(), bytes + 1);
        EXPECT_EQ(answer, std::to_string(next) + text);
      }
      const std::vector<std::uint64_t> values(100'000, 3);
      EXPECT_EQ(co_await node.spawn_on<sum>(next, SpawnOptions(), values), 300'000U);
      co_await node.spawn_on<nothing>(next, SpawnOptions());
    });
    for (const auto& node : runtime.nodes()) {
      EXPECT_EQ(node->endpoint().segment().bytes_in_use(), 0U) << fabric << ": what was offered has not been freed";
    }
  }
}

TEST(RemoteTasks, ParametersMayBeReferencesAndArgumentsOfOtherTypes) {
  for (const char* const fabric : fabrics) {
    run_on(fabric, [](Node& node) {
      const NodeId next = (node.id() + 1) % node.size();
      const std::vector<double> one{1};
      std::vector<double> two{2};
      const Future<double> all =
          node.spawn_on<add_all>(next, SpawnOptions(), one, two, std::vector<double>{3}, std::vector<double>{4}, 2);
      EXPECT_EQ(all.get(), 2 * 4321);
      EXPECT_EQ(two.size(), 1U);
      EXPECT_EQ(node.spawn_on<echo>(next, SpawnOptions(), "a").get(), std::to_string(next) + "a");
    });
  }
}

TEST(RemoteTasks, ManyAtOnceEachGetsItsOwnAnswer) {
  for (const char* const fabric : fabrics) {
    run_on(fabric, [](Node& node) -> Task<> {
      std::vector<Future<std::string>> answers;
      for (std::uint64_t i = 0; i < scaled(1000); ++i) {
        const auto target = static_cast<NodeId>(i % node.size());
        answers.push_back(
            node.spawn_on<echo>(target, SpawnOptions(), "-" + std::string(i * 37 % 20'000, 'y') + std::to_string(i)));
      }
      for (std::uint64_t i = 0; i < answers.size(); ++i) {
        const std::string expected =
            std::to_string(i % node.size()) + "-" + std::string(i * 37 % 20'000, 'y') + std::to_string(i);
        EXPECT_EQ(co_await answers[i], expected);
      }
    });
  }
}

TEST(RemoteTasks, FailuresComeBackWithTheirCause) {
  for (const char* const fabric : fabrics) {
    run_on(fabric, [](Node& node) {
      const NodeId next = (node.id() + 1) % node.size();
      const Future<int> failed = node.spawn_on<fail>(next, SpawnOptions(), std::string("far away"));
      const std::optional<Error> error = test::error_of([&] { failed.get(); });
      EXPECT_EQ(error->code(), ErrorCode::io);
      EXPECT_EQ(error->message(), "far away");
      const Future<int> long_winded = node.spawn_on<fail>(next, SpawnOptions(), std::string(100'000, 'z'));
      EXPECT_EQ(code_of([&] { long_winded.get(); }), "io");
      EXPECT_EQ(code_of([&] { node.spawn_on<exhaust>(next, SpawnOptions()).get(); }), "out_of_resources");
      EXPECT_EQ(node.spawn_on<where>(next, SpawnOptions()).get(), static_cast<int>(next));  // the peer is not blamed
    });
  }
}

TEST(RemoteTasks, PreconditionsAreRespected) {
  for (const char* const fabric : fabrics) {
    run_on(fabric, [](Node& node) -> Task<> {
      const NodeId next = (node.id() + 1) % node.size();
      const UserEvent gate = node.create_user_event();
      const Future<int> gated = node.spawn_on<where>(next, SpawnOptions().after(gate));
      const UserEvent broken = node.create_user_event();
      const Future<int> never = node.spawn_on<where>(next, SpawnOptions().after(broken));
      EXPECT_FALSE(node.has_triggered(gated));
      gate.trigger();
      EXPECT_EQ(co_await gated, static_cast<int>(next));
      broken.poison(Error(ErrorCode::io, "gate"));
      EXPECT_EQ(code_of([&] { never.get(); }), "io");
    });
  }
}

TEST(RemoteTasks, NodesThatDoNotExistAreRefused) {
  run_on("local:2", [](Node& node) {
    const std::optional<Error> error = test::error_of([&] { node.spawn_on<where>(2, SpawnOptions()); });
    EXPECT_EQ(error->code(), ErrorCode::invalid_argument);
    EXPECT_NE(error->message().find("2 nodes"), std::string::npos);
  });
}

TEST(RemoteTasks, ProcessorsThatDoNotExistAreRefused) {
  for (const char* const fabric : fabrics) {
    run_on(fabric, [](Node& node) {
      const NodeId next = (node.id() + 1) % node.size();
      const Future<int> nowhere = node.spawn_on<where>(next, SpawnOptions().processor(99));
      EXPECT_EQ(code_of([&] { nowhere.get(); }), "invalid_argument");
      EXPECT_EQ(node.spawn_on<where>(next, SpawnOptions().processor(0)).get(), static_cast<int>(next));
    });
  }
}

TEST(RemoteTasks, TasksHopFromNodeToNode) {
  for (const char* const fabric : fabrics) {
    run_on(fabric, [](Node& node) -> Task<> {
      const UserEvent done = node.create_user_event();
      const Event last = node.spawn_on<hop>(node.id(), SpawnOptions(), static_cast<std::uint32_t>(scaled(1000)), done);
      co_await done;
      co_await last;
    });
  }
}

TEST(RemoteTasks, ACallThatFitsNoSegmentFailsByName) {
  RuntimeOptions options = options_for("local:2");
  options.segment_bytes = std::size_t{4} << 20U;
  Runtime runtime(options);
  runtime.run([](Node& node) {
    const NodeId next = (node.id() + 1) % node.size();
    const Future<std::string> too_large = node.spawn_on<echo>(next, SpawnOptions(), std::string(8 << 20, 'x'));
    EXPECT_EQ(code_of([&] { too_large.get(); }), "out_of_resources");
    EXPECT_EQ(node.spawn_on<where>(next, SpawnOptions()).get(), static_cast<int>(next));
  });
}

// What a peer of ill will may send. The victim closes that connection, and every call to it fails by name.
TEST(RemoteTasks, BadMessagesCostTheirSenderTheConnection) {
  struct Bad {
    fabric::MessageType type;
    std::vector<std::byte> header;
    std::vector<std::byte> payload;
  };
  std::vector<Bad> messages{
      {fabric::MessageType::task_spawn, {}, {}},
      {fabric::MessageType::task_spawn, std::vector<std::byte>(24, std::byte{1}), {}},
      {fabric::MessageType::task_done, std::vector<std::byte>(16, std::byte{1}), {}},
      {fabric::MessageType::task_done, std::vector<std::byte>(3), {}},
      {fabric::MessageType::event_trigger, std::vector<std::byte>(16, std::byte{7}), {}},
      {fabric::MessageType::event_subscribe, std::vector<std::byte>(8, std::byte{255}), {}},
      {fabric::MessageType::event_subscribe, {}, {}},
      {fabric::MessageType::barrier_arrive, std::vector<std::byte>(24, std::byte{3}), {}},
      {fabric::MessageType::bulk_offer, std::vector<std::byte>(24, std::byte{255}), {}},
      {fabric::MessageType::bulk_fetched, std::vector<std::byte>(8, std::byte{1}), {}},
      {static_cast<fabric::MessageType>(55), {}, {}},
      {static_cast<fabric::MessageType>(255), {}, {}},
  };
  // A known function with arguments that cannot be read.
  std::vector<std::byte> spawn_echo(24);
  const TaskType type = detail::RemoteFunction<echo>::type;
  std::memcpy(spawn_echo.data(), &type, sizeof type);
  messages.push_back({fabric::MessageType::task_spawn, spawn_echo, std::vector<std::byte>(5)});
  for (std::size_t i = 0; i < messages.size(); ++i) {
    run_on("sim:3", [&bad = messages[i], i](Node& node) -> Task<> {
      if (node.id() == 1) {
        node.endpoint().context().enter([&] { node.endpoint().send(0, bad.type, bad.header, bad.payload); });
        node.charge(1e-3);
        EXPECT_EQ(code_of([&] { node.spawn_on<where>(0, SpawnOptions()).get(); }), "peer_lost") << i;
      } else {
        node.charge(1e-3);
        EXPECT_EQ(node.endpoint().lost(1), node.id() == 0) << i;
        EXPECT_EQ(code_of([&] { node.spawn_on<where>(2 - node.id(), SpawnOptions()).get(); }), "none") << i;
      }
      co_return;
    });
  }
}

TEST(RemoteTasks, ACallToADeadNodeIsLost) {
  Runtime runtime(options_for("sim:2,kill=1@50us"));
  runtime.run([](Node& node) {
    if (node.id() == 1) {
      node.charge(1);
      return;  // after its death: what it holds is freed at the end of the job
    }
    const Future<int> call = node.spawn_on<where>(1, SpawnOptions());  // its only processor is busy until it dies
    EXPECT_EQ(code_of([&] { call.get(); }), "peer_lost");
    EXPECT_LT(node.now(), 1e-3);
    EXPECT_EQ(code_of([&] { node.spawn_on<where>(1, SpawnOptions()).get(); }), "peer_lost");
  });
}

TEST(RemoteTasks, CallersAndCalleesMayDieAtAnyMessage) {
  for (const NodeId victim : {NodeId{0}, NodeId{1}}) {
    for (std::uint64_t index = 0; index < 24; ++index) {
      Runtime runtime(options_for("sim:3,kill=" + std::to_string(victim) + "#" + std::to_string(index)));
      runtime.run([victim](Node& node) -> Task<> {
        for (const std::size_t bytes : {10U, 50'000U}) {
          const NodeId next = (node.id() + 1) % node.size();
          const std::string text(bytes, 'x');
          const Future<std::string> call = node.spawn_on<echo>(next, SpawnOptions(), text);
          std::string outcome = "none";
          try {
            EXPECT_EQ(co_await call, std::to_string(next) + text);
          } catch (const Error& error) {
            outcome = std::string(name_of(error.code()));
          }
          if (node.id() != victim) {
            EXPECT_TRUE(outcome == "none" || (outcome == "peer_lost" && next == victim)) << outcome;
          }
        }
      });
    }
  }
}

// Nor is anything left to wait for where nobody waited.
TEST(RemoteTasks, CallersAndCalleesMayDieWhenTheJobIsOver) {
  for (const NodeId victim : {NodeId{0}, NodeId{1}}) {
    for (std::uint64_t index = 0; index < 24; ++index) {
      Runtime runtime(options_for("sim:3,kill=" + std::to_string(victim) + "#" + std::to_string(index)));
      runtime.run([](Node& node) {
        for (int i = 0; i < 4; ++i) node.spawn_on<echo>((node.id() + 1) % node.size(), SpawnOptions(), "a");
      });
    }
  }
}

TEST(RemoteTasks, AJobThatFailsWaitsForNoTaskElsewhere) {
  for (const char* const fabric : fabrics) {
    Runtime runtime(options_for(fabric));
    const auto error = test::error_of([&] {
      runtime.run([](Node& node) {
        const NodeId next = (node.id() + 1) % node.size();
        const Event never = node.create_user_event();
        for (int i = 0; i < 3; ++i) node.spawn_on<wait_for>(next, SpawnOptions(), never);
        node.spawn_on<echo>(next, SpawnOptions().after(never), "a");
        if (node.id() == 0) throw Error(ErrorCode::io, "on purpose");
      });
    });
    EXPECT_TRUE(error && error->code() == ErrorCode::io);
  }
}

}  // namespace remote_tasks_test
}  // namespace stretto
