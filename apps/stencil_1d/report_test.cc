#include "stencil_1d/report.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace stencil_1d {
namespace {

Record three_iterations() {
  Record record;
  record.begun = {10, 14, 16, 21};
  record.derived = {11, 15, 18};
  return record;
}

TEST(Record, AnIterationLastsUntilTheNextBegins) {
  const Tally tally = three_iterations().iterations(0);
  EXPECT_EQ(tally.count, 3U);
  EXPECT_EQ(tally.minimum, 2);
  EXPECT_EQ(tally.maximum, 5);
  EXPECT_DOUBLE_EQ(tally.mean(), 11.0 / 3);
}

TEST(Record, ACollectiveLastsFromTheDerivative) {
  const Tally tally = three_iterations().collectives(0);
  EXPECT_EQ(tally.count, 3U);
  EXPECT_EQ(tally.minimum, 1);
  EXPECT_EQ(tally.maximum, 3);
  EXPECT_DOUBLE_EQ(tally.mean(), 7.0 / 3);
}

TEST(Record, SkippedIterationsDoNotCount) {
  const Tally tally = three_iterations().iterations(2);
  EXPECT_EQ(tally.count, 1U);
  EXPECT_EQ(tally.minimum, 5);
  EXPECT_EQ(tally.maximum, 5);
}

Outcome good_outcome() {
  Outcome outcome;
  outcome.nodes = 3;
  outcome.method = "tasks";
  outcome.iteration = three_iterations().iterations(0);
  outcome.collective = three_iterations().collectives(0);
  outcome.result = 0.5;
  outcome.nodes_agree = true;
  return outcome;
}

TEST(Report, JsonIsOneLineInSeconds) {
  Outcome outcome = good_outcome();
  outcome.simulated = true;
  outcome.agrees_with_serial = true;
  const std::string text = to_json(outcome, Options());
  EXPECT_EQ(text.find('\n'), std::string::npos);
  const auto object = nlohmann::json::parse(text);
  EXPECT_EQ(object["method"], "tasks");
  EXPECT_EQ(object["nodes"], 3);
  EXPECT_EQ(object["points"], 1000);
  EXPECT_EQ(object["samples"], 3);
  EXPECT_EQ(object["iteration_seconds_max"], 5);
  EXPECT_EQ(object["collective_seconds_min"], 1);
  EXPECT_EQ(object["agrees_with_serial"], true);
  EXPECT_EQ(object["point_cost_seconds"], 10e-9);
}

TEST(Report, WhatWasNotLookedAtIsNotInTheJson) {
  const auto object = nlohmann::json::parse(to_json(good_outcome(), Options()));
  EXPECT_FALSE(object.contains("agrees_with_serial"));
  EXPECT_FALSE(object.contains("point_cost_seconds"));
}

TEST(Report, SaysWhatIsWrong) {
  Outcome outcome = good_outcome();
  EXPECT_TRUE(outcome.correct());
  EXPECT_EQ(describe(outcome, Options()).find("WRONG"), std::string::npos);
  outcome.agrees_with_serial = false;
  EXPECT_FALSE(outcome.correct());
  EXPECT_NE(describe(outcome, Options()).find("WRONG: the sums are not"), std::string::npos);
  outcome.agrees_with_serial = true;
  outcome.nodes_agree = false;
  EXPECT_FALSE(outcome.correct());
  EXPECT_NE(describe(outcome, Options()).find("WRONG: the shards have got different"), std::string::npos);
}

}  // namespace
}  // namespace stencil_1d
