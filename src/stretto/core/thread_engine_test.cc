#include "stretto/core/thread_engine.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <string>
#include <thread>

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

}  // namespace
}  // namespace stretto
