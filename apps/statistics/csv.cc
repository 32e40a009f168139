#include "statistics/csv.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <system_error>

#include "stretto/base/error.h"
#include "stretto/base/shown.h"

namespace statistics {
namespace {

using stretto::shown;

constexpr bool is_blank(char c) noexcept { return c == ' ' || c == '\t'; }

[[noreturn]] void refuse(const std::string& message) { throw stretto::Error(stretto::ErrorCode::bad_input, message); }

/// Goes through one line.
class Splitter {
 public:
  explicit Splitter(std::string_view line) : line_(line) {}

  /// Puts the next field into `field`; false where the line ended behind the one before.
  bool next(std::string& field) {
    if (is_over_) return false;
    field.clear();
    skip_blanks();
    if (at_ < line_.size() && line_[at_] == '"') {
      take_quoted(field);
    } else {
      take_plain(field);
    }
    is_over_ = at_ == line_.size();
    ++at_;  // the comma
    return true;
  }

 private:
  void skip_blanks() {
    while (at_ < line_.size() && is_blank(line_[at_])) ++at_;
  }

  void take_plain(std::string& field) {
    const std::size_t end = std::min(line_.find(',', at_), line_.size());
    field = line_.substr(at_, end - at_);
    while (!field.empty() && is_blank(field.back())) field.pop_back();
    at_ = end;
  }

  void take_quoted(std::string& field) {
    for (++at_;; ++at_) {
      const std::size_t quote = line_.find('"', at_);
      if (quote == std::string_view::npos) refuse("a quoted field is not closed; it must end on its line");
      field += line_.substr(at_, quote - at_);
      at_ = quote + 1;
      if (at_ == line_.size() || line_[at_] != '"') break;
      field += '"';
    }
    skip_blanks();
    if (at_ < line_.size() && line_[at_] != ',') refuse("text follows a closing quote: " + shown(line_.substr(at_)));
  }

  std::string_view line_;
  std::size_t at_ = 0;
  bool is_over_ = false;
};

bool is_missing(std::string_view text) {
  constexpr std::array<std::string_view, 5> words{"", "na", "n/a", "nan", "null"};
  const auto same = [](char word, char c) { return word == (c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c); };
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    return std::equal(word.begin(), word.end(), text.begin(), text.end(), same);
  });
}

}  // namespace

void split_line(std::string_view line, std::vector<std::string>& fields) {
  Splitter splitter(line);
  std::size_t count = 0;
  for (;; ++count) {
    if (count == fields.size()) fields.emplace_back();
    if (!splitter.next(fields[count])) break;
  }
  fields.resize(count);
}

Field parse_field(std::string_view text) {
  if (is_missing(text)) return {FieldKind::missing};
  // std::from_chars takes a minus only.
  if (text.front() == '+' && text.size() > 1 && text[1] != '-') text.remove_prefix(1);
  Field field{FieldKind::number};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), field.value);
  if (end != text.data() + text.size()) return {FieldKind::text};
  if (error == std::errc::result_out_of_range) return {FieldKind::out_of_range};
  if (error != std::errc() || !std::isfinite(field.value)) return {FieldKind::text};
  const double size = std::abs(field.value);
  if (size > most_value || (size > 0 && size < least_value)) return {FieldKind::out_of_range};
  return field;
}

}  // namespace statistics
