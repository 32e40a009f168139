#include "stretto/schedule/algorithm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <set>

#include "stretto/base/error.h"
#include "stretto/schedule/algorithm/fold.h"
#include "stretto/schedule/test_support.h"
#include "stretto/schedule/verify.h"

namespace stretto::schedule {
namespace {

void expect_right(const Algorithm& algorithm, const Shape& shape) {
  const auto violation = verify(algorithm, shape);
  EXPECT_FALSE(violation) << test::label(algorithm, shape) << ": " << violation->text;
}

/// One test for each property and algorithm.
class EveryAlgorithm : public testing::TestWithParam<const Algorithm*> {
 protected:
  const Algorithm& algorithm() const { return *GetParam(); }
};

TEST_P(EveryAlgorithm, IsRightForAllSizesTo64) {
  for (const Rank size : test::sizes_to(64)) {
    for (const Shape& shape : test::shapes(algorithm(), size, 1, size <= 24 ? 3 : 1)) expect_right(algorithm(), shape);
  }
}

/// Above 24 ranks, where the test before this one makes one segment only.
TEST_P(EveryAlgorithm, IsRightInSegmentsForSomeSizesTo64) {
  for (const Rank size : test::tried({27, 31, 32, 33, 48, 63, 64})) {
    for (const Shape& shape : test::shapes(algorithm(), size, 1, 3)) {
      if (shape != algorithm().with_segments(shape, 1)) expect_right(algorithm(), shape);
    }
  }
}

TEST_P(EveryAlgorithm, IsRightForAllRootsOfSizesTo16) {
  for (Rank size = 1; size <= 16; ++size) {
    for (const Shape& shape : test::shapes(algorithm(), size, size)) expect_right(algorithm(), shape);
  }
}

TEST_P(EveryAlgorithm, IsRightForRandomLargerSizesSeeds) {
  const Shape probe = test::shape(algorithm(), 600);
  // All ranks together hold a block for each pair of ranks, or do a step for each: smaller groups for those.
  const bool is_quadratic = vector_blocks(probe) > 1 || algorithm().rounds(probe) > 64;
  const std::uint64_t most = is_quadratic ? 130 : 600;
  for (const std::uint64_t seed : test::seeds(is_quadratic ? 4 : 40)) {
    SCOPED_TRACE("STRETTO_TEST_SEED=" + std::to_string(seed));
    Random random(seed);
    const auto size = static_cast<Rank>(65 + random.below(most - 64));
    const std::vector<Shape> shapes = test::shapes(algorithm(), size, size);
    expect_right(algorithm(), shapes[random.below(shapes.size())]);
  }
}

TEST_P(EveryAlgorithm, SupportsEverySizeAndRootAndRefusesOperatorsByNameOnly) {
  const Operation operation = algorithm().operation();
  for (Rank size : {1U, 2U, 7U, 1000U, 65536U}) {
    Shape shape = test::shape(algorithm(), size);
    EXPECT_EQ(algorithm().refusal(shape), "");
    shape.root = size - 1;
    EXPECT_EQ(algorithm().supports(shape), has_root(operation) || size == 1);
    shape.root = 0;
    shape.commutative = false;
    EXPECT_EQ(algorithm().supports(shape), is_reduction(operation) && !algorithm().needs_commutative());
    if (!algorithm().needs_commutative()) continue;
    EXPECT_EQ(algorithm().refusal(shape),
              std::string(algorithm().name()) + " does not keep the ranks' terms in order; the operator must commute");
  }
}

TEST_P(EveryAlgorithm, RefusesBadShapesWithAReason) {
  const Operation operation = algorithm().operation();
  const Operation other = operation == Operation::barrier ? Operation::allreduce : Operation::barrier;
  const auto expect_refusal = [&](const Shape& shape, std::string_view reason) {
    EXPECT_NE(algorithm().refusal(shape).find(reason), std::string::npos) << algorithm().refusal(shape);
    EXPECT_THROW(materialize(algorithm(), shape, 0), Error);
    EXPECT_THROW(verify(algorithm(), shape), Error);
  };
  expect_refusal({.operation = operation, .size = 0}, "size is 0");
  expect_refusal({.operation = operation, .size = max_size + 1}, "at most 2147483648 ranks");
  expect_refusal({.operation = operation, .size = 4, .root = 4}, "root 4 is not a rank of a group of 4");
  expect_refusal({.operation = operation, .size = 4, .blocks = 0}, "blocks is 0");
  expect_refusal({.operation = other, .size = 4}, "is an algorithm for " + std::string(name_of(operation)));
  Shape shape = test::shape(algorithm(), 4);
  EXPECT_THROW(materialize(algorithm(), shape, 4), Error);
  shape = algorithm().with_segments(shape, algorithm().blocking(shape).most_segments + 1);
  if (cuts_vector(operation)) {
    expect_refusal(shape, "blocks must be ");
  } else {
    expect_refusal(shape, "that cuts no vector");
  }
}

TEST_P(EveryAlgorithm, NamesItselfAndItsSource) {
  EXPECT_EQ(&find_algorithm(algorithm().name()), &algorithm());
  EXPECT_GT(algorithm().source().size(), 20U);
}

INSTANTIATE_TEST_SUITE_P(Schedule, EveryAlgorithm, testing::ValuesIn(algorithms().begin(), algorithms().end()),
                         [](const auto& test) { return std::string(test.param->name()); });

TEST(Algorithms, HaveUniqueNamesAndCoverEveryOperation) {
  std::set<std::string_view> names;
  std::set<Operation> operations;
  for (const Algorithm* algorithm : algorithms()) {
    names.insert(algorithm->name());
    operations.insert(algorithm->operation());
  }
  EXPECT_EQ(names.size(), algorithms().size());
  EXPECT_EQ(operations.size(), 12U);
}

TEST(Algorithms, AnUnknownNameIsAnErrorThatSuggestsTheNearest) {
  try {
    find_algorithm("recursive_dubling");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_NE(error.message().find("did you mean 'recursive_doubling'?"), std::string::npos) << error.message();
  }
  EXPECT_THROW(find_algorithm(""), Error);
}

/// The rounds that the papers promise.
TEST(Algorithms, TakeAsManyRoundsAsTheirPapersSay) {
  for (Rank size = 2; size <= 1100; ++size) {
    const auto floor_log = static_cast<std::uint32_t>(std::bit_width(size) - 1);
    const std::uint32_t ceil_log = floor_log + (std::has_single_bit(size) ? 0 : 1);
    const std::uint32_t folded = floor_log + (std::has_single_bit(size) ? 0 : 2);
    const auto rounds = [&](std::string_view name) {
      const Algorithm& algorithm = find_algorithm(name);
      return algorithm.rounds(test::shape(algorithm, size));
    };
    ASSERT_EQ(rounds("recursive_doubling"), folded);
    ASSERT_EQ(rounds("recursive_doubling_allgather"), folded);
    ASSERT_EQ(rounds("binomial_broadcast"), ceil_log);
    ASSERT_EQ(rounds("binomial_reduce"), ceil_log);
    ASSERT_EQ(rounds("knomial_broadcast"), (ceil_log + 1) / 2);
    ASSERT_EQ(rounds("double_tree_broadcast"), static_cast<std::uint32_t>(std::bit_width(size - 1)));
    ASSERT_EQ(rounds("dissemination_barrier"), ceil_log);
    ASSERT_EQ(rounds("four_way_dissemination_barrier"), (ceil_log + 1) / 2);
    ASSERT_EQ(rounds("ring_allgather"), size - 1);
    ASSERT_EQ(rounds("ring_allreduce"), 2 * (size - 1));
    ASSERT_EQ(rounds("rabenseifner"), folded + floor_log);
    ASSERT_EQ(rounds("halved_doubling"), folded + std::min(floor_log - 1, 1U));
    ASSERT_EQ(rounds("quartered_doubling"), folded + std::min(floor_log - 1, 2U));
    ASSERT_EQ(rounds("recursive_halving_reduce_scatter"), folded);
    ASSERT_EQ(rounds("van_de_geijn_broadcast"), ceil_log + size - 1);
    for (const std::string_view name :
         {"bruck_allgather", "bruck_all_to_all", "binomial_gather", "binomial_scatter", "recursive_doubling_scan"}) {
      ASSERT_EQ(rounds(name), ceil_log) << name;
    }
  }
  // The anomaly that the Aspen paper points out.
  const Algorithm& butterfly = find_algorithm("recursive_doubling");
  EXPECT_EQ(butterfly.rounds({.operation = Operation::allreduce, .size = 9}), 5U);
  EXPECT_EQ(butterfly.rounds({.operation = Operation::allreduce, .size = 16}), 4U);
}

TEST(Fold, PlacesAndRanksAreInverseAndPairsAreMutual) {
  for (const Fold::Pairing pairing : {Fold::Pairing::distant, Fold::Pairing::neighbour}) {
    for (Rank size = 1; size <= 70; ++size) {
      const Fold fold(size, pairing);
      Rank core = 0;
      for (Rank me = 0; me < size; ++me) {
        if (fold.is_left_out(me)) {
          EXPECT_FALSE(fold.is_left_out(fold.partner(me)));
          EXPECT_TRUE(fold.has_partner(fold.partner(me)));
          EXPECT_EQ(fold.partner(fold.partner(me)), me);
        } else {
          EXPECT_EQ(fold.place(me), core);
          EXPECT_EQ(fold.rank_at(core), me);
          ++core;
        }
      }
      EXPECT_EQ(core, fold.core_size());
    }
  }
}

TEST(Shape, KnowsWhichBlockLiesWhere) {
  const Rank size = 5;
  const Rank me = 3;
  const auto blocks = [&](Operation operation, Buffer buffer) {
    const Shape shape{.operation = operation, .size = size, .blocks = cuts_vector(operation) ? 2U : 1U};
    std::vector<std::uint32_t> found;
    const std::uint32_t count = buffer == Buffer::input ? input_blocks(shape, me) : output_blocks(shape, me);
    for (std::uint32_t place = 0; place < count; ++place) found.push_back(block_at(shape, me, buffer, place));
    return found;
  };
  using Blocks = std::vector<std::uint32_t>;
  const Blocks both{0, 1};
  const Blocks all{0, 1, 2, 3, 4};
  const auto expect = [&](Operation operation, const Blocks& input, const Blocks& output) {
    EXPECT_EQ(blocks(operation, Buffer::input), input) << name_of(operation);
    EXPECT_EQ(blocks(operation, Buffer::output), output) << name_of(operation);
  };
  expect(Operation::barrier, {}, {});
  expect(Operation::broadcast, {}, both);
  expect(Operation::reduce, both, {});
  expect(Operation::allreduce, both, both);
  expect(Operation::scan, both, both);
  expect(Operation::exscan, both, both);
  expect(Operation::allgather, {me}, all);
  expect(Operation::gather, {me}, {});
  expect(Operation::scatter, {}, {me});
  expect(Operation::reduce_scatter, all, {me});
  expect(Operation::all_to_all, all, all);
  const Shape shape{.operation = Operation::allgather, .size = size};
  EXPECT_EQ(block_at(shape, me, Buffer::scratch, 12), 2U);
}

TEST(Shape, InPlaceTheSmallerBufferLiesInTheLarger) {
  const auto offset = [](Operation operation) {
    return in_place_offset({.operation = operation, .size = 5, .root = has_root(operation) ? 3U : 0U}, 3);
  };
  EXPECT_EQ(offset(Operation::allreduce), 0);
  EXPECT_EQ(offset(Operation::scan), 0);
  EXPECT_EQ(offset(Operation::allgather), 3);
  EXPECT_EQ(offset(Operation::gather), 3);
  EXPECT_EQ(offset(Operation::scatter), -3);
  EXPECT_EQ(offset(Operation::reduce_scatter), -3);
  EXPECT_FALSE(may_be_in_place(Operation::all_to_all));
}

TEST(Shape, CutsTotalsIntoEvenPiecesThatCoverThem) {
  for (const std::uint64_t total : {0U, 1U, 7U, 64U, 1000U}) {
    for (std::uint32_t pieces = 1; pieces <= 13; ++pieces) {
      std::uint64_t next = 0;
      for (std::uint32_t index = 0; index < pieces; ++index) {
        const Piece piece = cut(total, pieces, index);
        EXPECT_EQ(piece.first, next);
        EXPECT_LE(piece.count, cut(total, pieces, 0).count);
        EXPECT_GE(piece.count + 1, cut(total, pieces, 0).count);
        next += piece.count;
      }
      EXPECT_EQ(next, total);
    }
  }
}

}  // namespace
}  // namespace stretto::schedule
