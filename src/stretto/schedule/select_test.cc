#include "stretto/schedule/select.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "stretto/base/error.h"
#include "stretto/schedule/test_support.h"

namespace stretto::schedule {
namespace {

Request request(Operation operation, Rank size, std::uint64_t bytes, const Placement& placement) {
  Request request;
  request.shape = {.operation = operation, .size = size};
  request.bytes = bytes;
  request.placement = placement;
  return request;
}

std::string_view chosen(Operation operation, Rank size, std::uint64_t bytes, const Placement& placement) {
  return select(request(operation, size, bytes, placement), built_in_costs()).algorithm->name();
}

Placement roomy(Link link, Rank size) { return {link, size, size}; }

TEST(Select, CrowdedNodesExchangeSmallVectorsThroughOneOfThem) {
  for (const Link link : {Link::local, Link::host}) {
    const Placement crowded{link, 16, 2};
    EXPECT_EQ(chosen(Operation::allreduce, 16, 8, crowded), "linear_allreduce");
    EXPECT_EQ(chosen(Operation::barrier, 16, 0, crowded), "linear_barrier");
    EXPECT_EQ(chosen(Operation::allreduce, 2, 8, crowded), "recursive_doubling");
    EXPECT_EQ(chosen(Operation::allreduce, 16, 8, roomy(link, 16)), "recursive_doubling");
    EXPECT_NE(chosen(Operation::barrier, 16, 0, roomy(link, 16)), "linear_barrier");
  }
}

// Both take two rounds; the butterfly has each participant wait in each of them.
TEST(Select, OfWhatTakesAboutAsLongCrowdedNodesDoWhatIsLessWork) {
  Request reduce =
      request(Operation::general_reduce, 4, 8, {.link = Link::host, .ranks_of_machine = 4, .cores_of_machine = 2});
  reduce.shape.contributors = 4;
  reduce.shape.inner_receivers = 2;
  const std::vector<Candidate> candidates = rank_candidates(reduce, built_in_costs());
  EXPECT_EQ(candidates[0].algorithm->name(), "linear_general_reduce");
  EXPECT_EQ(candidates[1].algorithm->name(), "aspen_general_reduce");
  EXPECT_LT(candidates[1].price.seconds, candidates[0].price.seconds);
  EXPECT_GT(candidates[1].price.work, candidates[0].price.work);
  reduce.placement = roomy(Link::host, 4);
  EXPECT_EQ(select(reduce, built_in_costs()).algorithm->name(), "aspen_general_reduce");
}

TEST(Select, NodesThatShareMemoryReduceLargeVectorsInPlace) {
  for (const Link link : {Link::local, Link::host}) {
    EXPECT_EQ(chosen(Operation::allreduce, 4, 1 << 20, roomy(link, 4)), "direct_allreduce");
    EXPECT_EQ(chosen(Operation::allreduce, 4, 64, roomy(link, 4)), "recursive_doubling");
  }
}

TEST(Select, OverWiresLargeVectorsAreCut) {
  const Placement wire{Link::wire, 1, 1};
  const Candidate large = select(request(Operation::allreduce, 16, 1 << 20, wire), built_in_costs());
  EXPECT_GE(large.shape.blocks, 16U) << large.algorithm->name();
  EXPECT_EQ(chosen(Operation::allreduce, 16, 8, wire), "four_way_doubling");
}

// A ring, a halving, and rings in segments carry the same bytes, which is nearly all that they cost there.
TEST(Select, OverWiresOfWhatCostsAboutTheSameWhoSendsToFewestGoesFirst) {
  for (const Rank size : {4U, 7U, 8U}) {
    const Request asked = request(Operation::allreduce, size, 8 << 20, {Link::wire, size, 2});
    const std::vector<Candidate> candidates = rank_candidates(asked, built_in_costs());
    EXPECT_EQ(candidates[0].algorithm->name(), "ring_allreduce") << size;
    EXPECT_EQ(candidates[0].segments, 1U) << size;
    const double least = std::min_element(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) {
                           return a.price.cost() < b.price.cost();
                         })->price.cost();
    EXPECT_LE(candidates[0].price.cost(), 1.01 * least) << size;
  }
}

// Prices do not know whether the other one reaches the memory to which its part of the result would go.
TEST(Select, OfTwoProcessesTheRootReducesWhereItTakesAboutAsLong) {
  const auto chosen_at = [](std::uint64_t bytes, Link link, Rank root) {
    Request asked = request(Operation::reduce, 2, bytes, roomy(link, 2));
    asked.shape.root = root;
    return select(asked, built_in_costs()).algorithm->name();
  };
  for (const Rank root : {0U, 1U}) {
    EXPECT_EQ(chosen_at(128 << 10U, Link::host, root), "binomial_reduce");
    EXPECT_EQ(chosen_at(256 << 10U, Link::host, root), "binomial_reduce");
    EXPECT_EQ(chosen_at(512 << 10U, Link::host, root), "binomial_reduce");
  }
  EXPECT_EQ(chosen_at(1 << 20U, Link::host, 0), "direct_reduce");
  EXPECT_EQ(chosen_at(256 << 10U, Link::local, 0), "direct_reduce");
}

TEST(Select, HostsWithSeveralRanksSpeakWithOneVoice) {
  const auto chosen_on = [](Operation operation, const Hosts& hosts, std::uint64_t bytes) {
    Request asked = request(operation, hosts.ranks(), bytes, {Link::wire, hosts.most(), hosts.most()});
    asked.shape.hosts = hosts;
    return select(asked, built_in_costs());
  };
  for (const Operation operation : {Operation::allreduce, Operation::broadcast, Operation::reduce, Operation::barrier,
                                    Operation::allgather, Operation::reduce_scatter, Operation::all_to_all}) {
    for (const Hosts& hosts : {Hosts::even(13, 4), test::placements(16)[2]}) {
      const Candidate small = chosen_on(operation, hosts, 8);
      EXPECT_TRUE(small.algorithm->needs_hosts()) << describe(small.shape) << ": " << small.algorithm->name();
    }
  }
  // Blocks of a host that do not lie together would not go together, and a scan of ranks in turn has no host's sums.
  for (const Operation operation : {Operation::gather, Operation::scatter, Operation::scan, Operation::exscan}) {
    EXPECT_TRUE(chosen_on(operation, Hosts::even(13, 4), 8).algorithm->needs_hosts()) << name_of(operation);
  }
  // Of four ranks each in order, Rabenseifner's all-reduce goes by hosts without knowing it.
  const Candidate large = chosen_on(Operation::allreduce, Hosts::even(12, 4), 1 << 20);
  EXPECT_TRUE(large.algorithm->needs_hosts()) << large.algorithm->name();
  // In turn, a flat ring crosses the wire with every message.
  const Candidate in_turn = chosen_on(Operation::allreduce, test::placements(16)[2], 1 << 20);
  EXPECT_TRUE(in_turn.algorithm->needs_hosts()) << in_turn.algorithm->name();
  // Where all links are alike there is nothing to be gained.
  EXPECT_FALSE(
      select(request(Operation::allreduce, 16, 8, {Link::wire, 1, 1}), built_in_costs()).algorithm->needs_hosts());
}

std::vector<Shape> shapes_of(Rank size) {
  std::vector<Shape> shapes;
  for (int each = 0; each <= static_cast<int>(Operation::general_reduce); ++each) {
    const auto operation = static_cast<Operation>(each);
    for (const bool commutative : {true, false}) {
      if (!commutative && !is_reduction(operation)) continue;
      for (const Shape& shape : test::with_roles({.operation = operation, .size = size, .commutative = commutative})) {
        if (defect_of(shape).empty()) shapes.push_back(shape);
      }
    }
  }
  return shapes;
}

TEST(Select, CandidatesSupportTheShapeAndComeInOrder) {
  for (Rank size = 1; size <= test::exhaustive_to(64); size += size < 20 ? 1 : 7) {
    for (Shape shape : shapes_of(size)) {
      shape.root = has_root(shape.operation) ? size - 1 : 0;
      for (const std::uint64_t bytes : {0U, 8U, 1U << 20U}) {
        for (const bool equal_blocks : {true, false}) {
          const Request asked{shape, bytes, equal_blocks, {Link::host, size, 4}};
          const std::vector<Candidate> candidates = rank_candidates(asked, built_in_costs());
          for (const Candidate& each : candidates) {
            EXPECT_EQ(each.algorithm->refusal(each.shape), "") << describe(each.shape);
            EXPECT_EQ(each.shape, each.algorithm->with_segments(shape, each.segments));
            EXPECT_TRUE(equal_blocks || !each.algorithm->needs_equal_blocks());
          }
          EXPECT_TRUE(std::is_sorted(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) {
            return a.price.cost() < b.price.cost() * (1 - 1e-6);
          }));
          EXPECT_EQ(select(asked, built_in_costs()).algorithm, candidates.front().algorithm);
        }
      }
    }
  }
}

TEST(Select, EveryAlgorithmThatFitsIsACandidate) {
  for (const Algorithm* const algorithm : algorithms()) {
    const Shape shape = test::shape(*algorithm, 7);  // with hosts, if it needs them
    const std::vector<Candidate> candidates =
        rank_candidates({shape, 4096, true, {Link::local, 7, 1}}, built_in_costs());
    EXPECT_TRUE(std::any_of(candidates.begin(), candidates.end(), [&](const Candidate& each) {
      return each.algorithm == algorithm;
    })) << algorithm->name();
  }
}

TEST(Select, EqualPricesGoToTheFirstOfTheRegistry) {
  const CostTable nothing_costs{};
  for (const Shape& shape : shapes_of(8)) {
    const Candidate first = select({shape, 64, true, {Link::local, 8, 8}}, nothing_costs);
    const auto expected = std::find_if(algorithms().begin(), algorithms().end(), [&](const Algorithm* each) {
      return each->operation() == shape.operation && each->supports(each->with_segments(shape));
    });
    EXPECT_EQ(first.algorithm, *expected);
    EXPECT_EQ(first.segments, 1U);
  }
}

// Where cores are the bound, the sum of all work is often the same.
TEST(Select, OfEqualPricesTheShorterPathIsTaken) {
  const Request request{{.operation = Operation::broadcast, .size = 16}, 1 << 20, true, {Link::host, 16, 2}};
  const std::vector<Candidate> candidates = rank_candidates(request, built_in_costs());
  ASSERT_NEAR(candidates[0].price.seconds, candidates[1].price.seconds, 1e-9 * candidates[0].price.seconds);
  EXPECT_LT(candidates[0].price.path, candidates[1].price.path * 0.99);
}

TEST(Select, PipelinesAreCutWhereBytesAreDear) {
  Request chain = request(Operation::broadcast, 64, 64 << 20U, {Link::wire, 1, 1});
  chain.shape.root = 3;
  const Candidate best = select(chain, built_in_costs());
  EXPECT_GT(best.segments * best.shape.blocks, 1U) << best.algorithm->name();
}

TEST(Select, RefusesWhatNobodyCanDo) {
  Request impossible = request(Operation::broadcast, 4, 8, roomy(Link::local, 4));
  impossible.shape.root = 4;
  EXPECT_THROW(select(impossible, built_in_costs()), Error);
}

TEST(Select, SizeClassesAreNarrowAndKeepLimits) {
  std::uint64_t last = 0;
  for (std::uint64_t bytes = 0; bytes < 100'000; ++bytes) {
    const std::uint64_t its_class = size_class(bytes);
    EXPECT_GE(its_class, bytes);
    EXPECT_LE(its_class, bytes + bytes / 8);
    EXPECT_EQ(size_class(its_class), its_class);
    EXPECT_GE(its_class, last);
    last = its_class;
  }
  for (std::uint32_t bit = 0; bit < 63; ++bit) EXPECT_EQ(size_class(std::uint64_t{1} << bit), std::uint64_t{1} << bit);
  EXPECT_EQ(size_class(most_inline_bytes + 1), most_inline_bytes + most_inline_bytes / 8);
}

}  // namespace
}  // namespace stretto::schedule
