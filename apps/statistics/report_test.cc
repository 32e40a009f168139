#include "statistics/report.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "statistics/test_support.h"

namespace statistics {
namespace {

Outcome some_outcome() {
  Table table;
  table.columns = {{1, 2, 3, 4, 10}, {missing, missing, missing, missing, missing}};
  Outcome outcome;
  outcome.nodes = 3;
  outcome.names = {"a", "b"};
  outcome.rows = 5;
  outcome.findings.model = Model({Moments::of(table.columns[0]), Moments::of(table.columns[1])}, co_moments(table));
  outcome.findings.counts = {4, 1, 0, 0};
  outcome.findings.deviations = {{5, 1, 1.75}, {}, {}};
  outcome.timings = {{Method::native, {1, 3, 8, 4}}};
  outcome.nodes_agree = true;
  return outcome;
}

Options some_options() {
  Options options;
  options.source.file = "f.csv";
  options.bins = 2;
  return options;
}

TEST(Report, JsonIsOneLine) {
  const std::string text = to_json(some_outcome(), some_options());
  EXPECT_EQ(text.find('\n'), std::string::npos);
  const auto object = nlohmann::json::parse(text);
  EXPECT_EQ(object["rows"], 5);
  EXPECT_EQ(object["columns"][0]["mean"], 4);
  EXPECT_DOUBLE_EQ(object["columns"][0]["variance"], 12.5);
  EXPECT_EQ(object["columns"][0]["histogram"]["counts"], (std::vector<int>{4, 1}));
  EXPECT_EQ(object["columns"][0]["histogram"]["high"], 10);
  EXPECT_EQ(object["columns"][0]["deviations"]["outliers"], 1);
  EXPECT_EQ(object["methods"][0]["method"], "native");
  EXPECT_EQ(object["methods"][0]["collective_seconds_mean"], 2);
  EXPECT_EQ(object["nodes_agree"], true);
  EXPECT_FALSE(object.contains("methods_difference"));
}

TEST(Report, WhatIsNotDefinedIsNull) {
  const auto object = nlohmann::json::parse(to_json(some_outcome(), some_options()));
  for (const char* const key : {"minimum", "mean", "variance", "skewness", "kurtosis", "histogram"}) {
    EXPECT_TRUE(object["columns"][1][key].is_null()) << key;
  }
  EXPECT_EQ(object["columns"][1]["missing"], 5);
  EXPECT_TRUE(object["covariance"][0][1].is_null());
  EXPECT_TRUE(object["mahalanobis"].is_null());
}

TEST(Report, ANameThatIsNoUtf8IsNoError) {
  Outcome outcome = some_outcome();
  outcome.names[0] = "caf\xe9";
  EXPECT_EQ(nlohmann::json::parse(to_json(outcome, some_options()))["columns"][0]["name"], "caf\xEF\xBF\xBD");
}

TEST(Report, SaysWhatIsWrong) {
  Outcome outcome = some_outcome();
  EXPECT_TRUE(outcome.correct());
  EXPECT_EQ(describe(outcome, some_options()).find("WRONG"), std::string::npos);
  outcome.methods_difference = 1e-3;
  EXPECT_FALSE(outcome.correct());
  EXPECT_NE(describe(outcome, some_options()).find("WRONG: the methods"), std::string::npos);
  outcome.nodes_agree = false;
  EXPECT_NE(describe(outcome, some_options()).find("WRONG: the nodes"), std::string::npos);
}

TEST(Report, LongNamesAndManyColumnsFit) {
  Outcome outcome = some_outcome();
  outcome.names[0] = std::string(3000, 'x');
  Options options = some_options();
  options.source.file = std::string(3000, 'y');
  EXPECT_NE(describe(outcome, options).find("4 1\n"), std::string::npos);
}

TEST(DeviationsCsv, HasAHeaderAndEmptyFields) {
  const std::vector<std::string> names{"a", "b, \"c\""};
  EXPECT_EQ(deviations_csv(names, std::vector<double>{1, -0.5, missing, missing, 2, missing}),
            "a,\"b, \"\"c\"\"\",mahalanobis\n1,-0.5,\n,2,\n");
}

}  // namespace
}  // namespace statistics
