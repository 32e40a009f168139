#include "stretto/schedule/cost_table.h"

#include <gtest/gtest.h>

#include <limits>

#include "stretto/base/error.h"

namespace stretto::schedule {
namespace {

TEST(CostTable, IsReadAsItWasWritten) {
  CostTable table = built_in_costs();
  double value = 1e-9;
  for (Costs& costs : table.links) {
    for (const CostField& field : cost_fields) costs.*field.value = value *= 1.7;
  }
  const CostTable read = parse_cost_table(to_json(table), "a test");
  EXPECT_EQ(read.links, table.links);
  EXPECT_EQ(read.origin(Link::host), "a test");
}

TEST(CostTable, LinksThatItDoesNotHaveAreBuiltIn) {
  const CostTable read =
      parse_cost_table(R"({"stretto_costs": 1, "wire": {"call": 0, "latency": 1e-3, "overhead": 0, "announcement": 0,
      "gap": 0, "byte_time": 0, "inline_time": 0, "forwarding": 0, "copy_time": 0, "reduction_time": 0, "meeting": 0, "turn": 0}})",
                       "a test");
  EXPECT_EQ(read.of(Link::wire).latency, 1e-3);
  EXPECT_EQ(read.of(Link::local), built_in_costs().of(Link::local));
  EXPECT_EQ(read.origin(Link::local), "built in");
}

TEST(CostTable, BuiltInCostsAreNotWritten) {
  CostTable table = built_in_costs();
  table.of(Link::host).latency *= 2;
  const CostTable read = parse_cost_table(to_json(table), "a test");
  EXPECT_EQ(read.links, table.links);
  EXPECT_EQ(read.origins, (std::array<std::string, link_count>{"built in", "a test", "built in"}));
  EXPECT_EQ(parse_cost_table(to_json(built_in_costs()), "a test").origins, built_in_costs().origins);
}

TEST(CostTable, BadOnesAreRefusedByNameAndPlace) {
  const auto complaint_about = [](std::string_view text) {
    try {
      parse_cost_table(text, "table.json");
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::bad_input);
      EXPECT_NE(error.message().find("table.json"), std::string::npos) << error.message();
      return error.message();
    }
    ADD_FAILURE() << "accepted: " << text;
    return std::string();
  };
  const auto with = [](const std::string& latency) {
    return R"({"stretto_costs": 1, "host": {"call": 0, "overhead": 0, "announcement": 0, "gap": 0, "byte_time": 0, "inline_time": 0, "forwarding": 0, "copy_time": 0,
               "reduction_time": 0, "meeting": 0, "turn": 0)" +
           latency + "}}";
  };
  EXPECT_NE(complaint_about("").find("no JSON object"), std::string::npos);
  EXPECT_NE(complaint_about("[1]").find("no JSON object"), std::string::npos);
  EXPECT_NE(complaint_about("{}").find("\"stretto_costs\" must be 1"), std::string::npos);
  EXPECT_NE(complaint_about(R"({"stretto_costs": "1"})").find("must be 1"), std::string::npos);
  EXPECT_NE(complaint_about(R"({"stretto_costs": 1, "air": {}})").find("\"air\""), std::string::npos);
  EXPECT_NE(complaint_about(R"({"stretto_costs": 1, "host": 3})").find("\"host\""), std::string::npos);
  EXPECT_NE(complaint_about(with("")).find("\"host\"'s \"latency\" is missing"), std::string::npos);
  for (const char* const value : {"-1", "2", "\"1us\"", "1e999", "null"}) {
    EXPECT_NE(complaint_about(with(R"(, "latency": )" + std::string(value))).find("table.json"), std::string::npos);
  }
  EXPECT_NE(complaint_about(with(R"(, "latency": 0, "colour": 1)")).find("more than"), std::string::npos);
  // However deep something is nested, no function calls itself as often.
  constexpr std::size_t depth = 300'000;
  const std::string nested = std::string(depth, '[') + std::string(depth, ']');
  EXPECT_NE(
      complaint_about(with(", \"latency\": " + nested)).find("\"latency\" must be seconds from 0 to 1, not an array"),
      std::string::npos);
  EXPECT_NE(complaint_about(R"({"stretto_costs": )" + nested + "}").find("must be 1"), std::string::npos);
}

TEST(CostTable, WhatIsWrittenIsNeverRefused) {
  CostTable table = built_in_costs();
  Costs& costs = table.of(Link::wire);
  costs.call = 3.95;
  costs.latency = std::numeric_limits<double>::infinity();
  costs.overhead = std::numeric_limits<double>::quiet_NaN();
  costs.gap = -1e-9;
  const Costs read = parse_cost_table(to_json(table), "a test").of(Link::wire);
  EXPECT_EQ(read, bounded(costs));
  EXPECT_EQ(read.call, most_cost);
  EXPECT_EQ(read.latency, most_cost);
  EXPECT_EQ(read.overhead, 0);
  EXPECT_EQ(read.gap, 0);
  EXPECT_EQ(read.byte_time, costs.byte_time);
}

TEST(CostTable, BuiltInCostsAreSaneAndNamed) {
  for (const Link link : {Link::local, Link::host, Link::wire}) {
    for (const CostField& field : cost_fields) {
      EXPECT_GE(built_in_costs().of(link).*field.value, 0) << name_of(link) << ", " << field.name;
      EXPECT_LT(built_in_costs().of(link).*field.value, 1e-3) << name_of(link) << ", " << field.name;
    }
    EXPECT_GT(built_in_costs().of(link).overhead, 0);
    EXPECT_GT(built_in_costs().of(link).byte_time, 0);
    EXPECT_EQ(parse_link(name_of(link), "a link"), link);
  }
  EXPECT_THROW(parse_link("air", "--link"), Error);
}

}  // namespace
}  // namespace stretto::schedule
