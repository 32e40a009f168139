// A task, an all-reduce, and work that runs while the reduction does: the program of the README.

#include <cstdio>

#include "stretto/collective/collective.h"
#include "stretto/core/runtime.h"

using namespace stretto;

int main(int argc, char** argv) {
  return run(argc, argv, [](Node& node) -> Task<> {  // called once for each node
    const Group everyone = Group::all(node);
    Future<double> mine = node.spawn([&node] { return 1.0 + node.id(); });
    const double value = co_await mine;  // a task, awaited
    Future<double> total = allreduce(node, everyone, value, sum);
    Event work = node.spawn([] { /* runs while the reduction does */ });
    co_await work;
    std::printf("node %u: %g\n", node.id(), co_await total);
  });
}
