#include "stretto/schedule/compose.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "stretto/schedule/algorithm/linear_broadcast.h"
#include "stretto/schedule/algorithm/linear_reduce.h"
#include "stretto/schedule/algorithm/recursive_doubling.h"
#include "stretto/schedule/test_support.h"
#include "stretto/schedule/verify.h"

namespace stretto::schedule {
namespace {

const LinearReduce linear_reduce;
const LinearBroadcast linear_broadcast;
const RecursiveDoubling recursive_doubling("recursive_doubling", 1);

/// An all-reduce by the first member of each host, whose parts a test may change.
class Leaders final : public Composition {
 public:
  using Change = std::function<void(std::uint32_t phase, Rank me, std::vector<Part>& parts)>;

  explicit Leaders(Change change) : Composition("leaders"), change_(std::move(change)) {}

  std::string_view source() const noexcept override { return "this test"; }
  Operation operation() const noexcept override { return Operation::allreduce; }

 private:
  std::uint32_t rounds_of(const Shape& shape, std::uint32_t phase) const override {
    if (phase != 1) return 1;
    return recursive_doubling.rounds(part_shape(shape, Operation::allreduce, shape.hosts.count()));
  }
  std::vector<Part> parts_of(const Shape& shape, std::uint32_t phase, Rank me) const override {
    const Rank leader = shape.hosts.members(shape.hosts.of(me)).front();
    std::vector<Part> parts;
    if (phase == 0) parts.push_back(inside(shape, linear_reduce, me, leader));
    if (phase == 1 && me == leader) {
      parts.push_back({.algorithm = &recursive_doubling,
                       .shape = part_shape(shape, Operation::allreduce, shape.hosts.count()),
                       .ranks = Subgroup::across(shape.hosts, me),
                       .me = shape.hosts.of(me),
                       .input = {Buffer::output}});
    }
    if (phase == 2) {
      parts.push_back(inside(shape, linear_broadcast, me, leader));
      parts.back().input = {Buffer::output};
    }
    change_(phase, me, parts);
    return parts;
  }

  Change change_;
};

const Shape nine_on_three{.operation = Operation::allreduce, .size = 9, .hosts = Hosts::even(9, 3)};

std::string verdict_on(const Leaders::Change& change) {
  const auto violation = verify(Leaders(change), nine_on_three);
  return violation ? violation->text : "right";
}

TEST(Compose, TheVerifierSeesAComposedScheduleAsAnyOther) {
  EXPECT_EQ(verdict_on([](std::uint32_t, Rank, std::vector<Part>&) {}), "right");
}

TEST(Compose, TheVerifierSeesAPartThatIsMissing) {
  EXPECT_NE(verdict_on([](std::uint32_t phase, Rank me, std::vector<Part>& parts) {
              if (phase == 2 && me == 4) parts.clear();
            }),
            "right");
  // A whole host that is left out of a phase has two sound ends for each message.
  const std::string nobody = verdict_on([](std::uint32_t phase, Rank me, std::vector<Part>& parts) {
    if (phase == 2 && me / 3 == 1) parts.clear();
  });
  EXPECT_NE(nobody.find("rank 4: output block 0 ends with"), std::string::npos) << nobody;
}

TEST(Compose, TheVerifierSeesAPartThatIsRenamedWrongly) {
  // The leaders combine their own inputs, not what they have gathered.
  const std::string buffers = verdict_on([](std::uint32_t phase, Rank, std::vector<Part>& parts) {
    if (phase == 1 && !parts.empty()) parts.front().input = {Buffer::input};
  });
  EXPECT_NE(buffers, "right");
  const std::string peers = verdict_on([](std::uint32_t phase, Rank me, std::vector<Part>& parts) {
    if (phase == 0 && me == 7) parts.front().ranks = Subgroup::of_host(nine_on_three.hosts, 0);
  });
  EXPECT_NE(peers, "right");
  const std::string both_members_speak_for_a_host = verdict_on([](std::uint32_t phase, Rank, std::vector<Part>& parts) {
    if (phase == 1 && !parts.empty()) parts.front().ranks = Subgroup::across(nine_on_three.hosts, 1, 1);
  });
  EXPECT_NE(both_members_speak_for_a_host, "right");
}

/// What all ranks together send from host to host.
struct Traffic {
  std::uint64_t messages = 0;
  std::uint64_t blocks = 0;
};
Traffic between_hosts(const Algorithm& algorithm, const Shape& shape) {
  Traffic traffic;
  for (Rank me = 0; me < shape.size; ++me) {
    for (const Step& step : write_program(algorithm, shape, me).steps) {
      const bool leaves = step.kind == StepKind::send && shape.hosts.of(me) != shape.hosts.of(step.peer);
      traffic.messages += leaves ? 1 : 0;
      traffic.blocks += leaves ? step.count : 0;
    }
  }
  return traffic;
}

TEST(Compose, NothingCrossesTheWireMoreOftenThanBetweenTheHosts) {
  const auto check = [](std::string_view name, std::string_view between_name) {
    const Algorithm& algorithm = find_algorithm(name);
    const Algorithm& between = find_algorithm(between_name);
    for (Rank size = 1; size <= 40; ++size) {
      for (const Hosts& hosts : test::placements(size)) {
        const Shape shape = algorithm.with_segments({.operation = algorithm.operation(), .size = size, .hosts = hosts});
        const Shape leaders = between.with_segments({.operation = between.operation(),
                                                     .size = hosts.count(),
                                                     .hosts = Hosts::even(hosts.count(), hosts.count())});
        // In vectors: the larger group's may be cut into more blocks.
        const std::uint64_t blocks = between_hosts(algorithm, shape).blocks;
        const std::uint64_t least = between_hosts(between, leaders).blocks;
        ASSERT_EQ(blocks * leaders.blocks, least * shape.blocks) << test::label(algorithm, shape);
      }
    }
  };
  check("leaders_allreduce", "recursive_doubling");
  check("leader_trees_allreduce", "recursive_doubling");
  check("sliced_doubling_allreduce", "recursive_doubling");
  check("sliced_ring_allreduce", "ring_allreduce");
  check("sliced_direct_allreduce", "direct_allreduce");
  check("leaders_broadcast", "binomial_broadcast");
  check("leader_chain_broadcast", "chain_broadcast");
  check("leaders_reduce", "binomial_reduce");
}

TEST(Compose, EachBlockGoesToEachOtherHostOnce) {
  // Of a reduce_scatter a partial result of it comes from there.
  for (const std::string_view name : {"leader_ring_allgather", "leader_doubling_allgather", "leaders_reduce_scatter",
                                      "sliced_direct_reduce_scatter", "sliced_ring_reduce_scatter"}) {
    const Algorithm& algorithm = find_algorithm(name);
    for (const Hosts& hosts : test::placements(16)) {
      const Shape shape{.operation = algorithm.operation(), .size = 16, .hosts = hosts};
      if (name == "leader_doubling_allgather" && (hosts.count() & (hosts.count() - 1)) != 0) continue;  // folds
      EXPECT_EQ(between_hosts(algorithm, shape).blocks, 16U * (hosts.count() - 1)) << test::label(algorithm, shape);
    }
  }
}

TEST(Compose, ARootGivesEachOtherHostOneMessageAndGetsOneOfIt) {
  for (const std::string_view name : {"leaders_gather", "leaders_scatter"}) {
    const Algorithm& algorithm = find_algorithm(name);
    for (const Hosts& hosts : test::placements(18)) {
      const Shape shape{.operation = algorithm.operation(), .size = 18, .root = 5, .hosts = hosts};
      const Traffic traffic = between_hosts(algorithm, shape);
      EXPECT_EQ(traffic.blocks, 18U - hosts.members(hosts.of(5)).size()) << test::label(algorithm, shape);
      if (!hosts.are_in_order()) continue;
      EXPECT_EQ(traffic.messages, hosts.count() - 1) << test::label(algorithm, shape);
    }
  }
}

TEST(Compose, PrefixesNeedHostsInOrderAndGiveTheWireOneSumOfEach) {
  for (const std::string_view name : {"leaders_scan", "leaders_exscan"}) {
    const Algorithm& algorithm = find_algorithm(name);
    const Algorithm& between = find_algorithm("recursive_doubling_exscan");
    for (const Hosts& hosts : test::placements(16)) {
      const Shape shape{.operation = algorithm.operation(), .size = 16, .hosts = hosts};
      ASSERT_EQ(algorithm.supports(shape), hosts.are_in_order()) << test::label(algorithm, shape);
      if (!hosts.are_in_order()) continue;
      const Rank count = hosts.count();
      const Shape leaders{.operation = Operation::exscan, .size = count, .hosts = Hosts::even(count, count)};
      EXPECT_EQ(between_hosts(algorithm, shape).blocks, between_hosts(between, leaders).blocks);
    }
    EXPECT_NE(algorithm.refusal({.operation = algorithm.operation(), .size = 9, .hosts = test::placements(9)[2]})
                  .find("the ranks of a host do not follow one another"),
              std::string::npos);
  }
}

TEST(Compose, AllThatOneHostHasForAnotherGoesTogether) {
  const Algorithm& aggregated = find_algorithm("aggregated_all_to_all");
  for (const Hosts& hosts : test::placements(16)) {
    const Shape shape{.operation = Operation::all_to_all, .size = 16, .hosts = hosts};
    std::uint64_t pairs = 0;
    for (Rank rank = 0; rank < 16; ++rank) pairs += 16 - hosts.members(hosts.of(rank)).size();
    EXPECT_EQ(between_hosts(aggregated, shape).blocks, pairs) << test::label(aggregated, shape);
  }
  const auto messages = [&](const Hosts& hosts) {
    return between_hosts(aggregated, {.operation = Operation::all_to_all, .size = hosts.ranks(), .hosts = hosts})
        .messages;
  };
  EXPECT_EQ(messages(Hosts::even(16, 4)), 4U * 3);
  EXPECT_EQ(messages(Hosts::even(15, 5)), 5U * 4);
  EXPECT_EQ(messages(Hosts(std::vector<std::uint32_t>{0, 1, 2, 0, 1, 2, 0, 1, 2})), 3U * 2) << "ranks in turn";
  EXPECT_EQ(messages(Hosts::even(16, 2)), 2U * 4) << "64 blocks, of which 16 go together";
}

TEST(Compose, OperatorsThatDoNotCommuteNeedHostsInOrder) {
  for (const Algorithm* const algorithm : algorithms()) {
    if (!algorithm->needs_hosts() || !is_reduction(algorithm->operation()) || algorithm->needs_commutative()) continue;
    for (const Hosts& hosts : test::placements(12)) {
      Shape shape{.operation = algorithm->operation(), .size = 12, .commutative = false, .hosts = hosts};
      shape = algorithm->with_segments(shape);
      EXPECT_EQ(algorithm->supports(shape), hosts.are_in_order()) << test::label(*algorithm, shape);
    }
    EXPECT_NE(algorithm->refusal({.operation = algorithm->operation(), .size = 12}).find("are not known here"),
              std::string::npos);
  }
}

TEST(Compose, ReproducibleWhereHostsAreNodesOfTheCanonicalTree) {
  const auto offers = [](std::string_view name, const Hosts& hosts) {
    const Algorithm& algorithm = find_algorithm(name);
    return algorithm.supports(algorithm.with_segments({.operation = algorithm.operation(),
                                                       .size = hosts.ranks(),
                                                       .commutative = false,
                                                       .reproducible = true,
                                                       .hosts = hosts}));
  };
  for (const std::string_view name : {"leaders_allreduce", "leader_trees_allreduce", "sliced_direct_allreduce",
                                      "leaders_reduce", "leaders_reduce_scatter", "sliced_direct_reduce_scatter"}) {
    EXPECT_TRUE(offers(name, Hosts::even(16, 4))) << name;
    EXPECT_TRUE(offers(name, Hosts(std::vector<std::uint32_t>{0, 0, 0, 0, 1, 1, 1}))) << name;
    EXPECT_FALSE(offers(name, Hosts::even(12, 4))) << name;
    EXPECT_FALSE(offers(name, Hosts(std::vector<std::uint32_t>{0, 1, 0, 1}))) << name;
  }
  EXPECT_FALSE(offers("sliced_ring_allreduce", Hosts::even(16, 4)));
}

}  // namespace
}  // namespace stretto::schedule
