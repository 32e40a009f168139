#include "stretto/collective/large_messages.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "stretto/collective/collective.h"
#include "stretto/collective/test_support.h"

namespace stretto {
namespace {

constexpr std::size_t large = std::size_t{1} << 17U;  // doubles: 1 MiB
constexpr double lateness = 1e-3;                     // of node 1

// Whether node 0 expects to be asked for data after it has called, of what node 1 calls later, and when that is over.
struct Expected {
  bool after_call = false;
  bool at_end = false;
};

Expected expected_on(const std::string& fabric, std::size_t count) {
  Expected expected;
  test::run_on(fabric, [&](Node& node) -> Task<> {
    const Group all = Group::all(node);
    const std::vector<double> input(count, 1.0);
    std::vector<double> output(count);
    if (node.id() == 1) node.charge(lateness);
    const Event done = allreduce(node, all, input, output, sum);
    const fabric::Context& context = node.endpoint().context();
    if (node.id() == 0) expected.after_call = context.expects_request();
    co_await test::outcome(done);
    if (node.id() == 0) expected.at_end = context.expects_request();
  });
  return expected;
}

// Its caller stays until then (Engine::attend), so that the first data leave at once.
TEST(LargeMessages, WhatIsToLeaveOverANetworkExpectsToBeAskedFor) {
  const Expected expected = expected_on("sim:2", large);
  EXPECT_TRUE(expected.after_call);
  EXPECT_FALSE(expected.at_end);
}

TEST(LargeMessages, WhatIsSentUnaskedOrReadInPlaceDoesNot) {
  EXPECT_FALSE(expected_on("sim:2", 1).after_call);
  EXPECT_FALSE(expected_on("sim:2,hosts=1,peer_pointer=segments", large).after_call);
}

TEST(LargeMessages, NobodyExpectsADeadPeerToAsk) {
  Runtime runtime(test::options_for("sim:2,kill=1#0"));
  bool expected = true;
  std::string complaint;
  runtime.run([&](Node& node) -> Task<> {
    const Group all = Group::all(node);
    const std::vector<double> input(large, 1.0);
    std::vector<double> output(large);
    const std::string its_complaint = co_await test::outcome(allreduce(node, all, input, output, sum));
    if (node.id() != 0) co_return;
    complaint = its_complaint;
    expected = node.endpoint().context().expects_request();
  });
  EXPECT_NE(complaint, "");
  EXPECT_FALSE(expected);
}

}  // namespace
}  // namespace stretto
