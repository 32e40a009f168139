#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include "stretto/base/random.h"
#include "stretto/core/engine.h"
#include "stretto/core/test_support.h"

// When a job ends, by a failure or because its mains are over, who waits is told. Who waits for a task is told when
// that has let go of what it uses, which may be what the waiting one owns.
namespace stretto {
namespace job_end_test {

using test::code_of;
using test::error_of;
using test::options_for;

// Says whether its owner is still there: in memory that outlives the job, for who comes too late.
class Presence {
 public:
  explicit Presence(std::atomic<bool>& there) : there_(there) { there_ = true; }
  ~Presence() { there_ = false; }
  Presence(const Presence&) = delete;
  Presence& operator=(const Presence&) = delete;

 private:
  std::atomic<bool>& there_;
};

// What a job's parent and child, and its test, share.
struct Scene {
  std::atomic<bool> parent_is_there{false};
  std::atomic<int> children_left{0};
  std::atomic<int> orphans{0};
  UserEvent all_wait;  // node 1 then fails
  Event never;         // what the child waits for: created last, so that it is told last

  void use_parent() { orphans += parent_is_there ? 0 : 1; }
};

Task<> child_coroutine(Scene& scene) {
  std::string code = "none";
  try {
    co_await scene.never;
  } catch (const Error& error) {
    code = std::string(name_of(error.code()));
  }
  EXPECT_EQ(code, "cancelled");
  scene.use_parent();
  ++scene.children_left;
}

void child_function(Scene& scene, Node& node) {
  EXPECT_EQ(code_of([&] { node.wait(scene.never); }), "cancelled");
  scene.use_parent();
  ++scene.children_left;
}

void child_elsewhere(Node& node, std::uint64_t scene) { child_function(*reinterpret_cast<Scene*>(scene), node); }

enum class Child : std::uint8_t { coroutine, function, elsewhere };

Event spawn_child(Node& node, Child kind, Scene& scene) {
  switch (kind) {
    case Child::coroutine: return node.spawn([&scene] { return child_coroutine(scene); }, SpawnOptions().processor(0));
    case Child::function:
      return node.spawn([&scene](Node& here) { child_function(scene, here); }, SpawnOptions().processor(0));
    case Child::elsewhere: break;
  }
  return node.spawn_on<child_elsewhere>(node.id(), SpawnOptions().processor(0),
                                        reinterpret_cast<std::uint64_t>(&scene));
}

// What a parent waits for that comes after its child.
using Follow = Event (*)(Node&, Event child);

Event itself(Node& /*node*/, Event child) { return child; }
Event merged(Node& node, Event child) { return node.merge({child, node.create_user_event()}); }
Event merged_twice(Node& node, Event child) {
  return node.merge({node.create_user_event(), node.merge({node.spawn([] {}), child})});
}
Event triggered_after(Node& node, Event child) {
  const UserEvent event = node.create_user_event();
  node.trigger(event, child);
  return event;
}
Event time_of(Node& node, Event child) { return node.time_of(child); }
Event successor(Node& node, Event child) {
  return node.spawn([] { ADD_FAILURE() << "what it was to come after was cancelled"; }, SpawnOptions().after(child));
}

// The child and who tells node 1 take their turns on the parent's processor, when that waits.
Event prepare(Node& node, Scene& scene, Child kind, Follow follow) {
  const Event awaited = follow(node, spawn_child(node, kind, scene));
  scene.never = node.create_user_event();
  node.spawn([&scene](Node& here) { here.trigger(scene.all_wait); }, SpawnOptions().processor(0));
  return awaited;
}

Task<> parent(Node& node, Scene& scene, Child kind, Follow follow) {
  const Presence presence(scene.parent_is_there);
  const Event awaited = prepare(node, scene, kind, follow);
  co_await awaited;
}

Task<> waiting_parent(Node& node, Scene& scene, Child kind, Follow follow) {
  const Presence presence(scene.parent_is_there);
  node.wait(prepare(node, scene, kind, follow));
  co_return;
}

using Parent = Task<> (*)(Node&, Scene&, Child, Follow);

// Runs it where the child waits behind the parent's back: on `local` two workers, the second one for node 1.
void expect_no_orphans(const char* fabric, Parent make_parent, Child kind, Follow follow, bool fails) {
  Runtime runtime(options_for(fabric));
  Scene scene;
  scene.all_wait = runtime.nodes()[1]->create_user_event();
  const std::string code = code_of([&] {
    runtime.run([&](Node& node) -> Task<> {
      if (node.id() == 1) {
        co_await scene.all_wait;
        if (fails) throw Error(ErrorCode::io, "on purpose");
      } else if (fails) {
        co_await make_parent(node, scene, kind, follow);
      } else {
        node.spawn([&](Node& here) { return make_parent(here, scene, kind, follow); }, SpawnOptions().processor(0));
      }
    });
  });
  EXPECT_EQ(code, fails ? "io" : "none");
  EXPECT_EQ(scene.children_left.load(), 1);
  EXPECT_EQ(scene.orphans.load(), 0);
}

TEST(JobEnd, WhoWaitsForATaskUnwindsAfterIt) {
  for (const char* const fabric : {"local:2", "sim:2"}) {
    for (const Parent make_parent : {&parent, &waiting_parent}) {
      for (const Child kind : {Child::coroutine, Child::function, Child::elsewhere}) {
        for (const Follow follow : {&itself, &merged, &merged_twice, &triggered_after, &time_of, &successor}) {
          for (const bool fails : {true, false}) {
            expect_no_orphans(fabric, make_parent, kind, follow, fails);
            ASSERT_FALSE(HasFailure()) << fabric << (make_parent == &parent ? " coroutine" : " function") << ", child "
                                       << static_cast<int>(kind) << (fails ? ", fails" : "");
          }
        }
      }
    }
  }
}

void wait_for_shutdown(Node& node) {
  while (!node.events().is_shut_down()) {
    if (node.engine().simulated()) {
      node.charge(1e-6);
    } else {
      std::this_thread::yield();
    }
  }
}

// Node 0 runs `busy`, and node 1 fails when that has triggered the event that it gets.
template <class Busy>
std::string run_beside_failure(const char* fabric, Busy busy) {
  Runtime runtime(options_for(fabric));
  const UserEvent fail = runtime.nodes()[1]->create_user_event();
  return code_of([&] {
    runtime.run([&](Node& node) -> Task<> {
      if (node.id() == 0) {
        co_await busy(node, fail);
      } else {
        co_await fail;
        throw Error(ErrorCode::io, "on purpose");
      }
    });
  });
}

// Neither what lies there, nor what is spawned later.
TEST(JobEnd, WhatHasNotBegunWhenAJobFailsNeverDoes) {
  for (const char* const fabric : {"local:2", "sim:2"}) {
    std::atomic<int> begun{0};
    std::string first;
    std::string second;
    const std::string code = run_beside_failure(fabric, [&](Node& node, UserEvent fail) -> Task<> {
      const Event waits = node.spawn([&begun] { ++begun; }, SpawnOptions().processor(0));
      node.trigger(fail);
      wait_for_shutdown(node);
      first = code_of([&] { node.wait(waits); });
      const Event late = node.spawn([&begun] { ++begun; }, SpawnOptions().processor(0));
      second = code_of([&] { node.wait(late); });
      co_return;
    });
    EXPECT_EQ(code, "io") << fabric;
    EXPECT_EQ(begun.load(), 0) << fabric;
    EXPECT_EQ(first, "cancelled");
    EXPECT_EQ(second, "cancelled");
  }
}

// On another processor; without it being waited for, its owner would unwind there and then.
TEST(JobEnd, WhoWaitsForATaskThatRunsUnwindsAfterIt) {
  Scene scene;
  Runtime runtime(options_for("local:2", 4));
  scene.all_wait = runtime.nodes()[1]->create_user_event();
  const auto compute = [&scene](Node& here) {
    here.trigger(scene.all_wait);
    wait_for_shutdown(here);
    for (int i = 0; i < 100; ++i) {
      std::this_thread::yield();
      scene.use_parent();
    }
  };
  EXPECT_EQ(code_of([&] {
              runtime.run([&](Node& node) -> Task<> {
                if (node.id() == 1) {
                  co_await scene.all_wait;
                  throw Error(ErrorCode::io, "on purpose");
                }
                const Presence presence(scene.parent_is_there);
                co_await node.spawn(compute, SpawnOptions().processor(1));
              });
            }),
            "io");
  EXPECT_EQ(scene.orphans.load(), 0);
}

// Nothing else would end them.
TEST(JobEnd, TasksThatWaitForEachOtherAreTold) {
  for (const char* const fabric : {"local:2", "sim:2"}) {
    std::atomic<int> told{0};
    const auto wait_for = [&told](const Event& event) -> Task<> {
      try {
        co_await event;
      } catch (const Error&) {
        ++told;
      }
    };
    const std::string code = run_beside_failure(fabric, [&](Node& node, UserEvent fail) -> Task<> {
      Event one;
      Event other;
      Event self;
      one = node.spawn([&] { return wait_for(other); }, SpawnOptions().processor(0));
      other = node.spawn([&] { return wait_for(one); }, SpawnOptions().processor(0));
      self = node.spawn([&] { return wait_for(self); }, SpawnOptions().processor(0));
      node.spawn([fail](Node& here) { here.trigger(fail); }, SpawnOptions().processor(0));
      const Event all = node.merge({one, other, self});
      co_await wait_for(all);
    });
    EXPECT_EQ(code, "io");
    EXPECT_EQ(told.load(), 4) << fabric;
  }
}

// Each of them triggers what the other one comes after.
TEST(JobEnd, EventsThatComeAfterEachOtherEnd) {
  for (const char* const fabric : {"local:2", "sim:2"}) {
    const std::string code = run_beside_failure(fabric, [](Node& node, UserEvent fail) -> Task<> {
      const UserEvent gate = node.create_user_event();
      const Event task = node.spawn([] {}, SpawnOptions().after(gate));
      node.trigger(gate, task);
      node.spawn([fail](Node& here) { here.trigger(fail); }, SpawnOptions().processor(0));
      co_await task;
    });
    EXPECT_EQ(code, "io") << fabric;
  }
}

// In a job that is over tasks begin, but who awaits them is told.
TEST(JobEnd, WhoAwaitsTaskAfterTaskEndsWithTheJob) {
  for (const char* const fabric : {"local:1", "local:2", "sim:2"}) {
    for (const bool fails : {false, true}) {
      std::atomic<int> told{0};
      const std::string code = code_of([&] {
        test::run_on(fabric, [&](Node& node) {
          node.spawn([&told](Node& here) -> Task<> {
            wait_for_shutdown(here);
            try {
              for (;;) co_await here.spawn([] {});
            } catch (const Error& error) {
              told += error.code() == ErrorCode::cancelled ? 1 : 0;
            }
          });
          if (fails) throw Error(ErrorCode::io, "on purpose");
        });
      });
      EXPECT_EQ(code, fails ? "io" : "none");
      EXPECT_GE(told.load(), fails ? 0 : 1) << fabric;
    }
  }
}

// A forest of tasks each of which waits for all that it has spawned, and looks whether the one above is there whenever
// it goes on.
struct Forest {
  explicit Forest(std::uint64_t seed) : random(seed) {}

  Random random;
  std::deque<std::atomic<bool>> there;
  int orphans = 0;
  int trees = 0;

  void look(const std::atomic<bool>& above) { orphans += above ? 0 : 1; }
};

Event grow_one(Node& node, Forest& forest, int depth, std::atomic<bool>& above, Event after);

Event grow_many(Node& node, Forest& forest, int depth, std::atomic<bool>& above) {
  std::vector<Event> all;
  for (std::uint64_t i = forest.random.below(4); i > 0; --i) {
    const bool follows = !all.empty() && forest.random.below(2) == 0;
    all.push_back(grow_one(node, forest, depth - 1, above, follows ? all.back() : no_event));
  }
  return node.merge(all);
}

Task<> tree(Node& node, Forest& forest, int depth, std::atomic<bool>& above) {
  const Presence presence(forest.there.emplace_back());
  std::atomic<bool>& mine = forest.there.back();
  ++forest.trees;
  forest.look(above);
  if (forest.random.below(2) == 0) {
    node.charge(1e-6 * static_cast<double>(forest.random.below(5)));
    forest.look(above);
  }
  const Event all = depth > 0 ? grow_many(node, forest, depth, mine) : no_event;
  const UserEvent never = node.create_user_event();
  const bool is_leaf = !all.exists() && forest.random.below(3) == 0;
  try {
    co_await (is_leaf ? Event(never) : all);
  } catch (const Error&) {
    forest.look(above);
    if (forest.random.below(2) == 0) throw;
  }
  forest.look(above);
}

Event grow_one(Node& node, Forest& forest, int depth, std::atomic<bool>& above, Event after) {
  return node.spawn([&forest, depth, &above](Node& here) { return tree(here, forest, depth, above); },
                    SpawnOptions().after(after));
}

TEST(JobEnd, NoTaskOutlivesWhoWaitsForItSeeds) {
  int trees = 0;
  for (const std::uint64_t seed : test::seeds(1000)) {
    Forest forest(seed);
    std::atomic<bool> always{true};
    const std::string fabric = "sim:3,task=100ns,seed=" + std::to_string(seed) +
                               (seed % 3 == 0 ? ",kill=1@" + std::to_string(seed * 17 % 20'000) + "ns" : "");
    const auto error = error_of([&] {
      test::run_on(fabric, [&forest, &always, seed](Node& node) -> Task<> {
        if (node.id() == 2) {
          node.charge(1e-6 * static_cast<double>(seed % 16));
          if (seed % 5 != 0) throw Error(ErrorCode::io, "on purpose");
          co_return;
        }
        co_await tree(node, forest, 4, always);
      });
    });
    trees += forest.trees;
    ASSERT_EQ(forest.orphans, 0) << "STRETTO_TEST_SEED=" << seed;
  }
  EXPECT_GT(trees, static_cast<int>(test::scaled(1000)));
}

}  // namespace job_end_test
}  // namespace stretto
