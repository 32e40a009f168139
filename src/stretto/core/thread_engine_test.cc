#include "stretto/core/thread_engine.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include "stretto/core/processor.h"
#include "stretto/core/test_endpoint.h"
#include "stretto/core/test_support.h"

namespace stretto {
namespace {

// A line of the kernel's about a thread of this process, without its name.
std::string status_of(pid_t thread, const std::string& name) {
  std::ifstream status("/proc/self/task/" + std::to_string(thread) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":")) return line.substr(name.size() + 1);
  }
  return "";
}
bool sleeps(pid_t thread) { return status_of(thread, "State").find('S') != std::string::npos; }
int times_asleep(pid_t thread) { return std::stoi(status_of(thread, "voluntary_ctxt_switches")); }

struct Meeting {
  explicit Meeting(Node& at) : node(at) {}

  // Two of these, one on each processor, are at two workers. Returns whether it is at the one that the main waits at.
  void come(bool is_second) {
    come_in.fetch_add(1);
    while (come_in.load() < 2) sched_yield();
    if (Worker::current() != main_worker) {
      other = gettid();
      return;
    }
    if (!is_second) return;  // holds the main's own processor, which nobody else can take then
    while (other.load() == 0 || !sleeps(other)) sched_yield();
    const int before = times_asleep(other);
    node.trigger(event);  // wakes the other worker, which finds that only this one can go on with the main
    while (times_asleep(other) == before) sched_yield();
    done = true;
  }

  Node& node;
  UserEvent event = node.create_user_event();
  Worker* main_worker = Worker::current();
  std::atomic<int> come_in{0};
  std::atomic<pid_t> other{0};
  std::atomic<bool> done{false};
};

// What is at a busy worker keeps nobody else awake.
TEST(ThreadEngine, OthersSleepWhileWhatIsReadyWaitsForABusyWorker) {
  test::run_on("local:1", [](Node& node) {
    Meeting meeting(node);
    std::thread guide([&] {
      while (!meeting.done.load()) {
        meeting.come_in = 0;
        meeting.other = 0;
        const Event first = node.spawn([&] { meeting.come(false); }, SpawnOptions().processor(0));
        const Event second = node.spawn([&] { meeting.come(true); }, SpawnOptions().processor(1));
        node.wait(first);
        node.wait(second);
      }
    });
    meeting.event.wait();
    guide.join();
  });
}

// One worker, two nodes: a task that always finds its own processor with work leaves the other node its turn.
TEST(ThreadEngine, AProcessorThatNeverRunsDryLeavesOthersTheirTurn) {
  constexpr int many = 100'000;
  for (const char* const fabric : {"local:2", "sim:2"}) {
    Runtime runtime(test::options_for(fabric, 1));
    std::atomic<bool> other{false};
    int turns = 0;
    runtime.run([&](Node& node) -> Task<> {
      if (node.id() != 0) co_return;
      runtime.nodes()[1]->spawn([&] { other = true; });
      for (; !other && turns < many; ++turns) co_await node.spawn([] {});
    });
    EXPECT_LT(turns, many / 100) << fabric;
  }
}

// The main's stack can be gone on with by the worker only that the endless task is at.
TEST(ThreadEngine, AWorkerComesBackToAStackThatOnlyItCanGoOnWith) {
  static constexpr int many = 10'000'000;
  test::run_on("local:1", [](Node& node) {
    const Worker* const mine = Worker::current();
    for (bool was_here = false; !was_here;) {
      const UserEvent begun = node.create_user_event();
      std::atomic<bool> back{false};
      const Event endless = node.spawn(
          [&](Node& here) -> Task<> {
            was_here = Worker::current() == mine;
            here.trigger(begun);
            int turns = 0;
            for (; was_here && !back && turns < many; ++turns) co_await here.spawn([] {}, SpawnOptions().processor(1));
            EXPECT_LT(turns, many);
          },
          SpawnOptions().processor(1));
      begun.wait();
      back = true;
      endless.wait();
    }
  });
}

std::set<pid_t> threads_of_this_process() {
  std::set<pid_t> threads;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    threads.insert(std::stoi(entry.path().filename().string()));
  }
  return threads;
}

struct Company {
  static constexpr int all = 3;
  std::atomic<int> present{0};
  std::atomic<int> gone{0};
};

// Stays until all are present at the same time, each at a worker of its own, or for a long while.
struct Companion : Runnable {
  static constexpr std::chrono::seconds patience{20};

  explicit Companion(Company& its_company) noexcept
      : Runnable([](Runnable* self, Worker&) noexcept { static_cast<Companion*>(self)->come(); }, 0),
        company(its_company) {}
  void come() const {
    before();
    const auto end = std::chrono::steady_clock::now() + patience;
    company.present.fetch_add(1);
    while (company.present.load() < Company::all && std::chrono::steady_clock::now() < end) sched_yield();
    if (company.present.load() < Company::all) company.present.fetch_sub(1);
    company.gone.fetch_add(1);
  }

  Company& company;
  std::function<void()> before = [] {};
};

// Some polls after a ring, who polls calls a function.
class GivingEndpoint final : public test::TestEndpoint {
 public:
  using TestEndpoint::TestEndpoint;
  ~GivingEndpoint() override { close(bell_); }

  void ring() const {
    const std::uint64_t one = 1;
    ASSERT_EQ(write(bell_, &one, sizeof one), static_cast<ssize_t>(sizeof one));
  }

  int descriptor() const override { return bell_; }
  bool progress() override {
    std::uint64_t rings = 0;
    if (read(bell_, &rings, sizeof rings) > 0) polls_since_ring_ = 1;
    if (polls_since_ring_ > 0) ++polls_since_ring_;
    if (polls_since_ring_ < 10) return false;
    polls_since_ring_ = 0;
    give();
    return true;
  }

  std::function<void()> give;

 private:
  int bell_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  int polls_since_ring_ = 0;
};

// As many workers as companions, each with a processor of its own.
class WhoSearches : public testing::Test {
 protected:
  WhoSearches() {
    for (std::uint32_t i = 0; i < companions_.size() + 1; ++i) {
      processors_.emplace_back(*runtime_.nodes()[0], engine_, i, Processor::Kind::ordinary);
    }
  }

  void post(std::size_t companion) { processors_[companion].post(&companions_[companion]); }
  void post_by_another_thread(std::size_t companion) {
    std::thread([&] { post(companion); }).join();
  }

  // Rings the endpoint when all sleep, and expects that all companions meet.
  void expect_meeting() {
    const std::set<pid_t> before = threads_of_this_process();
    ThreadEngine::Options options;
    options.workers = Company::all;
    options.idling.spins = 2000;
    engine_.start(options, endpoints_);
    const auto all_sleep = [&] {
      const std::set<pid_t> threads = threads_of_this_process();
      return std::all_of(threads.begin(), threads.end(),
                         [&](pid_t thread) { return before.contains(thread) || sleeps(thread); });
    };
    for (int times_seen = 0; times_seen < 100; times_seen = all_sleep() ? times_seen + 1 : 0) sched_yield();
    endpoint_.ring();
    while (company_.gone.load() < Company::all) sched_yield();
    engine_.stop();
    EXPECT_EQ(company_.present.load(), Company::all) << "each waited for the others in vain";
  }

  fabric::Context context_{nullptr};
  GivingEndpoint endpoint_{context_};
  std::array<fabric::Endpoint*, 1> endpoints_{&endpoint_};
  Runtime runtime_{test::options_for("sim:1")};
  ThreadEngine engine_;
  Company company_;
  std::deque<Processor> processors_;
  std::array<Companion, Company::all> companions_{Companion(company_), Companion(company_), Companion(company_)};
};

// Small collectives, which are over in the call, ask for it, so that none keeps its worker from others for long.
TEST(ThreadEngine, SaysWhetherOthersWantAWorker) {
  test::run_on(
      "local:1",
      [](Node& node) -> Task<> {
        Engine& engine = node.engine();
        EXPECT_FALSE(engine.others_want_worker());
        const Event other = node.spawn([&] { EXPECT_FALSE(engine.others_want_worker()); });
        EXPECT_TRUE(engine.others_want_worker()) << "a task of the processor that it holds";
        std::thread([&] { EXPECT_FALSE(engine.others_want_worker()) << "of a thread that is no worker"; }).join();
        co_await other;
        EXPECT_FALSE(engine.others_want_worker());
      },
      1);
}

// A worker that looks for work is woken by nobody, and so others are not woken for what it finds; nor for what is left
// where one of them has taken something. What comes with one message makes all ready, the last ones by another thread.
class WhoFindsMoreThanItCanDo : public WhoSearches, public testing::WithParamInterface<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(ByAnotherThread, WhoFindsMoreThanItCanDo,
                         testing::Range(std::size_t{0}, std::size_t{Company::all}));

TEST_P(WhoFindsMoreThanItCanDo, WakesOthers) {
  endpoint_.give = [&] {
    const std::size_t by_worker = companions_.size() - GetParam();
    for (std::size_t i = 0; i < by_worker; ++i) post(i);
    for (std::size_t i = by_worker; i < companions_.size(); ++i) post_by_another_thread(i);
  };
  expect_meeting();
}

// A busy worker wakes nobody while another one searches. Where that goes to something of its own, a third is woken.
TEST_F(WhoSearches, WakesOthersForWhatABusyWorkerHasLeftToIt) {
  std::atomic<bool> asked{false};
  std::atomic<bool> made_ready{false};
  std::atomic<bool> busy{false};
  companions_[0].before = [&] {  // at the busy worker
    busy = true;
    endpoint_.ring();
    while (!asked) sched_yield();
    post(1);
    made_ready = true;
  };
  Runnable scout([](Runnable*, Worker&) noexcept {}, 0);  // after which its worker searches
  endpoint_.give = [&] {
    if (!busy) {
      post(0);
      std::thread([&] { processors_.back().post(&scout); }).join();
      return;
    }
    asked = true;
    while (!made_ready) sched_yield();
    post(2);
  };
  expect_meeting();
}

}  // namespace
}  // namespace stretto
