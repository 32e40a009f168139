// What collectives can do beyond MPI's, a function each: the program of docs/guide/combine_data.md.

#include <cstdio>
#include <vector>

#include "stretto/collective/collective.h"
#include "stretto/core/runtime.h"

using namespace stretto;

// Deferred: it begins when the data are there, and what needs the result begins when that is. Nobody waits in between.
Task<double> mean_of_what_a_task_makes(Node& node, const Group& everyone) {
  std::vector<double> values(3);
  std::vector<double> totals(3);
  const Event made = node.spawn([&] { values.assign(3, 1.0 + node.id()); });
  const Event summed = allreduce(node, everyone, values, totals, sum, CollectiveOptions().after(made));
  const Future<double> mean = node.spawn([&] { return totals[0] / node.size(); }, SpawnOptions().after(summed));
  co_return co_await mean;
}

// An operator of one's own, on a type of one's own. It is elementary: short, and throws nothing.
struct Hottest {
  double degrees;
  NodeId where;
};
struct Hotter {
  static constexpr bool commutative = true;
  static constexpr bool elementary = true;
  Hottest operator()(const Hottest& a, const Hottest& b) const noexcept { return a.degrees < b.degrees ? b : a; }
};

// Calls of one group match in their order. Calls that have no order get keys.
Task<int> in_any_order(Node& node, const Group& everyone) {
  const auto ones = [&] { return allreduce(node, everyone, 1, sum, CollectiveOptions().key(1)); };
  const auto tens = [&] { return allreduce(node, everyone, 10, sum, CollectiveOptions().key(2)); };
  const bool is_odd = node.id() % 2 != 0;
  const Future<int> first = is_odd ? ones() : tens();
  const Future<int> second = is_odd ? tens() : ones();
  co_return co_await first + co_await second;
}

// Who gives and who gets is free: every other node gives, the last one gets.
Task<int> from_some_to_others(Node& node, const Group& givers) {
  const Group getters{node.size() - 1};
  const ReduceGroups groups(givers, getters);
  std::vector<int> mine(1, static_cast<int>(node.id()) + 1);
  std::vector<int> total(1);
  if (groups.members().contains(node.id())) co_await reduce(node, groups, mine, total, product);
  co_return total[0];
}

int main(int argc, char** argv) {
  return run(argc, argv, [](Node& node) -> Task<> {
    const Group everyone = Group::all(node);
    const double mean = co_await mean_of_what_a_task_makes(node, everyone);
    const Hottest mine{20.0 + node.id() % 3, node.id()};
    const Hottest hottest = co_await allreduce(node, everyone, mine, Hotter());
    const int both = co_await in_any_order(node, everyone);
    std::vector<NodeId> every_other;
    for (NodeId id = 0; id < node.size(); id += 2) every_other.push_back(id);
    const int given = co_await from_some_to_others(node, Group(every_other));
    std::printf("node %u: mean %g, %g degrees at node %u, sums %d, product %d\n", node.id(), mean, hottest.degrees,
                hottest.where, both, given);
  });
}
