#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <limits>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "statistics/experiment.h"
#include "stretto/base/random.h"
#include "stretto/program/test_support.h"

// What several tests of this folder need.

namespace statistics {

/// For messages of tests.
inline void PrintTo(Method method, std::ostream* out) { *out << name_of(method); }

inline constexpr double missing = std::numeric_limits<double>::quiet_NaN();

/// A file that is gone with its object.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view text) {
    static std::atomic<int> count{0};
    path_ = testing::TempDir() + "statistics_" + std::to_string(getpid()) + "_" + std::to_string(++count) + ".csv";
    std::ofstream(path_, std::ios::binary) << text;
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// A column of numbers that are neither symmetric nor around zero.
inline std::vector<double> some_numbers(std::size_t count, std::uint64_t seed) {
  stretto::Random random(seed);
  std::vector<double> numbers;
  for (std::size_t i = 0; i < count; ++i) {
    const double uniform = random.unit();
    numbers.push_back(5 + uniform * uniform * 3);
  }
  return numbers;
}

/// Three columns; the second depends on the first, and the third has gaps.
inline Table some_table(std::size_t rows) {
  Table table;
  table.columns = {some_numbers(rows, 1), some_numbers(rows, 2), some_numbers(rows, 3)};
  for (std::size_t row = 0; row < rows; ++row) {
    table.columns[1][row] -= 2 * table.columns[0][row];
    if (row % 7 == 3) table.columns[2][row] = missing;
  }
  return table;
}

inline std::string csv_of(const Table& table) {
  std::string text = "a,b,c\n";
  for (std::size_t row = 0; row < table.rows(); ++row) {
    for (std::size_t column = 0; column < table.columns.size(); ++column) {
      char number[32];
      std::snprintf(number, sizeof number, "%.17g", table.columns[column][row]);
      text += (column > 0 ? "," : "") + (std::isnan(table.columns[column][row]) ? std::string() : number);
    }
    text += "\n";
  }
  return text;
}

inline Table rows_of(const Table& table, std::size_t begin, std::size_t end) {
  Table part;
  for (const std::vector<double>& column : table.columns) {
    part.columns.emplace_back(column.begin() + static_cast<std::ptrdiff_t>(begin),
                              column.begin() + static_cast<std::ptrdiff_t>(end));
  }
  return part;
}

/// What node 0 has at the end, or the complaint that it got.
struct RunOn {
  NodeResult result;
  std::string complaint;
};
/// Runs the application on a fabric, in this process.
inline RunOn run_on(const std::string& fabric, const Options& options) {
  return stretto::program::test::result_on<RunOn>(fabric, [&](stretto::Node& node) -> stretto::Task<RunOn> {
    const Share share = read_share(options.source, node.id(), node.size());
    const Agreement agreement = co_await agree(node, options.source, share);
    RunOn run;
    if (agreement.complaint) {
      run.complaint = *agreement.complaint;
    } else {
      run.result = co_await run_experiment(node, options, share, agreement);
    }
    co_return run;
  });
}

}  // namespace statistics
