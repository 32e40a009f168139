#include "stretto/collective/collective.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "stretto/collective/test_support.h"

// What the operations compute, on every fabric that lives in one process.
namespace stretto {
namespace {

using test::Affine;
using test::algorithms_for;
using test::Compose;
using test::contribution;
using test::first_ranks;
using test::reduced;
using test::serial;
using test::values;

class CollectiveTest : public test::OnEveryFabric {};

INSTANTIATE_TEST_SUITE_P(Fabrics, CollectiveTest, testing::ValuesIn(test::fabric_kinds), test::name_of_kind);

template <class T>
std::vector<T> gathered(const Group& group, std::size_t count, std::uint64_t salt) {
  std::vector<T> result;
  for (const NodeId node : group.nodes()) {
    const std::vector<T> part = values<T>(count, salt, node);
    result.insert(result.end(), part.begin(), part.end());
  }
  return result;
}

std::vector<std::string_view> algorithms_for(schedule::Operation operation, const Group& group, bool commutative = true,
                                             Rank root = 0) {
  return algorithms_for({.operation = operation, .size = group.size(), .root = root, .commutative = commutative});
}

// Each of the following runs one operation on fresh buffers and compares.

template <class T, class Op>
Task<> check_allreduce(Node& node, Group group, std::size_t count, Op op, std::uint64_t salt,
                       std::string_view algorithm = {}) {
  const std::vector<T> input = values<T>(count, salt, node.id());
  std::vector<T> output(count);
  const CollectiveOptions options = CollectiveOptions().algorithm(algorithm);
  co_await allreduce(node, group, input, output, op, options);
  const std::vector<T> expected = reduced<T>(group, count, salt, op);
  EXPECT_TRUE(output == expected) << "allreduce of " << count << " on " << group.size();
  EXPECT_TRUE(input == values<T>(count, salt, node.id())) << "the input was written";
  std::vector<T> in_place = input;
  co_await allreduce(node, group, in_place, in_place, op, options);
  EXPECT_TRUE(in_place == expected) << "in place: allreduce of " << count << " on " << group.size();
}

template <class T, class Op>
Task<> check_reduce(Node& node, Group group, std::size_t count, Op op, Rank root, std::uint64_t salt,
                    std::string_view algorithm = {}) {
  const std::vector<T> input = values<T>(count, salt, node.id());
  const bool is_root = group.rank_of(node.id()) == root;
  std::vector<T> output(is_root ? count : 0);
  const CollectiveOptions options = CollectiveOptions().algorithm(algorithm);
  co_await reduce(node, group, input, output, op, root, options);
  const std::vector<T> expected = reduced<T>(group, count, salt, op);
  if (is_root) {
    EXPECT_TRUE(output == expected) << "reduce of " << count << " on " << group.size() << " to " << root;
  }
  EXPECT_TRUE(input == values<T>(count, salt, node.id())) << "the input was written";
  std::vector<T> in_place = input;
  co_await reduce(node, group, in_place, in_place, op, root, options);
  if (is_root) {
    EXPECT_TRUE(in_place == expected) << "in place: reduce of " << count << " to " << root;
  }
}

template <class T>
Task<> check_broadcast(Node& node, Group group, std::size_t count, Rank root, std::uint64_t salt,
                       std::string_view algorithm = {}) {
  std::vector<T> data = values<T>(count, group.rank_of(node.id()) == root ? salt : salt + 1, node.id());
  co_await broadcast(node, group, data, root, CollectiveOptions().algorithm(algorithm));
  EXPECT_TRUE(data == values<T>(count, salt, group.node(root)))
      << "broadcast of " << count << " on " << group.size() << " from " << root << " by " << algorithm;
}

// Rank r's block has count + r % 3 elements where they are `uneven`.
std::vector<std::size_t> block_counts(const Group& group, std::size_t count, bool uneven) {
  std::vector<std::size_t> counts(group.size(), count);
  for (Rank rank = 0; uneven && rank < group.size(); ++rank) counts[rank] += rank % 3;
  return counts;
}

std::size_t begin_of(const std::vector<std::size_t>& counts, Rank rank) {
  return std::accumulate(counts.begin(), counts.begin() + rank, std::size_t{0});
}

// What a gather of all gives.
template <class T>
std::vector<T> gathered(const Group& group, const std::vector<std::size_t>& counts, std::uint64_t salt) {
  std::vector<T> result;
  for (Rank rank = 0; rank < group.size(); ++rank) {
    const std::vector<T> part = values<T>(counts[rank], salt, group.node(rank));
    result.insert(result.end(), part.begin(), part.end());
  }
  return result;
}

// The buffers of an operation in which one of them has a block for each rank: apart, and in place.
template <class T>
struct Blocks {
  std::vector<std::size_t> counts;
  Rank me;
  std::size_t all = begin_of(counts, static_cast<Rank>(counts.size()));
  std::vector<T> apart = std::vector<T>(all);
  std::vector<T> around = std::vector<T>(all);

  std::span<T> mine_in(std::vector<T>& vector) const {
    return std::span(vector).subspan(begin_of(counts, me), counts[me]);
  }
};

template <class T>
Task<> check_allgather(Node& node, Group group, std::size_t count, bool uneven, std::uint64_t salt,
                       std::string_view algorithm = {}) {
  Blocks<T> blocks{block_counts(group, count, uneven), group.rank_of(node.id())};
  const std::vector<T> input = values<T>(blocks.counts[blocks.me], salt, node.id());
  const CollectiveOptions options = CollectiveOptions().algorithm(algorithm);
  const std::span<T> mine = blocks.mine_in(blocks.around);
  std::copy(input.begin(), input.end(), mine.begin());
  if (uneven) {
    co_await allgather(node, group, input, blocks.apart, blocks.counts, options);
    co_await allgather(node, group, mine, blocks.around, blocks.counts, options);
  } else {
    co_await allgather(node, group, input, blocks.apart, options);
    co_await allgather(node, group, mine, blocks.around, options);
  }
  const std::vector<T> expected = gathered<T>(group, blocks.counts, salt);
  EXPECT_TRUE(blocks.apart == expected) << "allgather of " << count << " on " << group.size() << " by " << algorithm;
  EXPECT_TRUE(blocks.around == expected) << "in place: allgather of " << count << " by " << algorithm;
}

template <class T>
Task<> check_gather(Node& node, Group group, std::size_t count, bool uneven, Rank root, std::uint64_t salt,
                    std::string_view algorithm = {}) {
  Blocks<T> blocks{block_counts(group, count, uneven), group.rank_of(node.id())};
  const std::vector<T> input = values<T>(blocks.counts[blocks.me], salt, node.id());
  const CollectiveOptions options = CollectiveOptions().algorithm(algorithm);
  const std::span<T> mine = blocks.mine_in(blocks.around);
  std::copy(input.begin(), input.end(), mine.begin());
  if (uneven) {
    const std::span<const std::size_t> counts(blocks.counts);
    co_await gather(node, group, input, blocks.apart, counts, root, options);
    co_await gather(node, group, mine, blocks.around, counts, root, options);
  } else {
    co_await gather(node, group, input, blocks.apart, root, options);
    co_await gather(node, group, mine, blocks.around, root, options);
  }
  if (blocks.me != root) co_return;
  const std::vector<T> expected = gathered<T>(group, blocks.counts, salt);
  EXPECT_TRUE(blocks.apart == expected) << "gather of " << count << " on " << group.size() << " by " << algorithm;
  EXPECT_TRUE(blocks.around == expected) << "in place: gather of " << count << " by " << algorithm;
}

template <class T>
Task<> check_scatter(Node& node, Group group, std::size_t count, bool uneven, Rank root, std::uint64_t salt,
                     std::string_view algorithm = {}) {
  Blocks<T> blocks{block_counts(group, count, uneven), group.rank_of(node.id())};
  const std::vector<T> whole = gathered<T>(group, blocks.counts, salt);
  const bool is_root = blocks.me == root;
  std::vector<T> output(blocks.counts[blocks.me]);
  std::vector<T> around = is_root ? whole : std::vector<T>(whole.size());
  const std::span<T> mine = blocks.mine_in(around);
  const std::span<const T> input = is_root ? std::span<const T>(whole) : std::span<const T>();
  const std::span<const T> input_around = is_root ? std::span<const T>(around) : std::span<const T>();
  const CollectiveOptions options = CollectiveOptions().algorithm(algorithm);
  if (uneven) {
    const std::span<const std::size_t> counts(blocks.counts);
    co_await scatter(node, group, input, output, counts, root, options);
    co_await scatter(node, group, input_around, mine, counts, root, options);
  } else {
    co_await scatter(node, group, input, output, root, options);
    co_await scatter(node, group, input_around, mine, root, options);
  }
  const std::vector<T> expected = values<T>(output.size(), salt, node.id());
  EXPECT_TRUE(output == expected) << "scatter of " << count << " on " << group.size() << " by " << algorithm;
  EXPECT_TRUE(std::equal(mine.begin(), mine.end(), expected.begin())) << "in place: scatter by " << algorithm;
}

template <class T, class Op>
Task<> check_reduce_scatter(Node& node, Group group, std::size_t count, bool uneven, Op op, std::uint64_t salt,
                            std::string_view algorithm = {}) {
  Blocks<T> blocks{block_counts(group, count, uneven), group.rank_of(node.id())};
  const std::vector<T> input = values<T>(blocks.all, salt, node.id());
  blocks.around = input;
  const std::span<T> mine = blocks.mine_in(blocks.around);
  const std::span<const T> around(blocks.around);
  std::vector<T> output(mine.size());
  const CollectiveOptions options = CollectiveOptions().algorithm(algorithm);
  if (uneven) {
    const std::span<const std::size_t> counts(blocks.counts);
    co_await reduce_scatter(node, group, input, output, counts, op, options);
    co_await reduce_scatter(node, group, around, mine, counts, op, options);
  } else {
    co_await reduce_scatter(node, group, input, output, op, options);
    co_await reduce_scatter(node, group, around, mine, op, options);
  }
  std::vector<T> whole = reduced<T>(group, blocks.all, salt, op);
  const std::span<T> expected = blocks.mine_in(whole);
  EXPECT_TRUE(std::equal(output.begin(), output.end(), expected.begin()))
      << "reduce_scatter of " << count << " on " << group.size() << " by " << algorithm;
  EXPECT_TRUE(std::equal(mine.begin(), mine.end(), expected.begin())) << "in place: reduce_scatter by " << algorithm;
}

// Rank i gives count + (i + j) % 3 elements to rank j where they are `uneven`.
Task<> check_all_to_all(Node& node, Group group, std::size_t count, bool uneven, std::uint64_t salt,
                        std::string_view algorithm = {}) {
  const Rank me = group.rank_of(node.id());
  std::vector<std::size_t> counts(group.size(), count);
  for (Rank rank = 0; uneven && rank < group.size(); ++rank) counts[rank] += (me + rank) % 3;
  std::vector<std::uint64_t> input;
  std::vector<std::uint64_t> expected;
  for (Rank rank = 0; rank < group.size(); ++rank) {
    const auto to = values<std::uint64_t>(counts[rank], salt * 1000 + rank, node.id());
    const auto from = values<std::uint64_t>(counts[rank], salt * 1000 + me, group.node(rank));
    input.insert(input.end(), to.begin(), to.end());
    expected.insert(expected.end(), from.begin(), from.end());
  }
  const std::vector<std::uint64_t> given = input;
  std::vector<std::uint64_t> output(expected.size());
  const CollectiveOptions options = CollectiveOptions().algorithm(algorithm);
  for (std::vector<std::uint64_t>* const to : {&output, &input}) {
    if (uneven) {
      const std::span<const std::size_t> sizes(counts);
      co_await all_to_all(node, group, input, sizes, *to, sizes, options);
    } else {
      co_await all_to_all(node, group, input, *to, options);
    }
    EXPECT_TRUE(*to == expected) << (to == &input ? "in place: " : "") << "all_to_all of " << count << " on "
                                 << group.size() << " by " << algorithm;
    EXPECT_TRUE(to == &input || input == given) << "the input was written";
  }
}

template <class T, class Op>
Task<> check_scans(Node& node, Group group, std::size_t count, Op op, std::uint64_t salt,
                   std::string_view algorithm = {}) {
  const Rank me = group.rank_of(node.id());
  const std::vector<T> input = values<T>(count, salt, node.id());
  const CollectiveOptions options = CollectiveOptions().algorithm(algorithm);
  const bool exclusive =
      !algorithm.empty() && schedule::find_algorithm(algorithm).operation() == schedule::Operation::exscan;
  if (!exclusive) {
    const std::vector<T> expected = reduced<T>(first_ranks(group, me + 1), count, salt, op);
    std::vector<T> output(count);
    co_await scan(node, group, input, output, op, options);
    EXPECT_TRUE(output == expected) << "scan of " << count << " on " << group.size() << " by " << algorithm;
    std::vector<T> in_place = input;
    co_await scan(node, group, in_place, in_place, op, options);
    EXPECT_TRUE(in_place == expected) << "in place: scan of " << count << " on " << group.size();
  }
  if (exclusive || algorithm.empty()) {
    const std::vector<T> before(count, input.empty() ? T() : input.front());
    const std::vector<T> expected = me == 0 ? before : reduced<T>(first_ranks(group, me), count, salt, op);
    std::vector<T> output = before;
    co_await exscan(node, group, input, output, op, options);
    EXPECT_TRUE(output == expected) << "exscan of " << count << " on " << group.size() << " by " << algorithm;
    std::vector<T> in_place = input;
    co_await exscan(node, group, in_place, in_place, op, options);
    EXPECT_TRUE(in_place == (me == 0 ? input : expected)) << "in place: exscan on " << group.size();
  }
}

Task<> check_reductions(Node& node, Group group, std::size_t count, std::uint64_t salt) {
  using schedule::Operation;
  for (const bool commutes : {true, false}) {
    for (const std::string_view algorithm : algorithms_for(Operation::allreduce, group, commutes)) {
      if (commutes) co_await check_allreduce<std::uint64_t>(node, group, count, sum, salt, algorithm);
      if (!commutes) co_await check_allreduce<Affine>(node, group, count, Compose(), salt + 1, algorithm);
    }
    for (const std::string_view algorithm : algorithms_for(Operation::reduce_scatter, group, commutes)) {
      if (commutes) co_await check_reduce_scatter<std::uint32_t>(node, group, count, true, sum, salt, algorithm);
      if (!commutes) co_await check_reduce_scatter<Affine>(node, group, count, false, Compose(), salt, algorithm);
    }
    for (const Operation operation : {Operation::scan, Operation::exscan}) {
      for (const std::string_view algorithm : algorithms_for(operation, group, commutes)) {
        if (commutes) co_await check_scans<std::uint64_t>(node, group, count, sum, salt, algorithm);
        if (!commutes) co_await check_scans<Affine>(node, group, count, Compose(), salt, algorithm);
      }
    }
  }
}

Task<> check_movement(Node& node, Group group, std::size_t count, std::uint64_t salt) {
  using schedule::Operation;
  for (const bool uneven : {false, true}) {
    for (const std::string_view algorithm : algorithms_for(Operation::allgather, group)) {
      co_await check_allgather<std::uint32_t>(node, group, count, uneven, salt, algorithm);
    }
    for (const std::string_view algorithm : algorithms_for(Operation::all_to_all, group)) {
      if (uneven && !algorithm.empty() && schedule::find_algorithm(algorithm).needs_equal_blocks()) continue;
      co_await check_all_to_all(node, group, count, uneven, salt, algorithm);
    }
  }
}

Task<> check_rooted(Node& node, Group group, std::size_t count, Rank root, std::uint64_t salt) {
  using schedule::Operation;
  for (const bool commutes : {true, false}) {
    for (const std::string_view algorithm : algorithms_for(Operation::reduce, group, commutes, root)) {
      if (commutes) co_await check_reduce<std::uint64_t>(node, group, count, sum, root, salt, algorithm);
      if (!commutes) co_await check_reduce<Affine>(node, group, count, Compose(), root, salt, algorithm);
    }
  }
  for (const std::string_view algorithm : algorithms_for(Operation::broadcast, group, true, root)) {
    co_await check_broadcast<std::uint16_t>(node, group, count, root, salt + 5, algorithm);
  }
  for (const bool uneven : {false, true}) {
    for (const std::string_view algorithm : algorithms_for(Operation::gather, group, true, root)) {
      co_await check_gather<std::uint16_t>(node, group, count, uneven, root, salt, algorithm);
    }
    for (const std::string_view algorithm : algorithms_for(Operation::scatter, group, true, root)) {
      co_await check_scatter<std::uint16_t>(node, group, count, uneven, root, salt, algorithm);
    }
  }
}

Task<> check_everything(Node& node, Group group, std::size_t count, Rank roots, std::uint64_t salt) {
  co_await check_reductions(node, group, count, salt);
  co_await check_movement(node, group, count, salt + 10);
  for (Rank root = 0; root < roots; ++root) co_await check_rooted(node, group, count, root, salt + 20);
  for (const std::string_view algorithm : algorithms_for(schedule::Operation::barrier, group)) {
    co_await barrier(node, group, CollectiveOptions().algorithm(algorithm));
  }
}

TEST_P(CollectiveTest, EveryOperationAtEverySizeUpTo17) {
  for (std::uint32_t nodes = 1; nodes <= 17; nodes += test::sanitized ? 4 : 1) {
    run(nodes, [nodes](Node& node) -> Task<> {
      const Group all = Group::all(node);
      for (const std::size_t count : {0U, 1U, 7U}) {
        co_await check_everything(node, all, count, nodes <= 9 ? nodes : 2, count);
      }
      co_await check_everything(node, all, 1000, 1, 1);
    });
  }
}

TEST_P(CollectiveTest, EveryOperationAtSomeLargerSizes) {
  const std::vector<std::uint32_t> sizes = test::sanitized ? std::vector{23U} : std::vector{23U, 32U, 33U, 64U};
  for (const std::uint32_t nodes : sizes) {
    run(nodes, [](Node& node) -> Task<> { co_await check_everything(node, Group::all(node), 3, 1, 7); });
  }
}

// Around the eager limits (512 or 1024 bytes of what is exchanged, 4096) and the pieces of large messages (64 KiB), up
// to 1 MiB.
TEST_P(CollectiveTest, EveryOperationAtSizesAroundTheLimits) {
  for (const std::uint32_t nodes : {2U, 3U, 6U}) {
    run(nodes, [nodes](Node& node) -> Task<> {
      const Group all = Group::all(node);
      for (const std::size_t bytes :
           {512U, 513U, 1024U, 1025U, 4095U, 4096U, 4097U, 65'535U, 65'536U, 65'537U, 131'080U, 1U << 20U}) {
        const Rank root = nodes - 1;
        co_await check_allreduce<std::uint8_t>(node, all, bytes, sum, bytes);
        co_await check_reduce<std::uint8_t>(node, all, bytes, maximum, root, bytes + 1);
        co_await check_broadcast<std::uint8_t>(node, all, bytes, root, bytes + 2);
        co_await check_allreduce<Affine>(node, all, bytes / sizeof(Affine), Compose(), bytes + 4);
        // By every algorithm, too. Sanitizers look just above the limits, where all that is special begins.
        const bool just_above = bytes == 4097U || bytes == 65'537U;
        if (test::sanitized && !just_above) continue;
        co_await check_movement(node, all, bytes / sizeof(std::uint64_t) + 1, bytes + 5);
        if (bytes <= 65'537U || nodes == 3) {
          co_await check_everything(node, all, bytes / sizeof(Affine) + 1, 1, bytes + 6);
        }
      }
    });
  }
}

TEST_P(CollectiveTest, GroupsAreAnyOrderedSubset) {
  constexpr std::uint32_t nodes = 9;
  run(nodes, [](Node& node) -> Task<> {
    Random random(17);  // the same groups on every node
    for (std::uint64_t i = 0; i < (test::sanitized ? 8 : 40); ++i) {
      const Group group = test::random_group(random, nodes, 1 + static_cast<std::uint32_t>(random.below(nodes)));
      const std::size_t count = random.below(3) == 0 ? 2000 : random.below(20);
      if (group.contains(node.id())) co_await check_everything(node, group, count, group.size(), i);
    }
  });
}

// Buffers in the segment are landed in place; the same results as with any other memory.
TEST_P(CollectiveTest, BuffersMayLieInTheSegment) {
  for (const std::uint32_t nodes : {2U, 5U}) {
    run(nodes, [](Node& node) -> Task<> {
      const Group all = Group::all(node);
      constexpr std::size_t count = 30'000;
      fabric::Segment& segment = node.endpoint().segment();
      const auto take = [&](std::size_t elements) {
        return std::span(reinterpret_cast<std::uint64_t*>(segment.pointer(segment.allocate(elements * 8))), elements);
      };
      const std::span<std::uint64_t> input = take(count);
      const std::span<std::uint64_t> output = take(count);
      const std::span<std::uint64_t> wide = take(count * all.size());
      const auto mine = values<std::uint64_t>(count, 1, node.id());
      std::copy(mine.begin(), mine.end(), input.begin());
      const std::span<const std::uint64_t> in = input;
      const auto total = reduced<std::uint64_t>(all, count, 1, sum);
      co_await allreduce(node, all, in, output, sum);
      EXPECT_TRUE(std::equal(output.begin(), output.end(), total.begin()));
      co_await allgather(node, all, in, wide);
      const auto whole = gathered<std::uint64_t>(all, count, 1);
      EXPECT_TRUE(std::equal(wide.begin(), wide.end(), whole.begin()));
      co_await broadcast(node, all, output.first(count), 1);
      EXPECT_TRUE(std::equal(output.begin(), output.end(), total.begin()));
      std::fill(output.begin(), output.end(), 0U);
      co_await reduce(node, all, in, output, sum, 1);
      if (node.id() == 1) {
        EXPECT_TRUE(std::equal(output.begin(), output.end(), total.begin()));
      }
    });
  }
}

// What an operation borrows from the segment it gives back.
TEST_P(CollectiveTest, TheSegmentIsEmptyAfterwards) {
  run(5, [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    for (int i = 0; i < (test::sanitized ? 1 : 5); ++i) co_await check_everything(node, all, 20'000, 2, 3);
    co_await barrier(node, all);
    // An operation's own memory goes when nothing of it is under way; a barrier later that is so, but for the barrier.
    EXPECT_EQ(test::bytes_in_use(node), 0U) << "node " << node.id();
  });
}

// Several at once over overlapping groups, under different keys, started in a different order on each node.
TEST_P(CollectiveTest, ManyOverOverlappingGroupsAreInFlightAtOnce) {
  constexpr std::uint32_t nodes = 7;
  constexpr std::uint64_t operations = 60;
  run(nodes, [](Node& node) -> Task<> {
    struct Pending {
      Group group;
      std::size_t count;
      std::vector<std::uint64_t> input;
      std::vector<std::uint64_t> output;
      Event event;
    };
    Random random(23);
    std::vector<Pending> pending;
    for (std::uint64_t key = 0; key < operations; ++key) {
      const Group group = test::random_group(random, nodes, 2 + static_cast<std::uint32_t>(random.below(nodes - 1)));
      const std::size_t count = key % 7 == 0 ? 3000 : 1 + random.below(30);
      pending.push_back(
          {group, count, values<std::uint64_t>(count, key, node.id()), std::vector<std::uint64_t>(count), {}});
    }
    std::vector<std::uint64_t> order(operations);
    std::iota(order.begin(), order.end(), 0U);
    Random mine(node.id());
    for (std::size_t i = operations; i > 1; --i) std::swap(order[i - 1], order[mine.below(i)]);
    for (const std::uint64_t key : order) {
      Pending& each = pending[key];
      if (!each.group.contains(node.id())) continue;
      each.event = allreduce(node, each.group, each.input, each.output, sum, CollectiveOptions().key(key));
    }
    for (std::uint64_t key = 0; key < operations; ++key) {
      Pending& each = pending[key];
      if (!each.group.contains(node.id())) continue;
      co_await each.event;
      EXPECT_TRUE(each.output == reduced<std::uint64_t>(each.group, each.count, key, sum)) << "key " << key;
    }
  });
}

// Who has one value needs no buffer.
TEST_P(CollectiveTest, FuturesOfSingleValues) {
  for (const std::uint32_t nodes : {1U, 2U, 5U}) {
    run(nodes, [](Node& node) -> Task<> {
      const Group all = Group::all(node);
      const Rank me = node.id();
      const Rank root = all.size() / 2;
      const std::vector<std::uint64_t> each = gathered<std::uint64_t>(all, 1, 3);
      const std::uint64_t mine = each[me];
      const std::uint64_t total = reduced<std::uint64_t>(all, 1, 3, sum).front();
      std::uint64_t before_me = 0;
      for (Rank rank = 0; rank < me; ++rank) before_me += each[rank];
      EXPECT_EQ(co_await allreduce(node, all, mine, sum), total);
      EXPECT_EQ(co_await reduce(node, all, mine, sum, root), me == root ? total : mine);
      EXPECT_EQ(co_await scan(node, all, mine, sum), before_me + mine);
      EXPECT_EQ(co_await exscan(node, all, mine, sum), me == 0 ? mine : before_me);
      EXPECT_EQ(co_await broadcast(node, all, mine, root), each[root]);
      EXPECT_EQ(co_await allgather(node, all, mine), each);
      const std::vector<std::uint64_t> at_root = co_await gather(node, all, mine, root);
      EXPECT_TRUE(me != root || at_root == each);
      EXPECT_EQ(co_await scatter(node, all, std::span(each).first(me == root ? each.size() : 0), root), mine);
      const ReduceGroups groups(all, test::first_ranks(all, 1));
      EXPECT_EQ(co_await reduce(node, groups, mine, sum), me == 0 ? total : mine);
    });
  }
}

// Under one key, calls are matched in their order, however many are in flight.
TEST_P(CollectiveTest, CallsOfOneKeyAreMatchedInOrder) {
  run(5, [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    std::vector<Future<std::uint64_t>> futures;
    for (std::uint64_t i = 0; i < 500; ++i) {
      futures.push_back(allreduce(node, all, contribution(i, node.id(), 0), sum));
    }
    for (std::uint64_t i = 0; i < 500; ++i) {
      const std::uint64_t expected = serial(all, sum, [i](NodeId member) { return contribution(i, member, 0); });
      EXPECT_EQ(co_await futures[i], expected) << i;
    }
  });
}

}  // namespace
}  // namespace stretto
