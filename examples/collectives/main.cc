// What collectives can do beyond MPI's, a function each: the program of docs/guide/combine_data.md.

#include <cstddef>
#include <cstdio>
#include <span>
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
  static constexpr bool commutative = true;  // ties go to the lower node, whichever comes first
  static constexpr bool elementary = true;
  Hottest operator()(const Hottest& a, const Hottest& b) const noexcept {
    return b.degrees > a.degrees || (b.degrees == a.degrees && b.where < a.where) ? b : a;
  }
};

// An operator that is a task of its own, over whole spans: it may spawn others, and wait for them.
struct AddInHalves {
  static constexpr bool commutative = true;
  Task<> operator()(Node& node, std::span<int> out, std::span<const int> left, std::span<const int> right) const {
    const auto add = [=](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) out[i] = left[i] + right[i];
    };
    const std::size_t half = out.size() / 2;
    const Event first_half = node.spawn([=] { add(0, half); });
    add(half, out.size());
    co_await first_half;
  }
};

Task<int> by_tasks(Node& node, const Group& everyone) {
  const std::vector<int> ones(1000, 1);
  std::vector<int> totals(1000);
  co_await allreduce(node, everyone, ones, totals, AddInHalves());
  co_return totals.front() + totals.back();
}

// Calls of one group match in their order. Calls that have no order get keys.
Task<int> in_any_order(Node& node, const Group& everyone) {
  const auto ones = [&] { return allreduce(node, everyone, 1, sum, CollectiveOptions().key(1)); };
  const auto tens = [&] { return allreduce(node, everyone, 10, sum, CollectiveOptions().key(2)); };
  const bool is_odd = node.id() % 2 != 0;
  const Future<int> first = is_odd ? ones() : tens();
  const Future<int> second = is_odd ? tens() : ones();
  co_return co_await first + co_await second;
}

// Only the root gets the result: the others leave the output out. The root is a rank of the group, here the last node.
Task<int> at_the_root(Node& node) {
  std::vector<NodeId> backwards;
  for (NodeId id = node.size(); id > 0; --id) backwards.push_back(id - 1);
  const Group group(backwards);
  const Rank root = 0;
  const std::vector<int> mine(1, static_cast<int>(node.id()) + 1);
  std::vector<int> total(1);
  if (group.rank_of(node.id()) == root) {
    co_await reduce(node, group, mine, total, sum, root);
  } else {
    co_await reduce(node, group, mine, {}, sum, root);
  }
  co_return total.front();
}

// Who participates and who receives is free: every other node participates, the last one receives.
Task<int> from_some_to_others(Node& node, const Group& participants) {
  const Group receivers{node.size() - 1};
  const ReduceGroups groups(participants, receivers);
  std::vector<int> mine(1, static_cast<int>(node.id()) + 1);
  std::vector<int> total(1);
  if (groups.members().contains(node.id())) co_await reduce(node, groups, mine, total, product);
  co_return total[0];
}

// Several such reduces are planned together. All members of any of them pass the whole list.
Task<int> two_at_once(Node& node, const Group& everyone, const Group& some) {
  const ReduceGroups from_some_to_all(some, everyone);
  const ReduceGroups from_all_to_last(everyone, Group{node.size() - 1});
  const std::vector<int> mine(1, static_cast<int>(node.id()) + 1);
  std::vector<int> total(1);
  std::vector<int> greatest(1);
  const std::vector<Event> done = concurrent(node, {reduce_call(from_some_to_all, 1, mine, total, sum),
                                                    reduce_call(from_all_to_last, 1, mine, greatest, maximum)});
  for (const Event each : done) co_await each;
  co_return total.front() + greatest.front();
}

// The same bits by every schedule and on every fabric: the brackets are those of the canonical tree.
Task<double> with_the_same_bits(Node& node, const Group& everyone) {
  co_return co_await allreduce(node, everyone, 1.0 / (1 + node.id()), sum, CollectiveOptions().reproducible());
}

int main(int argc, char** argv) {
  return run(argc, argv, [](Node& node) -> Task<> {
    const Group everyone = Group::all(node);
    const double mean = co_await mean_of_what_a_task_makes(node, everyone);
    const Hottest mine{20.0 + node.id() % 3, node.id()};
    const Hottest hottest = co_await allreduce(node, everyone, mine, Hotter());
    const int by_halves = co_await by_tasks(node, everyone);
    const int both = co_await in_any_order(node, everyone);
    const int of_root = co_await at_the_root(node);
    std::vector<NodeId> every_other;
    for (NodeId id = 0; id < node.size(); id += 2) every_other.push_back(id);
    const Group some(every_other);
    const int received = co_await from_some_to_others(node, some);
    const int of_two = co_await two_at_once(node, everyone, some);
    const double sum_of_parts = co_await with_the_same_bits(node, everyone);
    std::printf(
        "node %u: mean %g, %g degrees at node %u, by tasks %d, sums %d, at the root %d, product %d, two %d, %.17g\n",
        node.id(), mean, hottest.degrees, hottest.where, by_halves, both, of_root, received, of_two, sum_of_parts);
  });
}
