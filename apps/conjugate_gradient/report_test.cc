#include "conjugate_gradient/report.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <string>
#include <variant>
#include <vector>

#include "conjugate_gradient/options.h"
#include "conjugate_gradient/svg_plot.h"
#include "stretto/base/error.h"

namespace conjugate_gradient {
namespace {

Options parse(std::vector<const char*> words) {
  words.insert(words.begin(), "conjugate_gradient");
  return std::get<Options>(parse_options(static_cast<int>(words.size()), words.data()));
}

std::string refusal(const std::vector<const char*>& words) {
  try {
    parse(words);
  } catch (const stretto::Error& error) {
    EXPECT_EQ(error.code(), stretto::ErrorCode::invalid_argument);
    EXPECT_EQ(error.message().find('\n'), std::string::npos);
    return error.message();
  }
  return "accepted";
}

TEST(Options, HaveTheirDefaults) {
  const Options options = parse({"a.mtx"});
  EXPECT_EQ(std::get<std::string>(options.matrix), "a.mtx");
  EXPECT_EQ(options.solver.method, Method::pipelined);
  EXPECT_EQ(options.solver.tolerance, 1e-8);
  EXPECT_EQ(options.solver.max_iterations, 0U);
  EXPECT_TRUE(options.rhs.empty());
  EXPECT_FALSE(options.json);
}

TEST(Options, AreAllRead) {
  const Options options = parse({"--poisson",
                                 "4",
                                 "5",
                                 "6",
                                 "--rhs",
                                 "b.mtx",
                                 "--solution",
                                 "x.mtx",
                                 "--tolerance",
                                 "1e-6",
                                 "--max-iterations",
                                 "77",
                                 "--method",
                                 "classic",
                                 "--json",
                                 "--history",
                                 "h",
                                 "--plot",
                                 "p.svg",
                                 "--compare"});
  EXPECT_EQ(std::get<PoissonGrid>(options.matrix).rows(), 120U);
  EXPECT_EQ(options.rhs, "b.mtx");
  EXPECT_EQ(options.solution, "x.mtx");
  EXPECT_EQ(options.history, "h");
  EXPECT_EQ(options.solver.tolerance, 1e-6);
  EXPECT_EQ(options.solver.max_iterations, 77U);
  EXPECT_EQ(options.solver.method, Method::classic);
  EXPECT_EQ(options.plot, "p.svg");
  EXPECT_TRUE(options.compare);
  EXPECT_TRUE(options.json);
}

TEST(Options, RefuseNonsenseInOneLine) {
  EXPECT_NE(refusal({}).find("name a matrix file"), std::string::npos);
  EXPECT_NE(refusal({"a.mtx", "--poisson", "1", "1", "1"}).find("exclude"), std::string::npos);
  for (const std::vector<const char*>& words : {std::vector<const char*>{"a.mtx", "--tolerance", "0"},
                                                {"a.mtx", "--tolerance", "-1"},
                                                {"a.mtx", "--tolerance", "nan"},
                                                {"a.mtx", "--tolerance", "1"},
                                                {"a.mtx", "--tolerance", "x"},
                                                {"a.mtx", "--max-iterations", "0"},
                                                {"a.mtx", "--max-iterations", "-5"},
                                                {"a.mtx", "--method", "gmres"},
                                                {"a.mtx", "b.mtx"},
                                                {"a.mtx", "--nonsense"},
                                                {"--poisson", "4", "4"},
                                                {"--poisson", "4", "4", "0"},
                                                {"--poisson", "4", "4", "-4"},
                                                {"--poisson", "4", "4", "x"},
                                                {"--poisson", "99999", "99999", "99999"}}) {
    EXPECT_NE(refusal(words), "accepted") << words.back();
  }
}

TEST(Options, ExplainThemselves) {
  const char* words[] = {"conjugate_gradient", "--help"};
  const auto parsed = parse_options(2, words);
  const std::string& text = std::get<Help>(parsed).text;
  for (const char* option : {"MATRIX", "--poisson", "--rhs", "--solution", "--tolerance", "--max-iterations",
                             "--method", "--json", "--history", "--plot", "--compare"}) {
    EXPECT_NE(text.find(option), std::string::npos) << option;
  }
}

Report example() {
  Report report;
  report.problem = "poisson 64 x 64 x 64";
  report.rows = 262144;
  report.nonzeros = 6859000;
  report.nodes = 4;
  report.outcome = {true, false, 92, 9.37e-9, 2};
  report.tolerance = 1e-8;
  report.seconds = 0.46;
  report.reduction_seconds = 0.046;
  return report;
}

TEST(Report, IsOneJsonObjectOnOneLine) {
  const std::string text = json(std::vector{example()});
  EXPECT_EQ(text.find('\n'), std::string::npos);
  const auto object = nlohmann::json::parse(text);
  EXPECT_EQ(object["converged"], true);
  EXPECT_EQ(object["iterations"], 92);
  EXPECT_EQ(object["relative_residual"], 9.37e-9);
  EXPECT_EQ(object["nodes"], 4);
  EXPECT_EQ(object["seconds"], 0.46);
  EXPECT_DOUBLE_EQ(object["seconds_per_iteration"].get<double>(), 0.005);
  EXPECT_DOUBLE_EQ(object["reduction_share"].get<double>(), 0.1);
  EXPECT_EQ(object["method"], "pipelined");
}

TEST(Report, PutsWhatItComparesWithIntoTheSameObject) {
  Report classic = example();
  classic.method = Method::classic;
  const auto alone = nlohmann::json::parse(json(std::vector{example()}));
  EXPECT_FALSE(alone.contains("compared"));
  const auto object = nlohmann::json::parse(json(std::vector{example(), classic}));
  EXPECT_EQ(object["method"], "pipelined");
  ASSERT_EQ(object["compared"].size(), 1U);
  EXPECT_EQ(object["compared"][0]["method"], "classic");
  EXPECT_EQ(object["compared"][0]["iterations"], 92);
}

TEST(Report, SurvivesStrangeNamesAndEmptySolves) {
  Report report;
  report.problem = "bad\xff\nname";
  const auto object = nlohmann::json::parse(json(std::vector{report}));
  EXPECT_EQ(object["seconds_per_iteration"], 0);
  EXPECT_EQ(object["reduction_share"], 0);
  EXPECT_EQ(json(std::vector{report}).find('\n'), std::string::npos);
}

TEST(Report, PutsMethodsSideBySideInATable) {
  Report classic = example();
  classic.method = Method::classic;
  classic.outcome = {false, true, 1234567, 1e-5, 0};
  const std::vector<Report> reports{classic, example()};
  EXPECT_EQ(title(classic), "poisson 64 x 64 x 64: 262,144 rows, 6,859,000 entries, tolerance 1.0e-08");
  EXPECT_EQ(table(reports),
            "method     nodes  iterations  true residual  replacements  seconds  us/iteration  in reductions  result\n"
            "classic        4   1,234,567      1.000e-05             0   0.4600          0.37         10.0 %  "
            "NOT CONVERGED: stagnated\n"
            "pipelined      4          92      9.370e-09             2   0.4600       5000.00         10.0 %  "
            "converged\n");
}

TEST(Progress, SpeaksOfLongRunsOnceASecond) {
  Progress progress(1e-8);
  EXPECT_FALSE(progress.update(10, 1e-1, 1.9));
  const auto line = progress.update(1500, 1e-4, 5.0);
  ASSERT_TRUE(line);
  EXPECT_EQ(*line, "iteration 1,500   relative residual 1.00e-04   5 s so far, about 5 s left");
  EXPECT_FALSE(progress.update(1501, 1e-4, 5.9));
  EXPECT_TRUE(progress.update(1502, 1e-4, 6.0));
}

TEST(Progress, DoesNotGuessWithoutGrounds) {
  Progress progress(1e-8);
  EXPECT_EQ(progress.update(1500, 3, 5.0), "iteration 1,500   relative residual 3.00e+00   5 s so far");
}

TEST(ConvergenceSvg, DrawsAllCurvesAndEscapesText) {
  std::vector<double> many;
  for (int i = 0; i < 100000; ++i) many.push_back(std::pow(10.0, -8.0 * i / 100000));
  const std::vector<Series> series{{"a < b & c", {1, 0.1, 0, -1, std::nan(""), 0.01}}, {"many", many}};
  const std::string svg = convergence_svg(series, {"T & <title>"}, 1e-8);
  EXPECT_NE(svg.find("a &lt; b &amp; c"), std::string::npos);
  EXPECT_NE(svg.find("T &amp; &lt;title&gt;"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
  EXPECT_LT(svg.size(), 100000U) << "thinned";
  std::size_t curves = 0;
  for (std::size_t at = svg.find("<polyline"); at != std::string::npos; at = svg.find("<polyline", at + 1)) ++curves;
  EXPECT_EQ(curves, 2U);
  EXPECT_EQ(convergence_svg({}, {}, 0).find("nan"), std::string::npos);
}

}  // namespace
}  // namespace conjugate_gradient
