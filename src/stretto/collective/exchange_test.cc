#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "stretto/collective/collective.h"
#include "stretto/collective/test_support.h"
#include "stretto/core/segment_array.h"
#include "stretto/fabric/sim/sim_fabric.h"

// What two ranks exchange first they read where it lies (Lowering::lent), or get sent, or staged: as the memory is of
// each, which the other does not know.
namespace stretto {
namespace {

class Exchange : public test::OnEveryFabric {};

INSTANTIATE_TEST_SUITE_P(Fabrics, Exchange, testing::ValuesIn(test::fabric_kinds), test::name_of_kind);

std::int64_t value(NodeId node, std::size_t index, int call) {
  return std::int64_t{node} * 1000 + static_cast<std::int64_t>(index) * 3 + call;
}

// The caller's input, in one kind of memory or the other, in place or not; what it is afterwards.
struct Vectors {
  Vectors(Node& node, std::size_t count, bool in_segment, bool is_in_place)
      : shared(node, in_segment ? 2 * count : 1),
        own(in_segment ? 0 : 2 * count),
        input(in_segment ? std::span(shared).first(count) : std::span(own).first(count)),
        output(is_in_place ? input : std::span(input.data() + count, count)) {}

  SegmentArray<std::int64_t> shared;
  std::vector<std::int64_t> own;
  std::span<std::int64_t> input;
  std::span<std::int64_t> output;
};

// What is lent is combined, or copied.
enum class Read { combined, copied };

Event start(Node& node, const Group& all, Vectors& vectors, Read how) {
  const std::span<const std::int64_t> input = vectors.input;
  if (how == Read::copied) return all_to_all(node, all, input, vectors.output);
  return allreduce(node, all, input, vectors.output, sum, CollectiveOptions().algorithm("recursive_doubling"));
}

std::int64_t expected(const Group& all, NodeId me, const Vectors& vectors, std::size_t index, int number, Read how) {
  if (how == Read::copied) {
    const std::size_t block = vectors.input.size() / all.size();
    return value(all.node(static_cast<Rank>(index / block)), me * block + index % block, number);
  }
  std::int64_t total = 0;
  for (const NodeId each : all.nodes()) total += value(each, index, number);
  return total;
}

// REQUIRES: of what is copied, the vectors have a block for each, and are not in place.
Task<> call(Node& node, const Group& all, Vectors& vectors, int number, Read how = Read::combined) {
  for (std::size_t i = 0; i < vectors.input.size(); ++i) vectors.input[i] = value(node.id(), i, number);
  const Event done = start(node, all, vectors, how);
  co_await done;
  // Who overwrites its input now must not disturb a peer that reads it.
  if (vectors.input.data() != vectors.output.data()) std::fill(vectors.input.begin(), vectors.input.end(), -1);
  for (std::size_t i = 0; i < vectors.output.size(); ++i) {
    if (vectors.output[i] == expected(all, node.id(), vectors, i, number, how)) continue;
    ADD_FAILURE() << "node " << node.id() << ", element " << i << " of " << vectors.output.size();
    co_return;
  }
}

// Sizes below and above which data are lent, are large, and are staged in several pieces.
TEST_P(Exchange, EachMayUseMemoryOfItsOwnKind) {
  for (const std::uint32_t nodes : {2U, 4U, 5U}) {
    for (std::uint32_t mix = 0; mix < 4; ++mix) {
      run(nodes, [mix](Node& node) -> Task<> {
        const Group all = Group::all(node);
        for (const std::size_t count : {128U, 129U, 384U, 385U, 512U, 513U, 20'000U}) {
          const bool in_segment = (node.id() + mix) % 2 == 0;
          const bool is_in_place = (node.id() / 2 + mix / 2) % 2 == 0;
          Vectors vectors(node, count, in_segment, is_in_place);
          for (int number = 0; number < 3; ++number) co_await call(node, all, vectors, number);
        }
        for (const std::size_t block : {64U, 65U, 512U, 513U, 2048U, 2049U, 4096U, 4097U, 8192U, 8193U}) {
          Vectors vectors(node, block * all.size(), (node.id() + mix) % 2 == 0, false);
          for (int number = 0; number < 3; ++number) co_await call(node, all, vectors, number, Read::copied);
        }
      });
    }
  }
}

// What both stage they take turns with, from the second time on (PlacedStep::were_staged); then one lends it, the other
// stages it, and both again.
TEST_P(Exchange, TurnsGoByTheMemoryOfBoth) {
  run(2, [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    for (const std::size_t block : {4095U, 4096U, 4100U, 6001U, 8192U, 8193U, 20'003U, 32'768U, 32'769U}) {
      for (const std::uint32_t in_segment : {0U, 0U, 0U, 1U, 0U, 2U, 0U, 0U, 3U, 0U, 0U}) {  // a bit for each node
        Vectors vectors(node, block * 2, ((in_segment >> node.id()) & 1U) != 0, false);
        for (int number = 0; number < 2; ++number) {
          node.charge(static_cast<double>((node.id() + static_cast<NodeId>(number)) % 2) * 20e-6);
          co_await call(node, all, vectors, number, Read::copied);
        }
      }
    }
    EXPECT_EQ(test::bytes_in_use(node), 0U);
  });
}

// A member that keeps what it has received to itself until all have: none may take another one's memory to be free.
TEST_P(Exchange, MemoryMayGoWhenTheEventHasTriggered) {
  run(2, [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    for (int number = 0; number < (test::sanitized ? 20 : 200); ++number) {
      Vectors vectors(node, 700, number % 3 != 0, false);
      co_await call(node, all, vectors, number);
    }
  });
}

// The same vector again and again, in which each has its own block; by that schedule.
Task<> gather_in_place(Node& node, const Group& all, const char* algorithm, std::size_t block, bool in_segment) {
  Vectors vectors(node, block * all.size(), in_segment, true);
  const std::span<std::int64_t> output = vectors.output;
  const std::span<std::int64_t> mine = output.subspan(node.id() * block, block);
  for (int number = 0; number < 3; ++number) {
    std::fill(output.begin(), output.end(), -1);
    for (std::size_t i = 0; i < block; ++i) mine[i] = value(node.id(), i, number);
    const CollectiveOptions options = CollectiveOptions().algorithm(algorithm);
    co_await allgather(node, all, std::span<const std::int64_t>(mine), output, options);
    for (std::size_t i = 0; i < output.size(); ++i) {
      if (output[i] == value(static_cast<NodeId>(i / block), i % block, number)) continue;
      ADD_FAILURE() << algorithm << ", node " << node.id() << ", element " << i << " of blocks of " << block;
      co_return;
    }
  }
}

// What is in place already lies where it belongs; what follows the first round sends what it got.
TEST_P(Exchange, AllgathersLendWhatIsInPlaceToo) {
  run(5, [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    for (const char* const algorithm : {"ring_allgather", "bruck_allgather", "recursive_doubling_allgather", ""}) {
      for (const std::size_t block : {32U, 33U, 513U, 2049U}) {
        co_await gather_in_place(node, all, algorithm, block, true);
        co_await gather_in_place(node, all, algorithm, block, false);
      }
    }
  });
}

// Blocks that are lent to more peers than a node has receipts for.
TEST_P(Exchange, MoreMayBeLentThanThereAreReceiptsFor) {
  run(20, [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    SegmentArray<std::int64_t> input(node, 20 * 200);
    SegmentArray<std::int64_t> output(node, input.size());
    const CollectiveOptions options = CollectiveOptions().algorithm("direct_allreduce");
    for (int number = 0; number < 4; ++number) {
      std::fill(input.begin(), input.end(), std::int64_t{node.id()} + number);
      co_await allreduce(node, all, input, output, sum, options);
      std::fill(input.begin(), input.end(), -1);
      EXPECT_EQ(std::count(output.begin(), output.end(), 190 + 20 * number), std::ptrdiff_t{20 * 200});
    }
  });
}

// Calls on a simulated fabric, some of which are done inline or given up at any message: with peers that are late, and
// one that dies. Values are right or the death is told, and nobody waits for ever; what was staged is let go of.
class GivenUp {
 public:
  // What is called: on all nodes alike what `same` says, at each what `own` says.
  using Calls = std::function<Task<>(Node& node, Random& same, Random& own)>;

  GivenUp(std::uint64_t seed, std::uint32_t nodes, Random& random) : seed_(seed), nodes_(nodes) {
    const char* const early[] = {"0.005", "0.05", "0.5"};
    fabric_ = "sim:" + std::to_string(nodes) + ",seed=" + std::to_string(seed) +
              ",jitter=1us,reorder=0.2,peer_pointer=segments,early=" + early[random.below(3)];
    if (random.below(2) == 0) fabric_ += ",hosts=1";
    victim_ = static_cast<NodeId>(random.below(2 * nodes));  // beyond the last node: nobody
    if (victim_ < nodes) fabric_ += ",kill=" + std::to_string(victim_) + "#" + std::to_string(random.below(60 * nodes));
  }

  void run(std::size_t staging_bytes, const Calls& calls) const {
    RuntimeOptions options = test::options_for(fabric_);
    options.staging_bytes = staging_bytes;
    Runtime(options).run([&](Node& node) -> Task<> {
      Random same(seed_);
      Random own(seed_ + node.id());
      try {
        co_await calls(node, same, own);
        EXPECT_EQ(test::bytes_in_use(node), 0U) << "node " << node.id() << "; " << test::replay(seed_);
      } catch (const Error& error) {
        const std::size_t in_use = node.id() == victim_ ? 0 : test::bytes_in_use(node);
        EXPECT_EQ(in_use, 0U) << test::replay(seed_);
        const bool is_told = error.code() == ErrorCode::peer_lost;
        const bool is_victim = node.id() == victim_ && error.code() == ErrorCode::cancelled;
        EXPECT_TRUE(victim_ < nodes_ && (is_told || is_victim)) << error.what() << "; " << test::replay(seed_);
      }
    });
  }

 private:
  std::uint64_t seed_;
  std::uint32_t nodes_;
  std::string fabric_;
  NodeId victim_;
};

// The same calls again and again, mostly in segments.
TEST(ExchangeInline, GivesUpAtAnyMessageSeeds) {
  std::size_t complete = 0;
  for (const std::uint64_t seed : test::seeds(test::sanitized ? 200 : 1000)) {
    Random random(seed);
    const auto nodes = static_cast<std::uint32_t>(2 + random.below(4));
    const std::size_t counts[] = {1, 200, 200 + random.below(2000), 4000};
    const std::size_t staging_bytes = std::size_t{8} << (10 + seed % 8);  // small enough for windows, some of the time
    GivenUp(seed, nodes, random).run(staging_bytes, [&](Node& node, Random& same, Random& own) -> Task<> {
      const Group all = Group::all(node);
      for (int number = 0; number < 24; ++number) {
        const bool may_be_in_place = own.below(4) == 0;
        const Read how = same.below(3) == 0 ? Read::copied : Read::combined;
        const std::size_t blocks = how == Read::copied ? nodes : 1;
        const bool is_in_place = may_be_in_place && how == Read::combined;
        Vectors vectors(node, blocks * counts[same.below(4)], own.below(4) != 0, is_in_place);
        co_await call(node, all, vectors, number, how);
        ++complete;
      }
    });
  }
  EXPECT_GT(complete, 0U);
}

// Of two ranks that both stage what they exchange, mostly.
TEST(ExchangeInline, TurnsAreGivenUpAtAnyMessageSeeds) {
  std::size_t complete = 0;
  for (const std::uint64_t seed : test::seeds(test::sanitized ? 200 : 1000)) {
    Random random(seed);
    const std::size_t blocks[] = {4096, 4096 + random.below(4096), 8192, 8193 + random.below(24576)};
    const std::size_t staging_bytes = std::size_t{1} << (20 - random.below(5));
    GivenUp(seed, 2, random).run(staging_bytes, [&](Node& node, Random& same, Random& own) -> Task<> {
      const Group all = Group::all(node);
      for (int number = 0; number < 16; ++number) {
        Vectors vectors(node, 2 * blocks[same.below(4)], own.below(8) == 0, false);
        co_await call(node, all, vectors, number, Read::copied);
        ++complete;
      }
    });
  }
  EXPECT_GT(complete, 0U);
}

// Three words, of which 10'920 are as long as two turns that would each be longer than what is staged in one go.
struct Triple {
  std::array<std::uint64_t, 3> words;
};

Task<> exchange_triples(Node& node, std::size_t block, std::uint64_t number) {
  const auto given = [number](NodeId from, std::size_t index) { return number << 40U | index << 1U | from; };
  std::vector<Triple> input(2 * block);
  std::vector<Triple> output(input.size());
  for (std::size_t i = 0; i < input.size(); ++i) input[i].words.fill(given(node.id(), i));
  co_await all_to_all(node, Group::all(node), std::span<const Triple>(input), std::span(output));
  for (std::size_t i = 0; i < output.size(); ++i) {
    const std::uint64_t expected = given(static_cast<NodeId>(i / block), node.id() * block + i % block);
    if (std::ranges::count(output[i].words, expected) == 3) continue;
    ADD_FAILURE() << "node " << node.id() << ", call " << number << ", element " << i << " of blocks of " << block;
    co_return;
  }
}

TEST_P(Exchange, TurnsOfAnyElementsArrive) {
  run(2, [](Node& node) -> Task<> {
    for (const std::size_t block : {4000U, 10'900U, 10'920U, 10'922U}) {
      for (std::uint64_t number = 0; number < 6; ++number) {
        node.charge(static_cast<double>((node.id() + number) % 3) * 10e-6);
        co_await exchange_triples(node, block, number);
      }
    }
    EXPECT_EQ(test::bytes_in_use(node), 0U);
  });
}

TEST(ExchangeInline, TurnsOfAnyElementsArriveSeeds) {
  for (const std::uint64_t seed : test::seeds(test::sanitized ? 50 : 200)) {
    Random random(seed);
    GivenUp(seed, 2, random).run(std::size_t{1} << 20U, [](Node& node, Random& same, Random& own) -> Task<> {
      for (std::uint64_t number = 0; number < 8; ++number) {
        node.charge(static_cast<double>(own.below(20)) * 1e-6);
        co_await exchange_triples(node, same.below(2) == 0 ? 10'920U : 10'800U + same.below(130), number);
      }
    });
  }
}

struct Loss {
  bool was_over_at_once = false;
  std::size_t bytes_in_use = 0;  // of node 0's segment, in the end
};

// Node 0 looks for a message of node `liar`, after it has lent node 1 what that needs, and finds one that is bad.
Loss lose_while_looking(std::uint32_t nodes, NodeId liar, std::size_t count, bool in_segment) {
  Loss loss;
  Runtime runtime(test::options_for("sim:" + std::to_string(nodes) + ",early=1,peer_pointer=segments"));
  runtime.run([&](Node& node) -> Task<> {
    const Group all = Group::all(node);
    Vectors vectors(node, count, in_segment, false);
    co_await call(node, all, vectors, 0);  // whose operation is kept
    // The others have called by then, and the liar's message is on its way.
    const double begin = node.id() == 0 ? 200.5e-6 : node.id() == liar ? 200e-6 : 100e-6;
    node.charge(begin - node.now());
    if (node.id() == liar) {
      Node& me = node;
      me.endpoint().context().enter(
          [&me] { me.endpoint().send(0, fabric::MessageType::collective_data, bytes_of(std::byte{1}), {}); });
      co_return;
    }
    const Event done = start(node, all, vectors, Read::combined);
    if (node.id() == 0) loss.was_over_at_once = node.has_triggered(done);
    const std::string said = co_await test::outcome(done);
    EXPECT_EQ(said.rfind("peer_lost: ", 0), 0U) << "node " << node.id() << ": " << said;
  });
  loss.bytes_in_use = test::bytes_in_use(*runtime.nodes()[0]);
  return loss;
}

TEST(ExchangeInline, WhatIsLentIsWaitedForWhereAMemberIsLostMeanwhile) {
  const Loss of_another = lose_while_looking(4, 2, 150, true);
  EXPECT_FALSE(of_another.was_over_at_once) << "node 1 may still read the input";
  EXPECT_EQ(of_another.bytes_in_use, 0U);
}

TEST(ExchangeInline, WhatIsStagedIsLetGoOfWhereItsReaderIsLostMeanwhile) {
  const Loss of_reader = lose_while_looking(2, 1, 300, false);
  EXPECT_TRUE(of_reader.was_over_at_once);
  EXPECT_EQ(of_reader.bytes_in_use, 0U);
}

std::uint64_t messages_of(int calls, const std::string& algorithm) {
  Runtime runtime(test::options_for("sim:4"));
  runtime.run([&](Node& node) -> Task<> {
    const Group all = Group::all(node);
    for (int i = 0; i < calls; ++i) co_await barrier(node, all, CollectiveOptions().algorithm(algorithm));
  });
  return static_cast<fabric::SimFabric&>(runtime.fabric()).messages();
}

// Members hear of each other by what they are sent; who waits greets nobody before its node is at rest (decision 6).
TEST(Greetings, AreNotSaidWhereMembersCome) {
  EXPECT_EQ(messages_of(20, "linear_barrier") - messages_of(10, "linear_barrier"), 60U);
}

}  // namespace
}  // namespace stretto
