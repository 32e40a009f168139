// Whatever a CSV file holds: it is complained about, or its parts have the rows that the whole has, all of numbers that
// are in range; and what is split from a line can be put together again.

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "statistics/csv.h"
#include "statistics/share.h"
#include "stretto/base/descriptor.h"
#include "stretto/base/fuzz.h"

namespace {

using namespace statistics;
using stretto::fuzz::require;

std::string quoted(const std::string& field) {
  std::string text = "\"";
  for (const char c : field) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + '"';
}

void split_and_join(std::string_view line) {
  std::vector<std::string> fields;
  split_line(line, fields);
  std::string joined;
  for (const std::string& field : fields) joined += (joined.empty() ? "" : ",") + quoted(field);
  std::vector<std::string> again;
  split_line(joined, again);
  require(again == fields);
}

void require_in_range(double value) {
  const double size = std::abs(value);
  require(std::isnan(value) || size == 0 || (least_value <= size && size <= most_value));
}

// NaNs are alike here.
bool are_alike(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); });
}

void read_file(const Source& source) {
  const Share whole = read_share(source, 0, 1);
  if (whole.complaint) {
    require(!whole.complaint->text.empty());
    return;
  }
  for (const std::vector<double>& column : whole.table.columns) {
    require(column.size() == whole.table.rows());
    std::for_each(column.begin(), column.end(), require_in_range);
  }
  constexpr std::uint32_t parts = 3;
  std::vector<std::vector<double>> columns(whole.table.columns.size());
  std::uint64_t lines = 0;
  for (std::uint32_t part = 0; part < parts; ++part) {
    const Share share = read_share(source, part, parts);
    require(!share.complaint && share.table.columns.size() == columns.size());
    for (std::size_t i = 0; i < columns.size(); ++i) {
      columns[i].insert(columns[i].end(), share.table.columns[i].begin(), share.table.columns[i].end());
    }
    lines += share.lines;
  }
  require(lines == whole.lines);
  for (std::size_t i = 0; i < columns.size(); ++i) require(are_alike(columns[i], whole.table.columns[i]));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const stretto::Descriptor file(memfd_create("fuzz.csv", MFD_CLOEXEC));
  stretto::fuzz::Input input(bytes, size);
  Source source;
  source.file = "/proc/self/fd/" + std::to_string(file.number());
  source.header = static_cast<Header>(input.below(3));
  if (input.below(4) == 0) source.columns = "b,1";
  const bool from_scratch = input.below(4) == 0;
  const std::string text = from_scratch
                               ? std::string(input.text())
                               : input.edited("a,b,\"c, d\"\r\n1,-2.5,x\n\n+3,NA,\"\"\"y\"\"\"\n 9e69 ,1e-70,\n");
  stretto::fuzz::takes([&] { split_and_join(text.substr(0, text.find('\n'))); });
  require(ftruncate(file.number(), 0) == 0);
  require(pwrite(file.number(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
  read_file(source);
  return 0;
}
