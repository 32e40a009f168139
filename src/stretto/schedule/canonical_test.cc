#include "stretto/schedule/canonical.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "stretto/base/error.h"
#include "stretto/schedule/builder.h"
#include "stretto/schedule/test_support.h"
#include "stretto/schedule/verify.h"

namespace stretto::schedule {
namespace {

constexpr Operation reductions[] = {Operation::reduce,         Operation::allreduce, Operation::scan,
                                    Operation::reduce_scatter, Operation::exscan,    Operation::general_reduce};

Shape reproducible(const Algorithm& algorithm, Rank size) {
  Shape shape = test::shape(algorithm, size);
  shape.commutative = false;
  shape.reproducible = true;
  return shape;
}

/// What verify() says of the schedules of `shape` if they are said to be reproducible, whatever the algorithm claims.
std::optional<Violation> verify_as_canonical(const Algorithm& algorithm, const Shape& shape) {
  Shape claimed = shape;
  claimed.commutative = false;
  claimed.reproducible = true;
  std::vector<Schedule> schedules = test::schedules(algorithm, shape);
  for (Schedule& schedule : schedules) schedule.shape = claimed;
  return verify(schedules, claimed);
}

bool supports_reproducibly(const Algorithm& algorithm, Rank size) {
  return algorithm.supports(reproducible(algorithm, size));
}

TEST(CanonicalTree, IsTheAlignedOne) {
  const Algorithm& algorithm = find_algorithm("linear_reduce");
  const auto tree = [&](Rank size) { return combine_trees(test::schedules(algorithm, reproducible(algorithm, size))); };
  EXPECT_EQ(tree(1)[0][0], "0");
  EXPECT_EQ(tree(2)[0][0], "0 1");
  EXPECT_EQ(tree(3)[0][0], "(0 1) 2");
  EXPECT_EQ(tree(5)[0][0], "((0 1) (2 3)) 4");
  EXPECT_EQ(tree(6)[0][0], "((0 1) (2 3)) (4 5)");
  EXPECT_EQ(tree(7)[0][0], "((0 1) (2 3)) ((4 5) 6)");
  EXPECT_EQ(tree(9)[0][0], "(((0 1) (2 3)) ((4 5) (6 7))) 8");
}

// What algorithms say of themselves is neither more nor less than what their schedules are, at every size.
TEST(CanonicalTree, IsThatOfTheSchedulesThatClaimItAndOfNoOthers) {
  for (const Algorithm* algorithm : algorithms()) {
    if (!is_reduction(algorithm->operation())) continue;
    for (const Rank size : test::sizes_to(64)) {
      Shape shape = reproducible(*algorithm, size);
      if (algorithm->supports(shape)) {
        const auto violation = verify(*algorithm, shape);
        EXPECT_FALSE(violation) << test::label(*algorithm, shape) << ": " << violation->text;
      } else if (size > 4 && !algorithm->needs_commutative()) {  // few ranks have few trees
        shape.reproducible = false;
        EXPECT_TRUE(verify_as_canonical(*algorithm, shape)) << test::label(*algorithm, shape);
      }
    }
  }
}

TEST(CanonicalTree, ServesEveryReductionOfEverySize) {
  for (const Operation operation : reductions) {
    std::set<Rank> sizes;
    for (const Algorithm* algorithm : algorithms()) {
      if (algorithm->operation() != operation) continue;
      for (Rank size = 1; size <= 64; ++size) {
        if (supports_reproducibly(*algorithm, size)) sizes.insert(size);
      }
    }
    EXPECT_EQ(sizes.size(), 64U) << name_of(operation);
  }
}

/// Blocks that the busiest rank sends, in vectors.
double vectors_sent(const Algorithm& algorithm, const Shape& shape) {
  std::uint32_t most = 0;
  for (const Schedule& schedule : test::schedules(algorithm, shape)) {
    std::uint32_t blocks = 0;
    for (const Step& step : schedule.steps) blocks += step.kind == StepKind::send ? step.count : 0;
    most = std::max(most, blocks);
  }
  return static_cast<double>(most) / vector_blocks(shape);
}

TEST(CanonicalTree, HasScheduleThatMovesLongVectorsOnlyOnce) {
  for (const auto& [name, most] : {std::pair("direct_reduce", 1.0),
                                   {"direct_allreduce", 2.0},
                                   {"direct_reduce_scatter", 1.0},
                                   {"scattered_general_reduce", 2.0}}) {
    const Algorithm& algorithm = find_algorithm(name);
    for (Rank size = 2; size <= 64; ++size) {
      EXPECT_TRUE(supports_reproducibly(algorithm, size));
      EXPECT_LE(vectors_sent(algorithm, test::shape(algorithm, size)), most) << name << ' ' << size;
    }
  }
}

TEST(CanonicalTree, OfAPrefixIsThatOfItsRanks) {
  for (Rank size = 1; size <= 64; ++size) {
    for (const std::string_view name : {"aligned_scan", "aligned_exscan"}) {
      const Algorithm& algorithm = find_algorithm(name);
      const auto trees = combine_trees(test::schedules(algorithm, reproducible(algorithm, size)));
      const Algorithm& whole = find_algorithm("linear_reduce");
      const Rank terms = name == "aligned_scan" ? size : size - 1;
      if (terms == 0) continue;
      EXPECT_EQ(trees[size - 1][0], combine_trees(test::schedules(whole, reproducible(whole, terms)))[0][0]);
    }
  }
}

void expect_rejected(std::string_view name, Rank size, std::string_view tree) {
  const Algorithm& algorithm = find_algorithm(name);
  const Shape shape = test::shape(algorithm, size);
  EXPECT_EQ(combine_trees(test::schedules(algorithm, shape))[0][0], tree);
  const auto violation = verify_as_canonical(algorithm, shape);
  ASSERT_TRUE(violation) << name;
  EXPECT_NE(violation->text.find("ranks " + std::string(tree) + ", not with"), std::string::npos) << violation->text;
  EXPECT_FALSE(supports_reproducibly(algorithm, size));
}

TEST(CanonicalTree, RejectsRotatedAndOtherTrees) {
  expect_rejected("ring_reduce_scatter", 4, "((1 2) 3) 0");
  expect_rejected("recursive_doubling", 5, "((0 4) 1) (2 3)");
  expect_rejected("rabenseifner", 5, "((0 1) 2) (3 4)");
  EXPECT_EQ(combine_trees(test::schedules(find_algorithm("direct_allreduce"),
                                          test::shape(find_algorithm("direct_allreduce"), 4)))[3][0],
            "((0 1) 2) 3")
      << "from the left where nobody asks for more";
  const Algorithm& ring = find_algorithm("ring_allreduce");
  for (Rank size = 3; size <= 64; ++size) EXPECT_TRUE(verify_as_canonical(ring, test::shape(ring, size))) << size;
}

/// A tree whose top is another rank than 0.
TEST(CanonicalTree, RejectsARotatedTree) {
  const Algorithm& algorithm = find_algorithm("binomial_reduce");
  for (Rank size = 3; size <= 16; ++size) {
    for (Rank root = 1; root < size; ++root) {
      if (2 * root == size) continue;  // turned by half, a power of two is its own mirror, and lower ranks come first
      Shape shape = test::shape(algorithm, size);
      shape.root = root;
      EXPECT_TRUE(verify_as_canonical(algorithm, shape)) << size << ' ' << root;
      shape.commutative = false;
      EXPECT_FALSE(verify_as_canonical(algorithm, shape)) << size << ' ' << root;
    }
  }
}

/// Claims to be canonical, and combines from the left.
class FromTheLeft final : public Algorithm {
 public:
  std::string_view name() const noexcept override { return "from_the_left"; }
  std::string_view source() const noexcept override { return "this test"; }
  Operation operation() const noexcept override { return Operation::reduce; }
  bool is_canonical(const Shape&) const override { return true; }
  std::uint32_t rounds(const Shape&) const override { return 1; }
  void steps(const Shape& shape, Rank me, std::uint32_t, Sink& sink) const override {
    if (me > 0) return sink.send(0, input());
    sink.copy(input(), output());
    for (Rank rank = 1; rank < shape.size; ++rank) accumulate(sink, me, rank, scratch(), output());
  }
  std::uint32_t scratch_blocks(const Shape&, Rank) const override { return 1; }
};

TEST(CanonicalTree, AWrongClaimIsFoundOut) {
  Shape shape{.operation = Operation::reduce, .size = 4, .commutative = false};
  EXPECT_FALSE(verify(FromTheLeft(), shape));
  shape.reproducible = true;
  const auto violation = verify(FromTheLeft(), shape);
  ASSERT_TRUE(violation);
  EXPECT_EQ(violation->text,
            "rank 0: output block 0 ends with block 0 of ranks ((0 1) 2) 3, not with block 0 of ranks (0 1) (2 3)");
  shape.size = 3;
  EXPECT_FALSE(verify(FromTheLeft(), shape)) << "where it is the canonical tree";
}

TEST(CanonicalTree, IsRefusedByNameByThoseThatHaveAnother) {
  const Shape shape{
      .operation = Operation::allreduce, .size = 5, .blocks = 4, .commutative = false, .reproducible = true};
  EXPECT_EQ(find_algorithm("rabenseifner").refusal(shape),
            "rabenseifner does not combine the terms of 5 ranks in the canonical tree, so it is not reproducible; "
            "`stretto explain --reproducible` lists those that are");
  EXPECT_EQ(defect_of({.operation = Operation::allreduce, .size = 4, .reproducible = true}),
            "the canonical tree is in rank order; where reproducible is true, commutative must be false");
}

}  // namespace
}  // namespace stretto::schedule
