#include "conjugate_gradient/matrix_market.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <utility>

#include "conjugate_gradient/line_reader.h"
#include "stretto/base/error.h"
#include "stretto/base/shown.h"

namespace conjugate_gradient {
namespace {

using stretto::Error;
using stretto::ErrorCode;
using stretto::shown;

constexpr std::uint64_t largest_dimension = std::numeric_limits<std::uint32_t>::max();

enum class Format : std::uint8_t { coordinate, array };
enum class Field : std::uint8_t { real, integer, pattern };

struct Header {
  Format format = Format::coordinate;
  Field field = Field::real;
  bool symmetric = false;
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::uint64_t entries = 0;  ///< lines that must follow
  std::size_t size_line = 0;
};

std::string lower(std::string_view word) {
  std::string result(word);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

Format parse_format(const LineReader& reader, std::string_view word) {
  const std::string name = lower(word);
  if (name == "coordinate") return Format::coordinate;
  if (name == "array") return Format::array;
  reader.fail_here("the format " + shown(word) + " is unknown; it must be coordinate or array");
}

Field parse_field(const LineReader& reader, std::string_view word, Format format) {
  const std::string name = lower(word);
  if (name == "real" || name == "double") return Field::real;
  if (name == "integer") return Field::integer;
  if (name == "complex") reader.fail_here("complex matrices are not supported; the entries must be real");
  if (name != "pattern") {
    reader.fail_here("the field " + shown(word) + " is unknown; it must be real, integer or pattern");
  }
  if (format == Format::array) reader.fail_here("an array cannot have the field pattern: it would hold no values");
  return Field::pattern;
}

bool parse_symmetry(const LineReader& reader, std::string_view word) {
  const std::string name = lower(word);
  if (name == "general") return false;
  if (name == "symmetric") return true;
  if (name == "skew-symmetric") {
    reader.fail_here(
        "skew-symmetric matrices are not supported: conjugate gradients need a symmetric positive "
        "definite matrix");
  }
  if (name == "hermitian") reader.fail_here("hermitian matrices are not supported; the entries must be real");
  reader.fail_here("the symmetry " + shown(word) + " is unknown; it must be general or symmetric");
}

std::uint64_t take_count(const LineReader& reader, std::string_view& line, const char* what) {
  const std::string_view word = take_word(line);
  if (word.empty()) reader.fail_here(std::string("the ") + what + " is missing");
  std::uint64_t value = 0;
  const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (problem == std::errc::result_out_of_range) {
    reader.fail_here(std::string("the ") + what + " " + shown(word) + " is too large");
  }
  if (problem != std::errc() || end != word.data() + word.size()) {
    reader.fail_here(std::string("the ") + what + " " + shown(word) + " is not a whole number");
  }
  return value;
}

void require_end(const LineReader& reader, std::string_view line) {
  const std::string_view word = take_word(line);
  if (!word.empty()) reader.fail_here("unexpected " + shown(word) + " at the end of the line");
}

/// Refuses a declared number of entries that the rest of the file has no room for.
void require_plausible(const LineReader& reader, const Header& header) {
  const auto left = reader.bytes_left();
  if (!left) return;
  std::uint64_t shortest = 2;  // "1\n"
  if (header.format == Format::coordinate) shortest = header.field == Field::pattern ? 4 : 6;
  if (header.entries <= (*left + 1) / shortest) return;  // the last line may have no end
  reader.fail_here(std::to_string(header.entries) + " entries are declared but only " + std::to_string(*left) +
                   " bytes follow: the file is truncated, or the count is wrong");
}

void read_sizes(LineReader& reader, std::string_view line, Header& header) {
  header.size_line = reader.line_number();
  header.rows = take_count(reader, line, "number of rows");
  header.columns = take_count(reader, line, "number of columns");
  if (header.rows == 0 || header.columns == 0) reader.fail_here("the matrix is empty: it has no rows or no columns");
  if (std::max(header.rows, header.columns) > largest_dimension) {
    reader.fail_here("the matrix is too large: " + std::to_string(std::max(header.rows, header.columns)) +
                     " rows or columns, and at most " + std::to_string(largest_dimension) + " are supported");
  }
  if (header.symmetric && header.rows != header.columns) {
    reader.fail_here("the matrix is called symmetric but it is not square: " + std::to_string(header.rows) + " x " +
                     std::to_string(header.columns));
  }
  if (header.format == Format::coordinate) {
    header.entries = take_count(reader, line, "number of entries");
  } else if (header.symmetric) {
    // Halved before multiplying, so that the largest dimension does not overflow.
    header.entries = header.rows % 2 == 0 ? header.rows / 2 * (header.rows + 1) : (header.rows + 1) / 2 * header.rows;
  } else {
    header.entries = header.rows * header.columns;
  }
  require_end(reader, line);
}

Header read_header(LineReader& reader) {
  std::string_view line;
  if (!reader.next(line)) reader.fail("the file is empty");
  if (line.starts_with("\x1f\x8b")) reader.fail("the file is compressed; unpack it with gunzip first");
  const std::string_view banner = take_word(line);
  if (lower(banner) != "%%matrixmarket") {
    reader.fail_here("this is not a Matrix Market file: it opens with " + shown(banner) + ", not %%MatrixMarket");
  }
  const std::string_view object = take_word(line);
  if (lower(object) != "matrix") reader.fail_here("the object " + shown(object) + " is not supported, only matrix");
  Header header;
  header.format = parse_format(reader, take_word(line));
  header.field = parse_field(reader, take_word(line), header.format);
  header.symmetric = parse_symmetry(reader, take_word(line));
  require_end(reader, line);

  do {
    if (!reader.next(line)) reader.fail("the file ends before the line with the matrix's sizes");
  } while (line.empty() || line.front() == '%');
  read_sizes(reader, line, header);
  return header;
}

/// An index from the file, counted from 1 there and from 0 here.
std::uint32_t take_index(const LineReader& reader, std::string_view& line, const char* what, std::uint64_t limit) {
  const std::uint64_t value = take_count(reader, line, what);
  if (value < 1 || value > limit) {
    reader.fail_here(std::string("the ") + what + " " + std::to_string(value) + " is outside of 1 to " +
                     std::to_string(limit));
  }
  return static_cast<std::uint32_t>(value - 1);
}

/// What std::from_chars does not read: underflow to zero, and Fortran's exponents ("1.5D+03").
bool parse_uncommon_real(std::string_view word, double& value) {
  if (word.size() > 100) return false;
  std::string text(word);
  std::replace(text.begin(), text.end(), 'D', 'e');
  std::replace(text.begin(), text.end(), 'd', 'e');
  if (text.find_first_not_of("0123456789+-.eE") != std::string::npos) return false;
  char* end = nullptr;
  value = std::strtod(text.c_str(), &end);
  return end == text.c_str() + text.size();
}

double take_real(const LineReader& reader, std::string_view& line) {
  const std::string_view whole = take_word(line);
  if (whole.empty()) reader.fail_here("the value is missing");
  std::string_view word = whole;
  if (word.size() > 1 && word[0] == '+' && word[1] != '-') word.remove_prefix(1);
  double value = 0;
  const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), value);
  if ((problem != std::errc() || end != word.data() + word.size()) && !parse_uncommon_real(word, value)) {
    reader.fail_here("the value " + shown(whole) + " is not a number");
  }
  if (!std::isfinite(value)) reader.fail_here("the value " + shown(whole) + " is not finite");
  return value;
}

double take_integer(const LineReader& reader, std::string_view& line) {
  const std::string_view whole = take_word(line);
  if (whole.empty()) reader.fail_here("the value is missing");
  std::string_view word = whole;
  if (word.size() > 1 && word[0] == '+' && word[1] != '-') word.remove_prefix(1);
  std::int64_t value = 0;
  const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (problem == std::errc::result_out_of_range) {
    reader.fail_here("the value " + shown(whole) + " does not fit 64 bits");
  }
  if (problem != std::errc() || end != word.data() + word.size()) {
    reader.fail_here("the value " + shown(whole) + " is not a whole number, as the header promises");
  }
  return static_cast<double>(value);
}

double take_value(const LineReader& reader, std::string_view& line, Field field) {
  switch (field) {
    case Field::real: return take_real(reader, line);
    case Field::integer: return take_integer(reader, line);
    case Field::pattern: return 1;
  }
  return 0;
}

/// Calls entry(line) for each of the lines that the header declares, and refuses fewer or more.
template <class ReadEntry>
void read_entries(LineReader& reader, const Header& header, ReadEntry&& entry) {
  std::uint64_t seen = 0;
  std::string_view line;
  while (reader.next(line)) {
    if (line.empty()) continue;
    if (seen == header.entries) {
      reader.fail_here("there are more entries than the " + std::to_string(header.entries) + " that line " +
                       std::to_string(header.size_line) + " declares");
    }
    entry(line);
    require_end(reader, line);
    ++seen;
  }
  if (seen < header.entries) {
    reader.fail("the file ends after " + std::to_string(seen) + " of " + std::to_string(header.entries) +
                " entries: it is truncated, or line " + std::to_string(header.size_line) + " declares a wrong count");
  }
}

std::vector<Entry> read_coordinates(LineReader& reader, const Header& header) {
  std::vector<Entry> entries;
  // The count was checked against the length of the file where that is known; else the vector grows with the text.
  if (reader.bytes_left()) entries.reserve(header.entries);
  read_entries(reader, header, [&](std::string_view& line) {
    const std::uint32_t row = take_index(reader, line, "row index", header.rows);
    const std::uint32_t column = take_index(reader, line, "column index", header.columns);
    if (header.symmetric && column > row) {
      reader.fail_here("the entry (" + std::to_string(row + 1) + ", " + std::to_string(column + 1) +
                       ") lies above the diagonal, but a symmetric file stores only the lower triangle");
    }
    entries.push_back(Entry{row, column, take_value(reader, line, header.field)});
  });
  return entries;
}

std::vector<Entry> read_array(LineReader& reader, const Header& header) {
  std::vector<Entry> entries;
  std::uint32_t row = 0;
  std::uint32_t column = 0;
  read_entries(reader, header, [&](std::string_view& line) {
    const double value = take_value(reader, line, header.field);
    if (value != 0) entries.push_back(Entry{row, column, value});
    if (++row == header.rows) {
      ++column;
      row = header.symmetric ? column : 0;
    }
  });
  return entries;
}

void require_finite_sums(const LineReader& reader, const SparseMatrix& matrix) {
  for (std::size_t row = 0; row < matrix.rows; ++row) {
    for (const double value : matrix.values_of(row)) {
      if (!std::isfinite(value)) {
        reader.fail("duplicate entries of row " + std::to_string(row + 1) + " add up to a value that is not finite");
      }
    }
  }
}

std::vector<Entry> read_all(LineReader& reader, const Header& header) {
  return header.format == Format::coordinate ? read_coordinates(reader, header) : read_array(reader, header);
}

/// Opens `path` and calls use(stream, length where it is a regular file).
template <class Use>
auto with_file(const std::string& path, Use&& use) {
  std::error_code problem;
  const auto status = std::filesystem::status(path, problem);
  if (!std::filesystem::exists(status)) throw Error(ErrorCode::bad_input, path + ": there is no such file");
  if (std::filesystem::is_directory(status)) throw Error(ErrorCode::bad_input, path + ": this is a directory");
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Error(ErrorCode::bad_input, path + ": cannot be opened: " + std::strerror(errno));
  std::optional<std::uint64_t> bytes;
  if (std::filesystem::is_regular_file(status)) {
    const auto size = std::filesystem::file_size(path, problem);
    if (!problem) bytes = size;
  }
  return use(in, bytes);
}

}  // namespace

MatrixFile read_matrix(std::istream& in, std::string_view name, std::optional<std::uint64_t> bytes) {
  LineReader reader(in, std::string(name), bytes);
  const Header header = read_header(reader);
  if (header.rows != header.columns) {
    reader.fail_here("the matrix is not square: " + std::to_string(header.rows) + " x " +
                     std::to_string(header.columns));
  }
  if (header.entries < header.rows) {
    reader.fail_here("the matrix is not positive definite: " + std::to_string(header.entries) +
                     " entries cannot fill " + "the diagonal of " + std::to_string(header.rows) + " rows");
  }
  require_plausible(reader, header);
  const std::vector<Entry> entries = read_all(reader, header);
  // Zeros of an array are not stored, so this bounds what an all but empty array makes us allocate.
  if (entries.size() < header.rows) {
    reader.fail("the matrix is not positive definite: it has " + std::to_string(header.rows) + " rows but only " +
                std::to_string(entries.size()) + " entries other than zero");
  }
  Assembled assembled = assemble(header.rows, header.columns, entries);
  if (assembled.duplicates > 0) require_finite_sums(reader, assembled.matrix);
  return MatrixFile{header.symmetric ? mirrored(assembled.matrix) : std::move(assembled.matrix), header.symmetric,
                    assembled.duplicates};
}

std::vector<double> read_vector(std::istream& in, std::string_view name, std::optional<std::uint64_t> bytes,
                                std::size_t rows) {
  LineReader reader(in, std::string(name), bytes);
  const Header header = read_header(reader);
  if (header.columns != 1 || header.rows != rows) {
    reader.fail_here("the right-hand side must be " + std::to_string(rows) + " x 1 to fit the matrix, not " +
                     std::to_string(header.rows) + " x " + std::to_string(header.columns));
  }
  require_plausible(reader, header);
  const std::vector<Entry> entries = read_all(reader, header);
  const Assembled assembled = assemble(rows, 1, entries);
  if (assembled.duplicates > 0) require_finite_sums(reader, assembled.matrix);
  std::vector<double> values(rows);
  for (std::size_t row = 0; row < rows; ++row) values[row] = assembled.matrix.at(row, 0);
  return values;
}

MatrixFile read_matrix(const std::string& path) {
  return with_file(path, [&](std::istream& in, auto bytes) { return read_matrix(in, path, bytes); });
}

std::vector<double> read_vector(const std::string& path, std::size_t rows) {
  return with_file(path, [&](std::istream& in, auto bytes) { return read_vector(in, path, bytes, rows); });
}

void write_vector(const std::string& path, std::span<const double> values, std::string_view comment) {
  const auto fail = [&] { throw Error(ErrorCode::io, path + ": cannot be written: " + std::strerror(errno)); };
  const auto close = [](std::FILE* file) { std::fclose(file); };
  std::unique_ptr<std::FILE, decltype(close)> file(std::fopen(path.c_str(), "w"), close);
  if (!file) fail();
  std::string text = "%%MatrixMarket matrix array real general\n";
  if (!comment.empty()) text += "% " + std::string(comment) + "\n";
  text += std::to_string(values.size()) + " 1\n";
  bool written = std::fputs(text.c_str(), file.get()) >= 0;
  for (const double value : values) written = written && std::fprintf(file.get(), "%.17g\n", value) > 0;
  // Closing flushes: a full disk may show only here.
  if (std::fclose(file.release()) != 0 || !written) fail();
}

}  // namespace conjugate_gradient
