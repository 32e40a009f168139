#include "statistics/share.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string_view>
#include <system_error>

#include "statistics/csv.h"
#include "stretto/base/error.h"
#include "stretto/base/shown.h"

namespace statistics {
namespace {

using stretto::Error;
using stretto::ErrorCode;
using stretto::shown;

constexpr std::size_t most_line_bytes = 65'536;
constexpr std::size_t most_columns = 256;
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorCode::bad_input, message); }

/// Hands out lines without their ends, LF or CR LF, and knows where in the file it is.
class LineReader {
 public:
  LineReader(std::istream& in, std::uint64_t position) : in_(in), position_(position), buffer_(most_line_bytes) {}

  /// False at the end of the file. The line lives until the next call.
  bool next(std::string_view& line) {
    in_.getline(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
    auto length = static_cast<std::size_t>(in_.gcount());
    if (in_.bad()) refuse("reading failed");
    if (length == 0) return false;
    ++lines_;
    position_ += length;
    if (in_.fail()) refuse("the line is longer than " + std::to_string(most_line_bytes - 1) + " bytes");
    if (!in_.eof()) --length;  // the line feed counts
    line = std::string_view(buffer_.data(), length);
    if (line.ends_with('\r')) line.remove_suffix(1);
    return true;
  }
  bool next_not_blank(std::string_view& line) {
    while (next(line)) {
      if (!is_blank(line)) return true;
    }
    return false;
  }
  static bool is_blank(std::string_view line) { return line.find_first_not_of(" \t") == std::string_view::npos; }

  /// Where the line begins that comes next.
  std::uint64_t position() const { return position_; }
  std::uint64_t lines() const { return lines_; }

 private:
  std::istream& in_;
  std::uint64_t position_;
  std::uint64_t lines_ = 0;
  std::vector<char> buffer_;
};

std::ifstream open(const std::string& file) {
  std::error_code problem;
  if (!std::filesystem::exists(file, problem)) refuse(file + " is not there, or may not be looked for");
  if (!std::filesystem::is_regular_file(file, problem)) refuse(file + " is no regular file; name a CSV file");
  std::ifstream in(file, std::ios::binary);
  if (!in) refuse(file + " cannot be opened for reading");
  return in;
}

bool is_header(const std::vector<std::string>& fields, Header wanted) {
  if (wanted != Header::automatic) return wanted == Header::yes;
  const auto is = [](FieldKind kind) {
    return [kind](const std::string& field) { return parse_field(field).kind == kind; };
  };
  return std::any_of(fields.begin(), fields.end(), is(FieldKind::text)) &&
         std::none_of(fields.begin(), fields.end(), is(FieldKind::number));
}

/// The place of a column that was asked for by name or number, among all.
std::size_t find_column(const std::string& wanted, const std::vector<std::string>& names, const std::string& file) {
  const auto found = std::find(names.begin(), names.end(), wanted);
  if (found == names.end()) {
    const Field number = parse_field(wanted);
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (number.kind == FieldKind::number && number.value == static_cast<double>(i + 1)) return i;
    }
    refuse("--columns: " + file + " has no column " + shown(wanted) + ", and " + std::to_string(names.size()) +
           (names.size() == 1 ? " column" : " columns") + " in all");
  }
  if (std::find(found + 1, names.end(), wanted) != names.end()) {
    refuse("--columns: " + shown(wanted) + " is the name of several columns of " + file + "; take their numbers");
  }
  return static_cast<std::size_t>(found - names.begin());
}

std::vector<std::size_t> chosen_columns(const Source& source, const std::vector<std::string>& names,
                                        const std::vector<std::string>& first_row) {
  std::vector<std::size_t> chosen;
  if (source.columns.empty()) {
    for (std::size_t i = 0; i < first_row.size(); ++i) {
      if (parse_field(first_row[i]).kind != FieldKind::text) chosen.push_back(i);
    }
    if (chosen.empty()) refuse(source.file + " has no column of numbers: its first row holds none");
  } else {
    std::vector<std::string> wanted;
    split_line(source.columns, wanted);
    for (const std::string& each : wanted) {
      const std::size_t column = find_column(each, names, source.file);
      if (std::find(chosen.begin(), chosen.end(), column) != chosen.end()) {
        refuse("--columns names column " + shown(each) + " twice");
      }
      chosen.push_back(column);
    }
  }
  if (chosen.size() > most_columns) {
    refuse(source.file + ": " + std::to_string(chosen.size()) + " columns are more than the " +
           std::to_string(most_columns) + " that are read at once; choose some with --columns");
  }
  return chosen;
}

std::string other_width(std::size_t is, std::size_t should_be) {
  return std::to_string(is) + (is == 1 ? " field" : " fields") + ", not " + std::to_string(should_be) +
         " as in the first line";
}

/// The next line's fields. What is wrong with the line is told with its place.
std::vector<std::string> next_fields(LineReader& lines, const Source& source, const std::string& if_there_is_none) {
  std::vector<std::string> fields;
  try {
    std::string_view line;
    if (!lines.next_not_blank(line)) refuse(if_there_is_none);
    split_line(line, fields);
    return fields;
  } catch (const Error& problem) {
    refuse(source.file + ":" + std::to_string(std::max<std::uint64_t>(lines.lines(), 1)) + ": " + problem.message());
  }
}

std::uint64_t length_of_mark(std::istream& in) {
  std::string mark(byte_order_mark.size(), '\0');
  in.read(mark.data(), static_cast<std::streamsize>(mark.size()));
  in.clear();
  return mark == byte_order_mark ? mark.size() : 0;
}

Layout read_layout(std::istream& in, const Source& source) {
  Layout layout;
  layout.begin = length_of_mark(in);
  in.seekg(static_cast<std::streamoff>(layout.begin));
  LineReader lines(in, layout.begin);
  std::vector<std::string> names = next_fields(lines, source, "the file is empty");
  std::vector<std::string> first_row = names;
  layout.fields = names.size();
  if (is_header(names, source.header)) {
    layout.begin = lines.position();
    layout.lines_before = lines.lines();
    first_row = next_fields(lines, source, "no row follows the header");
  } else {
    for (std::size_t i = 0; i < names.size(); ++i) names[i] = std::to_string(i + 1);
  }
  // Where the first row has another width, it is complained about when it is read.
  first_row.resize(layout.fields);
  layout.chosen = chosen_columns(source, names, first_row);
  for (const std::size_t column : layout.chosen) layout.names.push_back(names[column]);
  return layout;
}

/// Adds one line to the table's columns.
void take_row(const std::vector<std::string>& fields, const Layout& layout, Table& table) {
  if (fields.size() != layout.fields) refuse(other_width(fields.size(), layout.fields));
  for (std::size_t i = 0; i < layout.chosen.size(); ++i) {
    const std::string& text = fields[layout.chosen[i]];
    const Field field = parse_field(text);
    const auto column = [&] { return "column " + shown(layout.names[i]) + ": " + shown(text); };
    switch (field.kind) {
      case FieldKind::number: table.columns[i].push_back(field.value); break;
      case FieldKind::missing: table.columns[i].push_back(std::numeric_limits<double>::quiet_NaN()); break;
      case FieldKind::text: refuse(column() + " is not a number; --columns chooses others"); break;
      case FieldKind::out_of_range: refuse(column() + " is beyond 1e70, or nearer to 0 than 1e-70"); break;
    }
  }
}

void read_rows(std::istream& in, std::uint32_t part, std::uint32_t parts, Share& share) {
  const std::uint64_t begin = share.layout.begin;
  const auto border = [&](std::uint64_t index) { return begin + (share.file_bytes - begin) * index / parts; };
  std::uint64_t position = border(part);
  in.clear();
  if (position > begin) {
    // The line that reaches over the border, or ends at it, belongs to a part before.
    in.seekg(static_cast<std::streamoff>(--position));
    in.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
    position += static_cast<std::uint64_t>(in.gcount());
  } else {
    in.seekg(static_cast<std::streamoff>(position));
  }
  LineReader reader(in, position);
  std::string_view line;
  std::vector<std::string> fields;
  try {
    while (reader.position() < border(part + 1) && reader.next(line)) {
      if (LineReader::is_blank(line)) continue;
      split_line(line, fields);
      take_row(fields, share.layout, share.table);
    }
  } catch (const Error& problem) {
    share.complaint = {problem.message(), reader.lines()};
  }
  share.lines = reader.lines();
}

}  // namespace

Share read_share(const Source& source, std::uint32_t part, std::uint32_t parts) {
  Share share;
  try {
    std::ifstream in = open(source.file);
    share.file_bytes = std::filesystem::file_size(source.file);
    share.layout = read_layout(in, source);
    share.table.columns.resize(share.layout.chosen.size());
    read_rows(in, part, parts, share);
  } catch (const Error& problem) {
    share.complaint = {problem.message()};
  } catch (const std::exception& problem) {
    share.complaint = {source.file + ": " + problem.what()};
  }
  return share;
}

}  // namespace statistics
