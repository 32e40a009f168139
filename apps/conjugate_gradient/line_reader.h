#pragma once

#include <cstddef>
#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace conjugate_gradient {

/// Hands out a text line by line through one fixed buffer, counting lines, so that every complaint about the
/// text can say where. Used by one thread; does not own the stream.
class LineReader {
 public:
  /// `name` opens each complaint. `bytes` is the length of the whole text, where it is known.
  LineReader(std::istream& in, std::string name, std::optional<std::uint64_t> bytes);

  /// Puts the next line into `line`, without its end and without surrounding blanks; false at the end of the text.
  /// The view lives until the next call. Throws Error(bad_input) on a line that does not fit the buffer (64 KiB).
  bool next(std::string_view& line);

  /// The number of the line handed out last, counted from 1.
  std::size_t line_number() const noexcept { return line_number_; }

  /// How many bytes follow the line handed out last, where the length of the text is known.
  std::optional<std::uint64_t> bytes_left() const noexcept;

  /// Throws Error(bad_input, "name:line: message").
  [[noreturn]] void fail_here(const std::string& message) const;
  /// Throws Error(bad_input, "name: message"), for what no single line is to blame for.
  [[noreturn]] void fail(const std::string& message) const;

 private:
  bool refill();

  std::istream& in_;
  std::string name_;
  std::optional<std::uint64_t> bytes_;
  std::uint64_t consumed_ = 0;
  std::size_t line_number_ = 0;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

/// Removes the next word (blanks separate words) from the front of `text` and returns it; empty at the end.
std::string_view take_word(std::string_view& text);

}  // namespace conjugate_gradient
