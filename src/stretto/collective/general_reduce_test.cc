#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

#include "stretto/collective/collective.h"
#include "stretto/collective/test_support.h"

// The general reduce: participants and receivers of all sorts, on every fabric that lives in one process.
namespace stretto {
namespace {

using test::Affine;
using test::Compose;
using test::outcome;
using test::reduced;
using test::values;

class GeneralReduceTest : public test::OnEveryFabric {};

INSTANTIATE_TEST_SUITE_P(Fabrics, GeneralReduceTest, testing::ValuesIn(test::fabric_kinds), test::name_of_kind);

// The participants, in the order in which their inputs are combined.
Group participants_of(const ReduceGroups& groups) { return test::first_ranks(groups.members(), groups.participants()); }

// Apart and in place, by one algorithm.
template <class T, class Op>
Task<> check_reduce(Node& node, ReduceGroups groups, std::size_t count, Op op, std::uint64_t salt,
                    std::string_view algorithm) {
  const bool gives = groups.participates(node.id());
  const bool gets = groups.receives(node.id());
  const std::vector<T> input = gives ? values<T>(count, salt, node.id()) : std::vector<T>();
  std::vector<T> output(gets ? count : 0);
  const CollectiveOptions options = CollectiveOptions().algorithm(algorithm);
  co_await reduce(node, groups, input, output, op, options);
  std::vector<T> data = gives ? input : std::vector<T>(count);
  co_await reduce(node, groups, data, data, op, options);
  if (gives) {
    EXPECT_TRUE(input == values<T>(count, salt, node.id())) << "the input was written by " << algorithm;
    EXPECT_TRUE(gets || data == input) << "who receives nothing was written to by " << algorithm;
  }
  if (!gets) co_return;
  const std::vector<T> expected = reduced<T>(participants_of(groups), count, salt, op);
  const std::string what = std::to_string(count) + " elements, salt " + std::to_string(salt) + ", at node " +
                           std::to_string(node.id()) + " by " + std::string(algorithm);
  EXPECT_TRUE(output == expected) << what;
  EXPECT_TRUE(data == expected) << "in place: " << what;
}

// With operators that commute and that don't, by all algorithms. The others look on.
Task<> check_groups(Node& node, ReduceGroups groups, std::size_t count, std::uint64_t salt) {
  if (!groups.members().contains(node.id())) co_return;
  const schedule::Shape shape{.operation = schedule::Operation::general_reduce,
                              .size = groups.members().size(),
                              .contributors = groups.participants(),
                              .inner_receivers = groups.inner_receivers()};
  for (const std::string_view algorithm : test::algorithms_for(shape)) {
    co_await check_reduce<std::uint64_t>(node, groups, count, sum, salt, algorithm);
  }
  schedule::Shape ordered = shape;
  ordered.commutative = false;
  for (const std::string_view algorithm : test::algorithms_for(ordered)) {
    co_await check_reduce<Affine>(node, groups, count, Compose(), salt, algorithm);
  }
}

// The Aspen paper's Fig. 4: node 0 takes no part.
TEST_P(GeneralReduceTest, GivesThePapersExample) {
  run(12, [](Node& node) -> Task<> {
    const ReduceGroups groups(Group{1, 2, 3, 4, 5, 6, 7, 8}, Group{1, 2, 9, 10, 11});
    for (const std::size_t count : {0U, 1U, 7U, 600U, 20'000U}) co_await check_groups(node, groups, count, count);
  });
}

TEST_P(GeneralReduceTest, BothAlgorithmsCanBeNamed) {
  run(5, [](Node& node) -> Task<> {
    const ReduceGroups groups(Group{0, 1, 2}, Group{0, 3, 4});
    for (const std::string_view algorithm : {"aspen_general_reduce", "scattered_general_reduce"}) {
      for (const std::size_t count : {1U, 10'000U}) {
        co_await check_reduce<std::uint64_t>(node, groups, count, sum, 3, algorithm);
      }
    }
  });
}

TEST_P(GeneralReduceTest, ManyGiveToOneAndOneGivesToMany) {
  run(6, [](Node& node) -> Task<> {
    const ReduceGroups many_to_one(Group{5, 3, 1, 0, 2}, Group{4});
    const ReduceGroups one_to_many(Group{2}, Group{0, 1, 3, 4, 5});
    const ReduceGroups one_to_itself(Group{3}, Group{3});
    const ReduceGroups all_to_all(Group{2, 0, 5, 1, 4, 3}, Group{0, 1, 2, 3, 4, 5});
    for (const std::size_t count : {1U, 700U, 9000U}) {
      for (const ReduceGroups* groups : {&many_to_one, &one_to_many, &one_to_itself, &all_to_all}) {
        co_await check_groups(node, *groups, count, count);
      }
    }
  });
}

// Random participants and receivers, which may be the same nodes, some of them, or others; in an order that suits all
// operators.
TEST_P(GeneralReduceTest, RandomParticipantsAndReceiversSeeds) {
  constexpr std::uint32_t nodes = 9;
  run(nodes, [](Node& node) -> Task<> {
    for (const std::uint64_t seed : test::seeds(25)) {
      Random random(seed);  // the same groups on every node
      const auto some = [&random] {
        return test::random_group(random, nodes, 1 + static_cast<std::uint32_t>(random.below(nodes)));
      };
      const Group participants = some();
      const Group receivers = some();
      const ReduceGroups groups(participants_of(ReduceGroups(participants, receivers)), receivers);
      const std::size_t count = random.below(4) == 0 ? 8000 + random.below(4000) : random.below(700);
      co_await check_groups(node, groups, count, seed);
    }
  });
}

// In whatever order the participants are given, a sum is a sum.
TEST_P(GeneralReduceTest, OperatorsThatCommuteTakeAnyOrder) {
  run(5, [](Node& node) -> Task<> {
    const ReduceGroups groups(Group{4, 0, 3, 1}, Group{1, 2, 3});
    for (const std::size_t count : {3U, 9000U}) co_await check_reduce<std::uint64_t>(node, groups, count, sum, 1, {});
  });
}

TEST_P(GeneralReduceTest, MisuseIsRefusedByName) {
  run(4, [](Node& node) -> Task<> {
    std::vector<Affine> affine(3);
    std::vector<int> three(3);
    std::vector<int> four(4);
    const auto refusal = [](const auto& call) -> std::string {
      try {
        call();
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
        return error.message();
      }
      return "accepted";
    };
    const ReduceGroups all(Group::all(node), Group::all(node));
    EXPECT_EQ(refusal([&] { reduce(node, all, three, four, sum); }),
              "reduce: output has 4 elements where 3 are needed");
    const ReduceGroups out_of_order(Group{0, 1, 2, 3}, Group{1, 2});
    EXPECT_EQ(refusal([&] {
                reduce(node, out_of_order, affine, affine, Compose());
              }).rfind("reduce: an operator that does not commute needs participants that receive to come before", 0),
              0U);
    const NodeId next = (node.id() + 1) % 4;
    const ReduceGroups others(Group{next}, Group{next, (node.id() + 2) % 4});
    EXPECT_EQ(refusal([&] { reduce(node, others, three, three, sum); }).rfind("reduce at ", 0), 0U);
    const CollectiveOptions by_another = CollectiveOptions().algorithm("binomial_reduce");
    EXPECT_NE(refusal([&] { reduce(node, all, three, three, sum, by_another); }), "accepted");
    // What was refused took no number: the next collectives match.
    co_await check_reduce<std::uint64_t>(node, all, 5, sum, 1, {});
  });
}

// Participants say how much there is to combine, receivers how much they take: who differs is told so.
TEST_P(GeneralReduceTest, SizesThatDisagreeAreAMismatch) {
  run(4, [](Node& node) -> Task<> {
    const ReduceGroups groups(Group{0, 1}, Group{2, 3});
    for (const auto& [usual, odd] : {std::pair(3U, 4U), std::pair(3U, 9000U), std::pair(9000U, 9001U)}) {
      for (NodeId who = 0; who < 4; ++who) {
        std::vector<std::uint64_t> data(node.id() == who ? odd : usual);
        const std::string said = co_await outcome(reduce(node, groups, data, data, sum));
        EXPECT_TRUE(said.empty() || said.rfind("mismatch: ", 0) == 0) << node.id() << ": " << said;
        // Others may be through before they could know: what they get does not depend on the odd one.
        const bool must_know = groups.receives(node.id()) && (groups.participates(who) || node.id() == who);
        EXPECT_FALSE(must_know && said.empty()) << node.id() << " does not know of " << who;
      }
    }
    const std::uint64_t total = co_await allreduce(node, Group::all(node), std::uint64_t{1}, sum);
    EXPECT_EQ(total, 4U);
  });
}

}  // namespace
}  // namespace stretto
