// Groups on several hosts with several nodes each: simulated machines whose nodes share hosts.

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "stretto/collective/collective.h"
#include "stretto/collective/test_support.h"
#include "stretto/fabric/sim/sim_fabric.h"

namespace stretto {
namespace {

using schedule::Operation;

/// The algorithms for `operation` that go by hosts.
std::vector<std::string_view> by_hosts(Operation operation) {
  std::vector<std::string_view> names;
  for (const schedule::Algorithm* const algorithm : schedule::algorithms()) {
    if (algorithm->needs_hosts() && algorithm->operation() == operation) names.push_back(algorithm->name());
  }
  return names;
}

/// Those that serve ranks on `hosts`, and none: what is chosen.
std::vector<std::string_view> choices(Operation operation, const schedule::Hosts& hosts) {
  std::vector<std::string_view> names;
  for (const std::string_view name : by_hosts(operation)) {
    const schedule::Algorithm& algorithm = schedule::find_algorithm(name);
    const schedule::Shape shape{.operation = operation, .size = hosts.ranks(), .hosts = hosts};
    if (algorithm.supports(algorithm.with_segments(shape))) names.push_back(name);
  }
  names.emplace_back();
  return names;
}

using Words = std::vector<std::uint64_t>;
using Counts = std::vector<std::size_t>;

/// The part of `whole` that is rank `rank`'s block.
std::span<std::uint64_t> block_of(Words& whole, const Counts& counts, Rank rank) {
  const auto begin = counts.begin();
  return std::span(whole).subspan(std::accumulate(begin, begin + rank, std::size_t{0}), counts[rank]);
}

/// A block of each member.
Words blocks_of_all(const Group& group, const Counts& counts) {
  Words whole(std::accumulate(counts.begin(), counts.end(), std::size_t{0}));
  for (Rank rank = 0; rank < group.size(); ++rank) {
    const Words block = test::values<std::uint64_t>(counts[rank], 5, group.node(rank));
    std::copy(block.begin(), block.end(), block_of(whole, counts, rank).begin());
  }
  return whole;
}

/// Collectives whose ranks have blocks of different lengths, by each algorithm that goes by hosts and as it is chosen,
/// in and out of place.
Task<> use_blocks(Node& node, const Group& group, std::size_t count) {
  const schedule::Hosts hosts = CollectiveService::of(node).hosts_of(group);
  const Rank root = group.size() / 2;
  const Rank me = group.rank_of(node.id());
  const bool is_root = me == root;
  Counts counts;
  for (Rank rank = 0; rank < group.size(); ++rank) counts.push_back(count * (rank % 3));  // among them none
  const Words all = blocks_of_all(group, counts);
  const Words mine = test::values<std::uint64_t>(counts[me], 5, node.id());
  for (const std::string_view name : choices(Operation::gather, hosts)) {
    const CollectiveOptions options = CollectiveOptions().algorithm(name);
    Words gathered(is_root ? all.size() : 0);
    co_await gather(node, group, mine, gathered, counts, root, options);
    EXPECT_TRUE(!is_root || gathered == all) << name;
    Words around(all.size());
    std::copy(mine.begin(), mine.end(), block_of(around, counts, me).begin());
    const std::span<const std::uint64_t> inside = block_of(around, counts, me);
    co_await gather(node, group, inside, is_root ? around : std::span<std::uint64_t>(), counts, root, options);
    EXPECT_TRUE(!is_root || around == all) << name << " in place";
  }
  for (const std::string_view name : choices(Operation::scatter, hosts)) {
    const CollectiveOptions options = CollectiveOptions().algorithm(name);
    const Words given = is_root ? all : Words();
    Words got(mine.size());
    co_await scatter(node, group, given, got, counts, root, options);
    EXPECT_EQ(got, mine) << name;
    Words around = is_root ? all : Words(all.size());
    const std::span<const std::uint64_t> input =
        is_root ? std::span<const std::uint64_t>(around) : std::span<const std::uint64_t>();
    co_await scatter(node, group, input, block_of(around, counts, me), counts, root, options);
    EXPECT_TRUE(std::ranges::equal(block_of(around, counts, me), mine)) << name << " in place";
  }
  const Words terms = test::values<std::uint64_t>(all.size(), 6, node.id());
  Words sums = test::reduced<std::uint64_t>(group, all.size(), 6, sum);
  const std::span<const std::uint64_t> my_sums = block_of(sums, counts, me);
  for (const std::string_view name : choices(Operation::reduce_scatter, hosts)) {
    const CollectiveOptions options = CollectiveOptions().algorithm(name);
    Words got(mine.size());
    co_await reduce_scatter(node, group, terms, got, counts, sum, options);
    EXPECT_TRUE(std::ranges::equal(got, my_sums)) << name;
    Words around = terms;
    co_await reduce_scatter(node, group, around, block_of(around, counts, me), counts, sum, options);
    EXPECT_TRUE(std::ranges::equal(block_of(around, counts, me), my_sums)) << name << " in place";
  }
}

/// By algorithms for hosts whose ranks follow one another, and by others where they don't.
Task<> use_scans(Node& node, const Group& group, std::size_t count) {
  const schedule::Hosts hosts = CollectiveService::of(node).hosts_of(group);
  const Rank me = group.rank_of(node.id());
  using Terms = std::vector<test::Affine>;
  const Terms mine = test::values<test::Affine>(count, 8, node.id());
  const auto up_to = [&](Rank ranks) {
    return test::reduced<test::Affine>(test::first_ranks(group, ranks), count, 8, test::Compose());
  };
  for (const std::string_view name : choices(Operation::scan, hosts)) {
    const CollectiveOptions options = CollectiveOptions().algorithm(name);
    Terms got(count);
    co_await scan(node, group, mine, got, test::Compose(), options);
    EXPECT_EQ(got, up_to(me + 1)) << name;
    got = mine;
    co_await scan(node, group, got, got, test::Compose(), options);
    EXPECT_EQ(got, up_to(me + 1)) << name << " in place";
  }
  for (const std::string_view name : choices(Operation::exscan, hosts)) {
    const CollectiveOptions options = CollectiveOptions().algorithm(name);
    Terms got(count);
    co_await exscan(node, group, mine, got, test::Compose(), options);
    EXPECT_TRUE(me == 0 || got == up_to(me)) << name;
    got = mine;
    co_await exscan(node, group, got, got, test::Compose(), options);
    EXPECT_TRUE(me == 0 || got == up_to(me)) << name << " in place";
  }
}

/// What `node` has for each rank in an all-to-all.
Words words_for(NodeId node, Rank rank, std::size_t count) {
  return test::values<std::uint64_t>(count, 100 + rank, node);
}

Task<> use_all_to_all(Node& node, const Group& group, std::size_t count) {
  Words given;
  Words expected;
  for (Rank rank = 0; rank < group.size(); ++rank) {
    const Words words = words_for(node.id(), rank, count);
    given.insert(given.end(), words.begin(), words.end());
    const Words theirs = words_for(group.node(rank), group.rank_of(node.id()), count);
    expected.insert(expected.end(), theirs.begin(), theirs.end());
  }
  for (const std::string_view name : choices(Operation::all_to_all, CollectiveService::of(node).hosts_of(group))) {
    Words got(given.size());
    co_await all_to_all(node, group, given, got, CollectiveOptions().algorithm(name));
    EXPECT_TRUE(got == expected) << name << ", " << count;
  }
}

/// Every collective that has such algorithms, by each of them and as it is chosen, in and out of place.
Task<> use_all(Node& node, const Group& group, std::size_t count) {
  const Rank root = group.size() - 1;
  const std::vector<std::uint64_t> mine = test::values<std::uint64_t>(count, 5, node.id());
  const std::vector<std::uint64_t> expected = test::reduced<std::uint64_t>(group, count, 5, sum);
  const auto with_choice = [](std::vector<std::string_view> names) {
    names.emplace_back();
    return names;
  };
  for (const std::string_view name : with_choice(by_hosts(Operation::allreduce))) {
    std::vector<std::uint64_t> sums(count);
    co_await allreduce(node, group, mine, sums, sum, CollectiveOptions().algorithm(name));
    EXPECT_EQ(sums, expected) << name;
    sums = mine;
    co_await allreduce(node, group, sums, sums, sum, CollectiveOptions().algorithm(name));
    EXPECT_EQ(sums, expected) << name << " in place";
  }
  for (const std::string_view name : with_choice(by_hosts(Operation::reduce))) {
    std::vector<std::uint64_t> sums(count);
    co_await reduce(node, group, mine, sums, sum, root, CollectiveOptions().algorithm(name));
    EXPECT_TRUE(group.rank_of(node.id()) != root || sums == expected) << name;
  }
  for (const std::string_view name : with_choice(by_hosts(Operation::broadcast))) {
    std::vector<std::uint64_t> data = mine;
    co_await broadcast(node, group, data, root, CollectiveOptions().algorithm(name));
    EXPECT_EQ(data, test::values<std::uint64_t>(count, 5, group.node(root))) << name;
  }
  for (const std::string_view name : with_choice(by_hosts(Operation::allgather))) {
    std::vector<std::uint64_t> all(count * group.size());
    co_await allgather(node, group, mine, all, CollectiveOptions().algorithm(name));
    for (Rank rank = 0; rank < group.size(); ++rank) {
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>(rank * count);
      EXPECT_EQ(std::vector(begin, begin + static_cast<std::ptrdiff_t>(count)),
                test::values<std::uint64_t>(count, 5, group.node(rank)))
          << name;
    }
  }
  for (const std::string_view name : with_choice(by_hosts(Operation::barrier))) {
    co_await barrier(node, group, CollectiveOptions().algorithm(name));
  }
}

TEST(Hierarchical, EveryCollectiveComesOutRightOnNodesThatShareHosts) {
  for (const std::string machine :
       {"sim:13,hosts=4", "sim:6,hosts=2,seed=3,jitter=3us,reorder=0.3,delay=40us,delay_probability=0.05"}) {
    test::run_on(machine, [](Node& node) -> Task<> {
      const Group all = Group::all(node);
      std::vector<NodeId> turned;  // ranks of a host in turn with those of others
      for (NodeId each = 0; each < all.size(); ++each) turned.push_back((each * 5 + 2) % all.size());
      for (const std::size_t count : {std::size_t{1}, std::size_t{300}, std::size_t{20'000}}) {
        co_await use_all(node, all, count);
        co_await use_all(node, Group(turned), count);
        co_await use_blocks(node, all, count);
        co_await use_blocks(node, Group(turned), count);
        co_await use_scans(node, all, count);
        co_await use_scans(node, Group(turned), count);
        co_await use_all_to_all(node, all, count);
        co_await use_all_to_all(node, Group(turned), count);
      }
    });
  }
}

TEST(Hierarchical, OperatorsThatDoNotCommuteKeepTheirOrder) {
  test::run_on("sim:13,hosts=4", [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    const std::vector<test::Affine> mine = test::values<test::Affine>(100, 9, node.id());
    for (const std::string_view name :
         {"leaders_allreduce", "leader_trees_allreduce", "sliced_direct_allreduce", "sliced_doubling_allreduce", ""}) {
      std::vector<test::Affine> composed(mine.size());
      co_await allreduce(node, all, mine, composed, test::Compose(), CollectiveOptions().algorithm(name));
      EXPECT_EQ(composed, test::reduced<test::Affine>(all, mine.size(), 9, test::Compose())) << name;
    }
    const std::vector<test::Affine> terms = test::values<test::Affine>(13 * 7, 9, node.id());
    const std::vector<test::Affine> whole = test::reduced<test::Affine>(all, terms.size(), 9, test::Compose());
    for (const std::string_view name : {"leaders_reduce_scatter", "sliced_direct_reduce_scatter", ""}) {
      std::vector<test::Affine> composed(7);
      co_await reduce_scatter(node, all, terms, composed, test::Compose(), CollectiveOptions().algorithm(name));
      EXPECT_TRUE(std::equal(composed.begin(), composed.end(), whole.begin() + 7 * node.id())) << name;
    }
  });
}

TEST(Hierarchical, GroupsKnowTheirHostsWhereLinksDiffer) {
  test::run_on("sim:6,hosts=3", [](Node& node) -> Task<> {
    const CollectiveService& service = CollectiveService::of(node);
    EXPECT_EQ(service.hosts_of(Group::all(node)), schedule::Hosts::even(6, 3));
    EXPECT_EQ(service.hosts_of(Group{1, 2, 0}), schedule::Hosts(std::vector<std::uint32_t>{0, 1, 0}));
    EXPECT_FALSE(service.hosts_of(Group{4, 5}).are_known()) << "one host";
    EXPECT_FALSE(service.hosts_of(Group{0, 2, 4}).are_known()) << "one each";
    std::uint64_t one = 1;
    std::uint64_t sum_of_all = 0;
    const auto call = [&](const Group& group) {
      allreduce(node, group, std::span<const std::uint64_t>(&one, 1), std::span(&sum_of_all, 1), sum,
                CollectiveOptions().algorithm("leaders_allreduce"));
    };
    const Group own({node.id(), (node.id() + 2) % 6});
    EXPECT_NE(test::refusal([&] { call(own); }).find("goes by the hosts that the ranks are on"), std::string::npos);
    co_return;
  });
}

/// Virtual seconds of one all-reduce of 16 nodes on 4 hosts, by the named algorithm, or (no name) as it is chosen.
double seconds_of_allreduce(std::size_t bytes, std::string_view name, std::uint32_t segments = 1) {
  Runtime runtime(test::options_for("sim:16,hosts=4,latency=5us,overhead=0.5us,gap=0.5us,bandwidth=1GB/s"));
  auto& fabric = static_cast<fabric::SimFabric&>(runtime.fabric());
  runtime.run([&](Node& node) -> Task<> {
    const std::vector<std::uint64_t> mine(bytes / sizeof(std::uint64_t), node.id());
    std::vector<std::uint64_t> sums(mine.size());
    co_await allreduce(node, Group::all(node), mine, sums, sum, CollectiveOptions().algorithm(name, segments));
    EXPECT_EQ(sums, std::vector<std::uint64_t>(mine.size(), 120));
  });
  return fabric::to_seconds(fabric.timeline().now());
}

TEST(Hierarchical, SixteenNodesOnFourHostsTakeLessTimeThanByAnyFlatSchedule) {
  for (const auto& [bytes, name] : {std::pair<std::size_t, std::string_view>(8, "leaders_four_way_allreduce"),
                                    {std::size_t{1} << 20U, "sliced_ring_allreduce"}}) {
    const double by_hosts = seconds_of_allreduce(bytes, name);
    const double chosen = seconds_of_allreduce(bytes, {});
    schedule::Request request;
    request.shape = {.operation = Operation::allreduce, .size = 16};
    request.bytes = bytes;
    request.placement.link = schedule::Link::wire;
    for (const schedule::Candidate& flat : rank_candidates(request, schedule::built_in_costs())) {
      const double flat_seconds = seconds_of_allreduce(bytes, flat.algorithm->name(), flat.segments);
      // Rabenseifner's exchanges the halves between neighbours, which are on one host here: it is level.
      const bool is_level = flat.algorithm->name() == "rabenseifner";
      EXPECT_LT(by_hosts, flat_seconds * (is_level ? 1.05 : 1)) << flat.algorithm->name() << ", " << bytes << " bytes";
      EXPECT_LE(chosen, flat_seconds) << flat.algorithm->name() << ", " << bytes << " bytes";
    }
  }
}

}  // namespace
}  // namespace stretto
