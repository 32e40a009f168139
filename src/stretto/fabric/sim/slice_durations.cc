#include "stretto/fabric/sim/slice_durations.h"

#include <charconv>
#include <optional>

#include "stretto/base/error.h"

namespace stretto::fabric {

namespace {

constexpr std::string_view format_name = "stretto-slice-durations";
constexpr std::string_view format_version = "1";

// A number written as to_text writes it: digits, nothing else.
std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

class Reader {
 public:
  Reader(std::string_view text, const std::string& name) : rest_(text), name_(name) {}

  SliceDurations read(std::uint32_t nodes) {
    read_format();
    read_nodes(nodes);
    SliceDurations durations(nodes);
    for (std::uint32_t node = 0; node < nodes; ++node) read_node(node, durations[node]);
    if (next_line() != "end") refuse("this should be the line \"end\"");
    if (!rest_.empty()) refuse_next("nothing may follow the line \"end\"");
    return durations;
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(ErrorCode::bad_input,
                name_ + ", line " + std::to_string(line_) + ": " + what + "; make the file again with record=FILE");
  }

  [[noreturn]] void refuse_next(const std::string& what) {
    ++line_;
    refuse(what);
  }

  // Every line has its end: a last one without is what a truncated file has.
  std::string_view next_line() {
    const std::size_t end = rest_.find('\n');
    if (end == std::string_view::npos) refuse_next("the file ends before its line \"end\": it is truncated");
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    ++line_;
    return line;
  }

  void read_format() {
    if (!rest_.starts_with(format_name)) refuse_next("this is not a recording of task durations");
    const std::string_view version = next_line().substr(format_name.size());
    if (version != " " + std::string(format_version)) {
      refuse("the format's version is \"" + std::string(version.substr(0, 20)) + "\", but this program reads " +
             std::string(format_version));
    }
  }

  // The number between `before` and the end of the next line.
  std::uint64_t read_number(const std::string& before, const char* what) {
    const std::string_view line = next_line();
    const auto number = line.starts_with(before) ? number_of(line.substr(before.size())) : std::nullopt;
    if (!number) refuse("\"" + std::string(line.substr(0, 40)) + "\" is not " + what);
    return *number;
  }

  void read_nodes(std::uint32_t nodes) {
    const std::uint64_t recorded = read_number("nodes ", "\"nodes\" and their number");
    if (recorded == nodes) return;
    refuse("recorded on " + std::to_string(recorded) + " nodes, but this job has " + std::to_string(nodes) +
           " (a job of sim:" + std::to_string(recorded) + " may replay it)");
  }

  void read_node(std::uint32_t node, std::vector<std::int64_t>& durations) {
    const std::string before = "node " + std::to_string(node) + " slices ";
    const std::uint64_t slices = read_number(before, ("\"" + before + "\" and their number").c_str());
    for (std::uint64_t slice = 0; slice < slices; ++slice) {
      const std::uint64_t nanoseconds = read_number("", "a duration in whole nanoseconds");
      if (nanoseconds > static_cast<std::uint64_t>(most_slice_nanoseconds - sum_)) {
        refuse("with this duration of " + std::to_string(nanoseconds) + " ns the slices take more than " +
               std::to_string(most_slice_nanoseconds) + " ns together");
      }
      sum_ += static_cast<std::int64_t>(nanoseconds);
      durations.push_back(static_cast<std::int64_t>(nanoseconds));
    }
  }

  std::string_view rest_;
  const std::string& name_;
  std::uint64_t line_ = 0;
  std::int64_t sum_ = 0;
};

}  // namespace

std::string to_text(const SliceDurations& durations) {
  std::string text = std::string(format_name) + " " + std::string(format_version) + "\n";
  text += "nodes " + std::to_string(durations.size()) + "\n";
  for (std::size_t node = 0; node < durations.size(); ++node) {
    text += "node " + std::to_string(node) + " slices " + std::to_string(durations[node].size()) + "\n";
    for (const std::int64_t nanoseconds : durations[node]) text += std::to_string(nanoseconds) + "\n";
  }
  return text + "end\n";
}

SliceDurations parse_slice_durations(std::string_view text, std::uint32_t nodes, const std::string& name) {
  return Reader(text, name).read(nodes);
}

}  // namespace stretto::fabric
