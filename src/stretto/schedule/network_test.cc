#include "stretto/schedule/network.h"

#include <gtest/gtest.h>

#include <ostream>
#include <set>

#include "stretto/base/error.h"

namespace stretto::schedule {
namespace {

TEST(Network, NamesGiveTheirNumbers) {
  const Network titan = parse_network(" titan ");
  EXPECT_EQ(titan.latency, 1.5e-6);
  EXPECT_DOUBLE_EQ(titan.byte_time, 1 / 5e9);
  std::set<std::string> names;
  for (const Network& network : networks()) {
    names.insert(network.name);
    EXPECT_EQ(parse_network(network.name).origin, network.origin);
    EXPECT_GT(network.latency, 0) << network.name;
    EXPECT_GT(network.overhead, 0) << network.name;
    EXPECT_GT(network.gap, 0) << network.name;
    EXPECT_GT(network.byte_time, 0) << network.name;
    EXPECT_GT(network.reduction_time, 0) << network.name;
  }
  EXPECT_EQ(names.size(), networks().size());
}

TEST(Network, NumbersAreReadWithTheirUnits) {
  const Network network = parse_network("1.5us, 400ns,0.5us ,5GB/s");
  EXPECT_EQ(network.name, "custom");
  EXPECT_DOUBLE_EQ(network.latency, 1.5e-6);
  EXPECT_DOUBLE_EQ(network.overhead, 0.4e-6);
  EXPECT_DOUBLE_EQ(network.gap, 0.5e-6);
  EXPECT_DOUBLE_EQ(network.byte_time, 0.2e-9);
  EXPECT_DOUBLE_EQ(network.reduction_time, 0.1e-9);
  const Network other = parse_network("0,0,0,0.2ns,0");
  EXPECT_EQ(other.latency, 0);
  EXPECT_DOUBLE_EQ(other.byte_time, 0.2e-9);
  EXPECT_EQ(other.reduction_time, 0);
  EXPECT_EQ(describe(parse_network("1.5us,0.5us,0.5us,5GB/s")),
            "L 1.5 us, o 500 ns, g 500 ns, G 5 GB/s, reductions 10 GB/s");
  EXPECT_EQ(describe(other), "L 0 s, o 0 s, g 0 s, G 5 GB/s, reductions no cost");
}

struct BadNetwork {
  const char* text;
  const char* part;  ///< of the message

  friend void PrintTo(const BadNetwork& bad, std::ostream* out) { *out << '"' << bad.text << '"'; }
};

class BadNetworks : public testing::TestWithParam<BadNetwork> {};

TEST_P(BadNetworks, AreRefusedByNameAndValue) {
  try {
    parse_network(GetParam().text);
    FAIL() << "accepted '" << GetParam().text << "'";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_input);
    EXPECT_NE(error.message().find(GetParam().part), std::string::npos) << error.message();
  }
}

INSTANTIATE_TEST_SUITE_P(Network, BadNetworks,
                         testing::Values(BadNetwork{"", "no network called ''"},
                                         BadNetwork{"titen", "did you mean 'titan'? Known are titan, "},
                                         BadNetwork{"zzzzzzzz", "no network called 'zzzzzzzz'. Known are"},
                                         BadNetwork{"1us,1us", "has 2 numbers"},
                                         BadNetwork{"1us,1us,1us,1GB/s,1GB/s,1GB/s", "has 6 numbers"},
                                         BadNetwork{"1us,1us,1us,", "G (time of a byte) is ''"},
                                         BadNetwork{",,,", "L (latency) is ''"},
                                         BadNetwork{"1.5,1us,1us,5GB/s", "L (latency) is '1.5'"},
                                         BadNetwork{"1us,-1us,1us,5GB/s", "o (overhead) is '-1us'"},
                                         BadNetwork{"1us,1us,inf,5GB/s", "g (gap) is 'inf'"},
                                         BadNetwork{"1us,1us,1us,5GB", "but must be a bandwidth such as 5GB/s, or"},
                                         BadNetwork{"1us,1us,1us,0GB/s", "G (time of a byte) is '0GB/s'"},
                                         BadNetwork{"1us,1us,1us,1e-309B/s", "G (time of a byte) is '1e-309B/s'"},
                                         BadNetwork{"1us,1us,1us,5GB/s,fast", "R (reduction) is 'fast'"}));

}  // namespace
}  // namespace stretto::schedule
