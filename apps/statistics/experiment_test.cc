#include "statistics/experiment.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "statistics/histogram.h"
#include "statistics/test_support.h"
#include "stretto/base/error.h"

namespace statistics {
namespace {

/// All statistics of a table, computed by one thread with textbook formulas in long double, without this folder's code.
struct Reference {
  explicit Reference(const Table& whole) : table(whole) {
    for (const std::vector<double>& column : table.columns) {
      long double sum = 0;
      std::uint64_t count = 0;
      for (const double value : column) {
        if (!std::isnan(value)) sum += value, ++count;
      }
      counts.push_back(count);
      means.push_back(sum / static_cast<long double>(count));
    }
  }

  long double central(std::size_t column, int power) const {
    long double sum = 0;
    for (const double value : table.columns[column]) {
      if (!std::isnan(value)) sum += std::pow(value - means[column], static_cast<long double>(power));
    }
    return sum;
  }
  long double deviation(std::size_t column) const {
    return std::sqrt(central(column, 2) / static_cast<long double>(counts[column] - 1));
  }
  std::uint64_t beyond(std::size_t column, double threshold) const {
    std::uint64_t count = 0;
    for (const double value : table.columns[column]) {
      count += std::abs(value - means[column]) / deviation(column) > threshold ? 1U : 0U;
    }
    return count;
  }
  long double covariance(std::size_t x, std::size_t y) const {
    long double sum_x = 0, sum_y = 0, sum = 0;
    std::uint64_t rows = 0;
    for (std::size_t row = 0; row < table.rows(); ++row) {
      if (table.is_complete(row)) sum_x += table.columns[x][row], sum_y += table.columns[y][row], ++rows;
    }
    const long double mean_x = sum_x / static_cast<long double>(rows), mean_y = sum_y / static_cast<long double>(rows);
    for (std::size_t row = 0; row < table.rows(); ++row) {
      if (table.is_complete(row)) sum += (table.columns[x][row] - mean_x) * (table.columns[y][row] - mean_y);
    }
    return sum / static_cast<long double>(rows - 1);
  }

  Table table;
  std::vector<std::uint64_t> counts;
  std::vector<long double> means;
};

constexpr std::size_t rows = 150;

Options options_for(const TemporaryFile& file, std::vector<Method> methods) {
  Options options;
  options.source.file = file.path();
  options.methods = std::move(methods);
  options.repeat = 2;
  options.threshold = 1.5;
  options.bins = 7;
  return options;
}

void expect_near(double is, long double should_be) {
  EXPECT_NEAR(is, static_cast<double>(should_be), 1e-12 * std::abs(static_cast<double>(should_be)));
}

void expect_right(const Outcome& outcome, const Reference& reference, const Options& options) {
  const Model& model = outcome.findings.model;
  ASSERT_EQ(model.columns.size(), 3U);
  EXPECT_EQ(outcome.rows, rows);
  EXPECT_TRUE(outcome.correct());
  for (std::size_t i = 0; i < 3; ++i) {
    const Moments& column = model.columns[i];
    EXPECT_EQ(column.count, reference.counts[i]);
    expect_near(column.mean, reference.means[i]);
    expect_near(column.m2, reference.central(i, 2));
    EXPECT_NEAR(column.m3, static_cast<double>(reference.central(i, 3)), 1e-12 * std::pow(column.m2, 1.5));
    expect_near(column.m4, reference.central(i, 4));
    EXPECT_EQ(outcome.findings.deviations[i].outliers, reference.beyond(i, options.threshold));
    for (std::size_t j = 0; j < 3; ++j) expect_near(*model.covariance.covariance(i, j), reference.covariance(i, j));
    std::vector<std::uint64_t> counts(options.bins);
    count_values(reference.table.columns[i], Bins(column.minimum, column.maximum, options.bins), counts);
    const auto found = outcome.findings.histogram(i);
    EXPECT_EQ(std::vector<std::uint64_t>(found.begin(), found.end()), counts);
  }
}

class EveryMethod : public testing::TestWithParam<Method> {
 protected:
  EveryMethod() : table_(some_table(rows)), file_(csv_of(table_)), options_(options_for(file_, {GetParam()})) {}

  Table table_;
  TemporaryFile file_;
  Options options_;
};

TEST_P(EveryMethod, FindsWhatASerialComputationFinds) {
  const Reference reference(table_);
  for (const int nodes : {1, 2, 3, 7, 16}) {
    for (const char* const fabric : {"local:", "sim:"}) {
      const NodeResult result = run_on(fabric + std::to_string(nodes), options_).result;
      EXPECT_EQ(result.outcome.nodes, static_cast<std::uint32_t>(nodes));
      EXPECT_EQ(result.outcome.timings.at(0).seconds.count, static_cast<std::uint64_t>(nodes) * 2);
      expect_right(result.outcome, reference, options_);
    }
  }
}

// More nodes than rows, and than bytes.
TEST_P(EveryMethod, NodesWithoutARowTakePart) {
  const TemporaryFile file("a\n1\n2\n4\n");
  for (const char* const fabric : {"local:16", "sim:40"}) {
    const Outcome outcome = run_on(fabric, options_for(file, {GetParam()})).result.outcome;
    EXPECT_TRUE(outcome.correct());
    EXPECT_EQ(outcome.findings.model.columns.at(0).count, 3U);
    EXPECT_DOUBLE_EQ(outcome.findings.model.columns[0].mean, 7.0 / 3);
  }
}

TEST_P(EveryMethod, AColumnWithoutValuesHasNoStatistics) {
  const TemporaryFile file("a,b\n1,\n2,NA\n");
  const Outcome outcome = run_on("local:3", options_for(file, {GetParam()})).result.outcome;
  EXPECT_TRUE(outcome.correct());
  EXPECT_EQ(outcome.findings.model.columns.at(1).count, 0U);
  EXPECT_EQ(outcome.findings.model.covariance.rows(), 0U);
  EXPECT_FALSE(outcome.findings.model.covariance.is_regular());
}

TEST_P(EveryMethod, DeviationsAreGatheredInTheOrderOfTheFile) {
  options_.deviations = "wanted";
  const Reference reference(table_);
  for (const char* const fabric : {"local:1", "local:7", "sim:5"}) {
    const NodeResult result = run_on(fabric, options_).result;
    ASSERT_EQ(result.deviations.size(), rows * 4);
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t i = 0; i < 3; ++i) {
        const long double expected = (table_.columns[i][row] - reference.means[i]) / reference.deviation(i);
        EXPECT_EQ(std::isnan(result.deviations[row * 4 + i]), std::isnan(expected));
        if (std::isnan(expected)) continue;
        EXPECT_NEAR(result.deviations[row * 4 + i], static_cast<double>(expected), 1e-10);
      }
      EXPECT_EQ(std::isnan(result.deviations[row * 4 + 3]), !table_.is_complete(row));
    }
  }
}

TEST_P(EveryMethod, IsTheSameInEveryRunOfASeed) {
  const std::string fabric = "sim:5,jitter=2us,task=1us,seed=9";
  const Outcome first = run_on(fabric, options_).result.outcome;
  const Outcome second = run_on(fabric, options_).result.outcome;
  EXPECT_EQ(first.timings.at(0).seconds.sum, second.timings.at(0).seconds.sum);
  EXPECT_EQ(digest(first.findings), digest(second.findings));
}

TEST(Digest, IsOfTheCovariancesToo) {
  const Table table = some_table(rows);
  const std::vector<CoMoment> pairs = co_moments(table);
  const auto digest_of = [&](const std::vector<CoMoment>& of_pairs) {
    Findings findings;
    findings.model = Model(std::vector<Moments>(table.columns.size()), of_pairs);
    return digest(findings);
  };
  const std::uint64_t same = digest_of(pairs);
  EXPECT_EQ(digest_of(pairs), same);
  for (const auto& change : std::vector<void (*)(std::vector<CoMoment>&)>{[](auto& changed) { ++changed[0].count; },
                                                                          [](auto& changed) { changed[0].mean_x += 1; },
                                                                          [](auto& changed) { changed[1].sum += 1; }}) {
    std::vector<CoMoment> changed = pairs;
    change(changed);
    EXPECT_NE(digest_of(changed), same);
  }
}

TEST_P(EveryMethod, AFaultInTheFileStopsAllNodes) {
  std::string text = csv_of(table_);
  text += "1,2,three\n1,2\n";
  const TemporaryFile file(text);
  for (const char* const fabric : {"local:1", "local:3", "local:16", "sim:7"}) {
    EXPECT_EQ(run_on(fabric, options_for(file, {GetParam()})).complaint,
              file.path() + ":152: column \"c\": \"three\" is not a number; --columns chooses others");
  }
}

TEST_P(EveryMethod, ALostNodeEndsTheRunWithItsName) {
  for (const char* const kill : {"2@30us", "0@35us", "4#30", "0#20"}) {
    try {
      run_on(std::string("sim:5,task=1us,kill=") + kill, options_);
      FAIL() << "node lost at " << kill << " was not missed";
    } catch (const stretto::Error& error) {
      EXPECT_EQ(error.code(), stretto::ErrorCode::peer_lost) << kill << ": " << error.what();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryMethod, testing::Values(Method::native, Method::aggregate),
                         [](const auto& each) { return std::string(name_of(each.param)); });

TEST(BothMethods, DifferByRoundingOnly) {
  const Table table = some_table(rows);
  const TemporaryFile file(csv_of(table));
  for (const char* const fabric : {"local:7", "sim:16"}) {
    const Outcome outcome = run_on(fabric, options_for(file, {Method::native, Method::aggregate})).result.outcome;
    ASSERT_EQ(outcome.timings.size(), 2U);
    EXPECT_EQ(outcome.timings[1].method, Method::aggregate);
    EXPECT_LT(outcome.methods_difference, 1e-13);
    EXPECT_TRUE(outcome.correct());
  }
}

// Figure 8's finding: aggregation costs the number of nodes, an all-reduce its logarithm.
TEST(BothMethods, AggregationIsSlowerAtManyNodes) {
  const TemporaryFile file(csv_of(some_table(rows)));
  const std::string titan = ",latency=1.5us,overhead=0.5us,gap=0.5us,bandwidth=5GB/s,task=1us";
  std::map<int, std::vector<double>> seconds;
  for (const int nodes : {16, 128}) {
    const Outcome outcome =
        run_on("sim:" + std::to_string(nodes) + titan, options_for(file, {Method::native, Method::aggregate}))
            .result.outcome;
    for (const Timing& timing : outcome.timings) seconds[nodes].push_back(timing.seconds.mean());
  }
  EXPECT_LT(seconds[128][0], 3 * seconds[16][0]);
  EXPECT_GT(seconds[128][1], 3 * seconds[16][1]);
  EXPECT_GT(seconds[128][1], 1.5 * seconds[128][0]);
}

Findings findings_of(const Table& table) {
  Findings findings;
  std::vector<Moments> moments;
  for (const std::vector<double>& column : table.columns) moments.push_back(Moments::of(column));
  findings.model = Model(moments, co_moments(table));
  return findings;
}

TEST(Difference, SeesALostRowAndAWrongMoment) {
  const Table table = some_table(1000);
  const Findings findings = findings_of(table);
  EXPECT_EQ(difference(findings, findings), 0);
  EXPECT_TRUE(std::isinf(difference(findings, findings_of(rows_of(table, 1, 1000)))));
  for (double Moments::* const moment : {&Moments::mean, &Moments::m2, &Moments::m3, &Moments::m4}) {
    Findings wrong = findings;
    wrong.model.columns[1].*moment *= 1.001;
    EXPECT_GT(difference(findings, wrong), 1e-6);
    wrong.model.columns[1].*moment = std::nan("");
    EXPECT_TRUE(std::isinf(difference(findings, wrong)));
  }
}

}  // namespace
}  // namespace statistics
