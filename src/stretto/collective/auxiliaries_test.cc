#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "stretto/collective/collective.h"
#include "stretto/collective/test_support.h"

// All-reduces to which idle nodes are lent: the same results, and nothing at those who help.
namespace stretto {
namespace {

using test::values;

Group nodes_from(NodeId first, std::uint32_t count) {
  std::vector<NodeId> nodes(count);
  std::iota(nodes.begin(), nodes.end(), first);
  return Group(std::move(nodes));
}

class AuxiliariesTest : public test::OnEveryFabric {};
INSTANTIATE_TEST_SUITE_P(Fabrics, AuxiliariesTest, testing::ValuesIn(test::fabric_kinds), test::name_of_kind);

Task<> check(Node& node, const Group& group, std::size_t count, const CollectiveOptions& options) {
  using Number = std::uint64_t;
  const std::vector<Number> input = values<Number>(count, 1, node.id());
  std::vector<Number> output(count, 7);
  co_await allreduce(node, group, input, output, sum, options);
  const bool takes_part = group.contains(node.id());
  EXPECT_EQ(output, takes_part ? test::reduced<Number>(group, count, 1, sum) : std::vector<Number>(count, 7));
  EXPECT_EQ(input, values<Number>(count, 1, node.id()));
}

// Chosen, where they may stay idle, and by the schedule that uses them.
TEST_P(AuxiliariesTest, HelpAndGetNothing) {
  for (const std::uint32_t participants : {1U, 3U, 5U, 6U, 9U}) {
    for (const std::uint32_t lent : {1U, 3U, 7U}) {
      run(participants + lent, [=](Node& node) -> Task<> {
        const Group group = nodes_from(0, participants);
        const Group idle = nodes_from(participants, lent);
        for (const std::size_t count : {1U, 3U, 2000U}) {
          for (const std::string_view name : {"", "padded_doubling"}) {
            co_await check(node, group, count, CollectiveOptions().auxiliaries(idle).algorithm(name));
            co_await check(node, group, count, CollectiveOptions().auxiliaries(idle).algorithm(name).reproducible());
          }
        }
        const int total = co_await allreduce(node, Group::all(node), 1, sum);
        EXPECT_EQ(total, static_cast<int>(participants + lent));
      });
    }
  }
}

// What they pass is nobody's, whatever it is.
TEST_P(AuxiliariesTest, HaveNoShardsCombined) {
  run(4, [](Node& node) -> Task<> {
    const Group group = nodes_from(0, 3);
    const Group idle = nodes_from(3, 1);
    for (const std::size_t count : {3U, 20'000U}) {
      const std::vector<std::vector<int>> shards(2, std::vector<int>(count, 1));
      std::vector<int> output(count, 7);
      co_await allreduce(node, group, shards, output, sum, CollectiveOptions().auxiliaries(idle));
      EXPECT_EQ(output, std::vector<int>(count, node.id() == 3 ? 7 : 6));
    }
  });
}

TEST(Auxiliaries, AreRefusedWhereTheyMakeNoSense) {
  test::run_on("local:4", [](Node& node) {
    const Group group = nodes_from(0, 3);
    std::vector<int> data(4);
    const auto refusal = [&](const Group& idle) {
      return test::refusal([&] { allreduce(node, group, 1, sum, CollectiveOptions().auxiliaries(idle)); });
    };
    EXPECT_EQ(refusal(Group{3, 2}),
              "auxiliaries: node 2 is in the group, too; lend nodes that take no part themselves");
    const std::string scanned =
        test::refusal([&] { scan(node, group, 1, sum, CollectiveOptions().auxiliaries(Group{3})); });
    EXPECT_NE(scanned.find("scan: auxiliaries help an allreduce only"), std::string::npos) << scanned;
  });
}

}  // namespace
}  // namespace stretto
