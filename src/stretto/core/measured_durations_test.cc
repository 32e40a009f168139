#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "stretto/base/cpu_clock.h"
#include "stretto/core/test_support.h"
#include "stretto/fabric/sim/sim_fabric.h"
#include "stretto/fabric/sim/slice_durations.h"

// Jobs on `sim` whose tasks take as long as they really ran, and their replays.

namespace stretto {
namespace measured_durations_test {

using test::error_of;
using test::options_for;
using test::run_on;

// A file's name, in a folder that is gone at the end.
struct Recording {
  Recording() {
    static int count = 0;
    folder = testing::TempDir() + "stretto_durations_" + std::to_string(getpid()) + "_" + std::to_string(++count);
    std::filesystem::create_directory(folder);
  }
  ~Recording() { std::filesystem::remove_all(folder); }
  std::string file() const { return folder + "/run"; }
  void write(const fabric::SliceDurations& durations) const { std::ofstream(file()) << fabric::to_text(durations); }
  fabric::SliceDurations read(std::uint32_t nodes) const {
    std::ifstream stream(file());
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    return fabric::parse_slice_durations(text, nodes, file());
  }
  std::string folder;
};

// How a run went: the trace, and each node's time at the end of its main.
struct Outcome {
  std::uint64_t trace;
  std::vector<double> ends;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

template <class Main>
Outcome run_job(const std::string& fabric, Main main) {
  Runtime runtime(options_for(fabric));
  std::vector<double> ends(runtime.nodes().size());
  runtime.run([&](Node& node) {
    const Event job = node.spawn([&main](Node& here) { return main(here); });
    const std::string code = test::code_of([&] { node.wait(job); });
    EXPECT_TRUE(code == "none" || fabric.find("kill") != std::string::npos) << code;
    ends[node.id()] = node.now();
  });
  return {static_cast<fabric::SimFabric&>(runtime.fabric()).timeline().trace_hash(), ends};
}

std::uint64_t compute(Node&, std::uint64_t rounds) {
  volatile std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < rounds; ++i) sum = sum + i;
  return sum;
}

// Coroutines, plain tasks that wait, remote ones, charges, and work of different length on every node.
Task<> mixed_job(Node& node) {
  const NodeId next = (node.id() + 1) % node.size();
  for (std::uint64_t step = 1; step <= 5; ++step) {
    const Future<std::uint64_t> there = node.spawn_on<compute>(next, SpawnOptions(), 1000 * step * (node.id() + 1));
    const Event here = node.spawn([step](Node& self) {
      self.spawn([step](Node& inner) { compute(inner, 500 * step); }).wait();
      self.charge(1e-6);
      compute(self, 300);
    });
    co_await here;
    co_await there;
  }
}

TEST(MeasuredDurations, AReplayHasTheTimesAndTheTraceOfTheRecordedRun) {
  for (const char* const options : {"sim:4", "sim:3,jitter=2us,reorder=0.3,task=100ns,seed=7", "sim:4,kill=2#9"}) {
    const Recording recording;
    const Outcome recorded = run_job(options + (",record=" + recording.file()), mixed_job);
    const std::string replay = options + (",replay=" + recording.file());
    EXPECT_EQ(run_job(replay, mixed_job), recorded) << options;
    EXPECT_EQ(run_job(replay, mixed_job), recorded) << options;
    EXPECT_NE(run_job(options, mixed_job).trace, recorded.trace) << options;
  }
}

// Two slices each of a main: before and after its wait. The task that it waits for has one between them.
TEST(MeasuredDurations, ASliceTakesWhatTheRecordingSays) {
  const Recording recording;
  recording.write({{1000, 20'000, 300'000}, {0, 0, 5'000'000}});
  run_on("sim:2,replay=" + recording.file(), [](Node& node) -> Task<> {
    const Event child = node.spawn([] {});
    EXPECT_EQ(node.now(), 0);
    co_await child;
    EXPECT_DOUBLE_EQ(node.now(), node.id() == 0 ? 21e-6 : 0);
  });
  Runtime runtime(options_for("sim:2,replay=" + recording.file()));
  const auto& timeline = static_cast<fabric::SimFabric&>(runtime.fabric()).timeline();
  runtime.run([](Node& node) { node.spawn([] {}).wait(); });
  EXPECT_EQ(timeline.now(), fabric::to_virtual(5e-3));
}

TEST(MeasuredDurations, AChargeEndsASliceAndComesOnTop) {
  const Recording recording;
  recording.write({{1000, 20'000}});
  Runtime runtime(options_for("sim:1,task=100ns,replay=" + recording.file()));
  runtime.run([](Node& node) {
    EXPECT_DOUBLE_EQ(node.now(), 100e-9);
    node.charge(5e-6);
    EXPECT_DOUBLE_EQ(node.now(), 6.1e-6);
  });
  EXPECT_EQ(static_cast<fabric::SimFabric&>(runtime.fabric()).timeline().now(), 26'100'000);
}

void compute_for(std::int64_t nanoseconds) {
  const std::int64_t begin = thread_cpu_nanoseconds();
  while (thread_cpu_nanoseconds() < begin + nanoseconds) {
  }
}

// Also of one that never begins.
TEST(MeasuredDurations, ATasksLastSliceIsInWhatItOwnsGoes) {
  constexpr std::int64_t work = 200'000;
  struct ComputesAtTheEnd {
    ~ComputesAtTheEnd() { compute_for(work); }
  };
  for (const bool begins : {true, false}) {
    const Recording recording;
    run_on("sim:1,record=" + recording.file(), [begins](Node& node) {
      const UserEvent failed = node.create_user_event();
      node.poison(failed, Error(ErrorCode::io, "on purpose"));
      auto guard = std::make_shared<ComputesAtTheEnd>();
      const Event owner =
          node.spawn([guard = std::move(guard)] {}, SpawnOptions().after(begins ? no_event : Event(failed)));
      EXPECT_EQ(test::code_of([&] { node.wait(owner); }), begins ? "none" : "io");
    });
    const std::vector<std::int64_t> slices = recording.read(1).front();
    ASSERT_EQ(slices.size(), 3U);  // before the main's wait, of the owner, after the wait
    EXPECT_GE(slices[1], work);
  }
}

// At least what a task saw itself, and together no more than the thread: slices neither miss work nor overlap.
TEST(MeasuredDurations, WhatIsRecordedIsTheWorkOfTheTasks) {
  constexpr std::int64_t work = 200'000;
  const Recording recording;
  const std::int64_t start = thread_cpu_nanoseconds();
  run_job("sim:2,record=" + recording.file(), [](Node& node) -> Task<> {
    for (int i = 0; i < 5; ++i) {
      const Event child = node.spawn([](Node& here) {
        compute_for(work);
        if (here.id() == 0) here.spawn([] {}).wait();
        if (here.id() == 1) here.charge(1e-6);
        compute_for(work);
      });
      co_await child;
    }
  });
  const std::int64_t used = thread_cpu_nanoseconds() - start;
  std::int64_t sum = 0;
  for (const auto& of_node : recording.read(2)) {
    EXPECT_GE(std::count_if(of_node.begin(), of_node.end(), [](std::int64_t each) { return each >= work; }), 10);
    sum += std::accumulate(of_node.begin(), of_node.end(), std::int64_t{0});
  }
  EXPECT_GE(sum, 20 * work);
  EXPECT_LE(sum, used);
}

// Whether an awaited event has already triggered depends on the seed; the number of slices does not.
TEST(MeasuredDurations, AnotherSeedHasAsManySlices) {
  const Recording recording;
  run_job("sim:3,jitter=2us,seed=1,record=" + recording.file(), mixed_job);
  std::vector<std::size_t> slices;
  for (const auto& of_node : recording.read(3)) slices.push_back(of_node.size());
  for (int seed = 2; seed <= 20; ++seed) {
    const std::string options = "sim:3,jitter=2us,seed=" + std::to_string(seed);
    run_job(options + ",replay=" + recording.file(), mixed_job);
    const Recording again;
    run_job(options + ",record=" + again.file(), mixed_job);
    for (std::size_t node = 0; node < 3; ++node) EXPECT_EQ(again.read(3)[node].size(), slices[node]) << seed;
  }
}

TEST(MeasuredDurations, AnExceptionEndsASliceToo) {
  const Recording recording;
  const auto failing = [](Node& node) -> Task<> {
    const Event child = node.spawn([] { throw std::runtime_error("on purpose"); });
    try {
      co_await child;
    } catch (const Error&) {
      co_return;
    }
  };
  run_job("sim:1,record=" + recording.file(), failing);
  EXPECT_EQ(recording.read(1)[0].size(), 1U + 2U + 2U);
}

// The failure is the job's: no task can catch it, and those that wait are let go.
TEST(MeasuredDurations, AProgramThatRunsMoreThanWasRecordedFails) {
  const Recording recording;
  recording.write({{1000, 1000}, {1000, 1000}});
  for (const bool coroutine : {true, false}) {
    Runtime runtime(options_for("sim:2,replay=" + recording.file()));
    const auto error = error_of([&] {
      runtime.run([coroutine](Node& node) -> Task<> {
        const Event never = node.create_user_event();
        for (int i = 0; i < 100; ++i) {
          try {
            if (coroutine) co_await node.spawn([] {});
            if (!coroutine) node.spawn([] {}).wait();
            if (i == 99) co_await never;
          } catch (const Error&) {
            co_return;
          }
        }
      });
    });
    ASSERT_TRUE(error.has_value());
    EXPECT_EQ(error->code(), ErrorCode::bad_input);
    EXPECT_NE(error->message().find(recording.file() + " holds 2 slices of the tasks of node "), std::string::npos)
        << error->what();
  }
}

TEST(MeasuredDurations, AJobThatFailsIsRecordedAndFailsAgain) {
  const Recording recording;
  const auto failing = [](Node& node) {
    compute(node, 1000);
    throw Error(ErrorCode::not_supported, "on purpose");
  };
  for (const char* const mode : {"record=", "replay="}) {
    const auto error = error_of([&] { run_on("sim:2," + (mode + recording.file()), failing); });
    ASSERT_TRUE(error.has_value());
    EXPECT_EQ(error->code(), ErrorCode::not_supported);
  }
}

TEST(MeasuredDurations, FilesThatCannotBeUsedFailTheJobBeforeItBegins) {
  const Recording recording;
  const auto code_with = [](const std::string& fabric) {
    return test::code_of([&] { const Runtime runtime(options_for(fabric)); });
  };
  EXPECT_EQ(code_with("sim:2,replay=" + recording.file()), "io");
  EXPECT_EQ(code_with("sim:2,record=" + recording.folder + "/none/run"), "io");
  recording.write({{}, {}, {}});
  EXPECT_EQ(code_with("sim:2,replay=" + recording.file()), "bad_input");
  EXPECT_EQ(code_with("sim:3,replay=" + recording.file()), "none");
}

TEST(MeasuredDurations, ARecordingThatCannotBeWrittenInTheEndFailsTheJob) {
  const Recording recording;
  Runtime runtime(options_for("sim:1,record=" + recording.file()));
  std::filesystem::create_directory(recording.file());
  EXPECT_EQ(test::code_of([&] { runtime.run([](Node&) {}); }), "io");
}

}  // namespace measured_durations_test
}  // namespace stretto
