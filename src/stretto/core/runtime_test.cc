#include "stretto/core/runtime.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "stretto/core/test_support.h"

namespace stretto {
namespace {

using test::code_of;
using test::error_of;
using test::options_for;
using test::run_on;

Task<std::uint32_t> identity(Node& node) { co_return node.id(); }
std::uint32_t plain_identity(Node& node) { return node.id(); }

TEST(Runtime, AnyNumberOfNodesOnTwoWorkersOrOneSimulatedThread) {
  for (const char* const fabric : {"local", "sim"}) {
    for (const std::uint32_t nodes : {1U, 2U, 7U, 64U, 512U}) {
      std::atomic<std::uint32_t> mains{0};
      run_on(std::string(fabric) + ":" + std::to_string(nodes), [&](Node& node) -> Task<> {
        EXPECT_EQ(node.size(), nodes);
        const NodeId next = (node.id() + 1) % nodes;
        EXPECT_EQ(co_await node.spawn_on<identity>(next, SpawnOptions()), next);
        ++mains;
      });
      EXPECT_EQ(mains.load(), nodes);
    }
  }
}

TEST(Runtime, AMainMayBeAPlainFunctionThatWaits) {
  for (const char* const fabric : {"local:64", "sim:64"}) {
    std::atomic<std::uint32_t> mains{0};
    run_on(fabric, [&](Node& node) {
      const NodeId next = (node.id() + 1) % node.size();
      EXPECT_EQ(node.spawn_on<plain_identity>(next, SpawnOptions()).get(), next);
      ++mains;
    });
    EXPECT_EQ(mains.load(), 64U);
  }
}

TEST(Runtime, WhenOneMainFailsTheOthersAreCancelledAndItsErrorIsThrown) {
  for (const char* const fabric : {"local:1", "local:8", "sim:8"}) {
    Runtime runtime(options_for(fabric));
    const UserEvent never = runtime.nodes()[0]->create_user_event();
    std::atomic<int> cancelled{0};
    const std::optional<Error> error = error_of([&] {
      runtime.run([&](Node& node) -> Task<> {
        if (node.id() == node.size() - 1) throw Error(ErrorCode::io, "the last one fails");
        try {
          co_await never;
        } catch (const Error& told) {
          if (told.code() == ErrorCode::cancelled) ++cancelled;
          throw;
        }
      });
    });
    ASSERT_TRUE(error.has_value()) << fabric;
    EXPECT_EQ(error->code(), ErrorCode::io);
    EXPECT_EQ(error->message(), "the last one fails");
    EXPECT_EQ(cancelled.load(), static_cast<int>(runtime.nodes().size()) - 1);
  }
}

TEST(Runtime, WhenAMainCannotBeSpawnedTheOthersAreCancelled) {
  for (const char* const fabric : {"local:2", "sim:2"}) {
    Runtime runtime(options_for(fabric));
    const UserEvent never = runtime.nodes()[0]->create_user_event();
    const std::optional<Error> full = error_of([&] {
      for (;;) runtime.nodes()[1]->create_user_event();
    });
    EXPECT_EQ(full->code(), ErrorCode::out_of_resources);
    std::string told;
    const std::optional<Error> error = error_of([&] {
      runtime.run([&](Node& node) {
        ASSERT_EQ(node.id(), 0U);
        told = code_of([&] { node.wait(never); });
      });
    });
    EXPECT_TRUE(error && error->message() == full->message()) << fabric;
    EXPECT_EQ(told, "cancelled") << fabric;
  }
}

TEST(Runtime, AllMainsMayFailAtOnce) {
  for (const char* const fabric : {"local:32", "sim:32"}) {
    const std::optional<Error> error = error_of(
        [&] { run_on(fabric, [](Node& node) { throw std::runtime_error("node " + std::to_string(node.id())); }, 4); });
    ASSERT_TRUE(error.has_value());
    EXPECT_NE(error->message().find("threw: node "), std::string::npos) << error->message();
  }
}

TEST(Runtime, OneThatIsCancelledMayStillEndWell) {
  for (const char* const fabric : {"local:2", "sim:2"}) {
    EXPECT_EQ(code_of([&] {
                run_on(fabric, [](Node& node) -> Task<> {
                  if (node.id() == 0) throw Error(ErrorCode::io, "x");
                  try {
                    co_await node.create_user_event();
                  } catch (const Error&) {
                    // Ends as if nothing had happened.
                  }
                });
              }),
              "io");
  }
}

TEST(Runtime, ADeadlockOnSimIsDetectedAndNamed) {
  for (const bool coroutine : {false, true}) {
    Runtime runtime(options_for("sim:4"));
    const UserEvent never = runtime.nodes()[2]->create_user_event();
    const std::optional<Error> error = error_of([&] {
      runtime.run([&](Node& node) -> Task<> {
        if (node.id() != 1 && node.id() != 3) co_return;
        if (coroutine) {
          co_await never;
        } else {
          node.wait(never);
        }
      });
    });
    ASSERT_TRUE(error.has_value());
    EXPECT_EQ(error->code(), ErrorCode::deadlock);
    EXPECT_NE(error->message().find("nodes 1 3"), std::string::npos) << error->message();
  }
}

TEST(Runtime, ADeadlockIsReportedEvenIfMainSwallowsIt) {
  EXPECT_EQ(code_of([] {
              run_on("sim:1", [](Node& node) -> Task<> {
                try {
                  co_await node.create_user_event();
                } catch (const Error&) {
                  // Not told to anybody.
                }
              });
            }),
            "deadlock");
}

TEST(Runtime, WhatStillWaitsAtTheEndIsCancelledAndFreed) {
  const std::size_t blocks = arena::blocks_in_use();
  for (const char* const fabric : {"local:4", "sim:4"}) {
    std::atomic<int> cancelled{0};
    Runtime runtime(options_for(fabric));
    const UserEvent never = runtime.nodes()[0]->create_user_event();
    runtime.run([&](Node& node) {
      node.spawn([&cancelled, never] { cancelled += code_of([&] { never.wait(); }) == "cancelled" ? 1 : 0; });
      node.spawn([&cancelled, never]() -> Task<> {
        try {
          co_await never;
        } catch (const Error&) {
          ++cancelled;
        }
      });
      node.spawn([] { ADD_FAILURE() << "its precondition never came"; }, SpawnOptions().after(never));
      node.spawn_on<identity>((node.id() + 1) % node.size(), SpawnOptions().after(never));
      node.merge({never, node.create_user_event()});
      node.time_of(never);
    });
    EXPECT_EQ(cancelled.load(), 8) << fabric;
  }
  EXPECT_EQ(arena::blocks_in_use(), blocks);
}

TEST(Runtime, MergesThatNobodyWaitsForAreFreedToo) {
  const std::size_t blocks = arena::blocks_in_use();
  for (const char* const fabric : {"local:2", "sim:2"}) {
    run_on(fabric, [](Node& node) { node.merge({node.create_user_event(), node.create_user_event()}); });
  }
  EXPECT_EQ(arena::blocks_in_use(), blocks);
}

TEST(Runtime, TasksThatRunAtTheEndAreLetFinish) {
  for (const char* const fabric : {"local:2", "sim:2"}) {
    std::atomic<int> finished{0};
    run_on(fabric, [&finished](Node& node) {
      for (int i = 0; i < 100; ++i) {
        node.spawn([&finished](Node& here) { here.spawn([&finished] { ++finished; }); });
      }
    });
    EXPECT_EQ(finished.load(), 200);
  }
}

TEST(Runtime, FabricsThatCannotBeAreRefused) {
  for (const char* const fabric :
       {"", "lokal:2", "local:0", "local:x", "local:70000", "local:2,peer_pointer=maybe", "sim:4,latensy=1us",
        "sim:4,latency=-1us", "sim:2,kill=2@1us", "sim:2,kill=1", "sim:2,reorder=1.5", "sim:-1", "cluster:3"}) {
    EXPECT_EQ(code_of([&] { Runtime runtime(options_for(fabric)); }), "bad_input") << fabric;
  }
  const std::optional<Error> error = error_of([] { Runtime runtime(options_for("sim:4,latensy=1us")); });
  EXPECT_NE(error->message().find("latency"), std::string::npos) << error->message();
}

TEST(Runtime, RunsOnce) {
  Runtime runtime(options_for("local:1"));
  runtime.run([](Node&) {});
  EXPECT_EQ(code_of([&] { runtime.run([](Node&) {}); }), "invalid_state");
}

TEST(Runtime, OneAfterTheOther) {
  for (int i = 0; i < 50; ++i) run_on(i % 2 == 0 ? "local:3" : "sim:3", [](Node& node) { node.spawn([] {}).wait(); });
}

TEST(Runtime, OneThatNeverRunsIsNoProblem) {
  for (const char* const fabric : {"local:3", "sim:3"}) Runtime runtime(options_for(fabric));
}

TEST(Runtime, AProgramReturnsItsExitCode) {
  ASSERT_EQ(setenv("STRETTO_FABRIC", "local:2", 1), 0);
  EXPECT_EQ(run(0, nullptr, [](Node&) {}), 0);
  testing::internal::CaptureStderr();
  EXPECT_EQ(run(0, nullptr, [](Node& node) { throw Error(ErrorCode::io, "n" + std::to_string(node.size())); }), 1);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "stretto: io: n2\n");
  ASSERT_EQ(setenv("STRETTO_FABRIC", "lokal", 1), 0);
  testing::internal::CaptureStderr();
  EXPECT_EQ(run(0, nullptr, [](Node&) {}), 1);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("lokal"), std::string::npos);
  ASSERT_EQ(unsetenv("STRETTO_FABRIC"), 0);
}

/// All fields, so that one that a setting changes by mistake shows, too.
auto fields_of(const RuntimeOptions& options) {
  return std::tie(options.fabric, options.network, options.process_reads, options.workers, options.bind,
                  options.segment_bytes, options.staging_bytes, options.log_level, options.stall_seconds,
                  options.tuning.text, options.tuning.origin, options.reproducible, options.check_calls);
}

TEST(Runtime, EverySettingReachesItsOptionOrIsRefused) {
  const std::string table = testing::TempDir() + "stretto_runtime_test_" + std::to_string(getpid());
  std::ofstream(table) << "costs";
  struct Case {
    const char* name;
    std::string value;
    std::function<void(RuntimeOptions&)> effect;
    std::vector<std::string> refused;
  };
  const std::vector<Case> cases{
      {"STRETTO_FABRIC", "sim:3", [](RuntimeOptions& options) { options.fabric = "sim:3"; }, {}},  // by the Runtime
      {"STRETTO_NETWORK", "tcp/lo", [](RuntimeOptions& options) { options.network = "tcp/lo"; }, {"infiniband"}},
      {"STRETTO_WORKERS", "3", [](RuntimeOptions& options) { options.workers = 3; }, {"4097", "-1", "many"}},
      {"STRETTO_BIND", "1", [](RuntimeOptions& options) { options.bind = true; }, {"2", "yes"}},
      {"STRETTO_LOG", "error", [](RuntimeOptions& options) { options.log_level = LogLevel::error; }, {"loud"}},
      {"STRETTO_SEGMENT_BYTES",
       "1MiB",
       [](RuntimeOptions& options) { options.segment_bytes = std::size_t{1} << 20U; },
       {"0", "1023KiB", "lots"}},
      {"STRETTO_STAGING_BYTES",
       "8KiB",
       [](RuntimeOptions& options) { options.staging_bytes = std::size_t{8} << 10U; },
       {"0", "8191", "lots"}},
      {"STRETTO_PROCESS_READS", "off", [](RuntimeOptions& options) { options.process_reads = "off"; }, {"maybe"}},
      {"STRETTO_STALL_SECONDS", "7", [](RuntimeOptions& options) { options.stall_seconds = 7; }, {"-1", "1.5", "7s"}},
      {"STRETTO_TUNING",
       table,
       [&](RuntimeOptions& options) { options.tuning = {"costs", table}; },
       {table + ".none", "/"}},
      {"STRETTO_REPRODUCIBLE", "1", [](RuntimeOptions& options) { options.reproducible = true; }, {"2", "yes"}},
      {"STRETTO_CHECK_CALLS", "1", [](RuntimeOptions& options) { options.check_calls = true; }, {"2", "yes"}},
  };
  EXPECT_EQ(fields_of(RuntimeOptions::from_environment()), fields_of(RuntimeOptions())) << "defaults are in two places";
  for (const Case& each : cases) {
    ASSERT_EQ(setenv(each.name, each.value.c_str(), 1), 0);
    RuntimeOptions expected;
    each.effect(expected);
    const RuntimeOptions found = RuntimeOptions::from_environment();
    EXPECT_TRUE(fields_of(found) == fields_of(expected)) << each.name;
    EXPECT_FALSE(fields_of(found) == fields_of(RuntimeOptions())) << each.name;
    for (const std::string& value : each.refused) {
      ASSERT_EQ(setenv(each.name, value.c_str(), 1), 0);
      EXPECT_NE(code_of([] { RuntimeOptions::from_environment(); }), "none") << each.name << "=" << value;
    }
    ASSERT_EQ(unsetenv(each.name), 0);
  }
  std::remove(table.c_str());
}

// A job of one host touches no network, and still does not take a wrong name for a right one.
TEST(Runtime, AWrongNetworkIsRefusedWhereNoneIsNeeded) {
  for (const char* const network : {"infiniband", "tcp/", "TCP", ""}) {
    ASSERT_EQ(setenv("STRETTO_NETWORK", network, 1), 0);
    EXPECT_EQ(test::code_of([] { RuntimeOptions::from_environment(); }), *network == 0 ? "none" : "invalid_argument");
  }
  ASSERT_EQ(unsetenv("STRETTO_NETWORK"), 0);
}

}  // namespace
}  // namespace stretto
