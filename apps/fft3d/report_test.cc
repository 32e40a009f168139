#include "fft3d/report.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace fft3d {
namespace {

Outcome good_outcome() {
  Outcome outcome;
  outcome.program = "fft3d";
  outcome.nodes = 3;
  outcome.block_bytes = 8192;
  outcome.runs = {{Overlap::on, {1, 3, 8, 4}, 1e-15, 2e-15}, {Overlap::off, {2, 4, 12, 4}, 1e-15, std::nullopt}};
  return outcome;
}

TEST(Report, JsonIsOneLineInSeconds) {
  const std::string text = to_json(good_outcome(), Options());
  EXPECT_EQ(text.find('\n'), std::string::npos);
  const auto object = nlohmann::json::parse(text);
  EXPECT_EQ(object["n"], (std::vector<int>{64, 64, 64}));
  EXPECT_EQ(object["block_bytes"], 8192);
  EXPECT_EQ(object["runs"][0]["overlap"], "on");
  EXPECT_EQ(object["runs"][0]["forward_seconds_mean"], 2);
  EXPECT_EQ(object["runs"][0]["serial_error"], 2e-15);
  EXPECT_FALSE(object["runs"][1].contains("serial_error"));
  EXPECT_EQ(object["correct"], true);
  EXPECT_FALSE(object.contains("point_cost_seconds"));
}

TEST(Report, SaysWhatIsWrong) {
  Outcome outcome = good_outcome();
  EXPECT_TRUE(outcome.correct());
  EXPECT_EQ(describe(outcome, Options()).find("WRONG"), std::string::npos);
  outcome.runs[0].serial_error = 1e-3;
  EXPECT_FALSE(outcome.correct());
  EXPECT_NE(describe(outcome, Options()).find("WRONG"), std::string::npos);
  outcome.runs[0].serial_error = std::nullopt;
  outcome.runs[1].round_trip_error = 1e-3;
  EXPECT_FALSE(outcome.correct());
}

}  // namespace
}  // namespace fft3d
