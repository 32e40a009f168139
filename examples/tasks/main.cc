// What tasks and events can do, a function each: the program of docs/guide/order_work.md.

#include <cstdio>
#include <string>
#include <vector>

#include "stretto/collective/collective.h"
#include "stretto/core/barrier_service.h"
#include "stretto/core/runtime.h"

using namespace stretto;

// A task that comes after two others. It is spawned before they have run.
Task<int> after_both(Node& node) {
  const Future<int> left = node.spawn([] { return 2; });
  const Future<int> right = node.spawn([] { return 3; });
  const Event both = node.merge(left, right);
  const Future<int> multiplied = node.spawn([=] { return left.value() * right.value(); }, SpawnOptions().after(both));
  co_return co_await multiplied;
}

// A plain task may wait, too: its worker runs other tasks meanwhile.
int waits_in_the_middle(Node& node) {
  const Future<int> inner = node.spawn([] { return 20; });
  return 1 + inner.get();
}

// An event that the program triggers itself, when it likes.
Task<int> once_the_gate_is_open(Node& node) {
  const UserEvent gate = node.create_user_event();
  const Future<int> behind = node.spawn([] { return 4; }, SpawnOptions().after(gate));
  gate.trigger();
  co_return co_await behind;
}

// Runs on whichever node it is sent to. Arguments and result travel.
std::string greet(Node& here, std::string name) { return name + " met node " + std::to_string(here.id()); }

Task<std::string> from_the_next_node(Node& node) {
  const NodeId next = (node.id() + 1) % node.size();
  const Future<std::string> greeting = node.spawn_on<greet>(next, SpawnOptions(), "node " + std::to_string(node.id()));
  co_return co_await greeting;
}

// What fails poisons what comes after it, with the cause. Nothing of that runs.
Task<std::string> why_nothing_ran(Node& node) {
  const Event failing = node.spawn([] { throw Error(ErrorCode::bad_input, "no such file"); });
  const Event behind = node.spawn([] { std::puts("this is never printed"); }, SpawnOptions().after(failing));
  try {
    co_await behind;
  } catch (const Error& error) {
    co_return error.message();
  }
  co_return "it ran";
}

// A barrier whose phases are events: each node says when it arrives, and goes on until it needs the others.
Task<> two_phases(Node& node, const Group& everyone) {
  PhaseBarrier phase;
  if (node.id() == 0) {
    std::vector<NodeId> all;
    for (NodeId id = 0; id < node.size(); ++id) all.push_back(id);
    phase = node.barriers().create(node.size(), all);
  }
  phase = co_await broadcast(node, everyone, phase, 0);  // a handle, copied and sent freely
  for (int round = 0; round < 2; ++round, phase = phase.next()) {
    const Event done = node.spawn([] { /* this node's part of the round */ });
    node.barriers().arrive(phase, 1, done);
    co_await phase.event();
  }
}

int main(int argc, char** argv) {
  return run(argc, argv, [](Node& node) -> Task<> {
    const int six = co_await after_both(node);
    const Future<int> waited = node.spawn([&node] { return waits_in_the_middle(node); });
    const int sum_of_both = co_await waited + co_await once_the_gate_is_open(node);
    const std::string greeting = co_await from_the_next_node(node);
    const std::string cause = co_await why_nothing_ran(node);
    co_await two_phases(node, Group::all(node));
    std::printf("node %u: %d, %d, %s, %s\n", node.id(), six, sum_of_both, greeting.c_str(), cause.c_str());
  });
}
