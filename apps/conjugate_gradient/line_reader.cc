#include "conjugate_gradient/line_reader.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include "stretto/base/error.h"

namespace conjugate_gradient {
namespace {

constexpr std::size_t buffer_bytes = std::size_t{1} << 16U;

constexpr bool is_blank(char c) noexcept { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

}  // namespace

LineReader::LineReader(std::istream& in, std::string name, std::optional<std::uint64_t> bytes)
    : in_(in), name_(std::move(name)), bytes_(bytes), buffer_(buffer_bytes) {}

bool LineReader::refill() {
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  if (!in_.good()) return false;
  in_.read(buffer_.data() + end_, static_cast<std::streamsize>(buffer_.size() - end_));
  const auto got = static_cast<std::size_t>(in_.gcount());
  end_ += got;
  if (in_.bad()) {
    throw stretto::Error(stretto::ErrorCode::io, name_ + ": reading failed: " + std::strerror(errno));
  }
  return got > 0;
}

bool LineReader::next(std::string_view& line) {
  std::size_t searched = 0;
  for (;;) {
    const char* start = buffer_.data() + begin_;
    const void* newline = std::memchr(start + searched, '\n', end_ - begin_ - searched);
    if (newline != nullptr) {
      line = std::string_view(start, static_cast<std::size_t>(static_cast<const char*>(newline) - start));
      begin_ += line.size() + 1;
      consumed_ += line.size() + 1;
      break;
    }
    searched = end_ - begin_;
    if (searched == buffer_.size()) {
      ++line_number_;
      fail_here("the line is longer than " + std::to_string(buffer_.size()) + " bytes");
    }
    if (refill()) continue;
    if (searched == 0) return false;
    line = std::string_view(buffer_.data() + begin_, searched);  // the last line has no end
    begin_ = end_;
    consumed_ += searched;
    break;
  }
  ++line_number_;
  while (!line.empty() && is_blank(line.front())) line.remove_prefix(1);
  while (!line.empty() && is_blank(line.back())) line.remove_suffix(1);
  return true;
}

std::optional<std::uint64_t> LineReader::bytes_left() const noexcept {
  if (!bytes_) return std::nullopt;
  return *bytes_ > consumed_ ? *bytes_ - consumed_ : 0;
}

void LineReader::fail_here(const std::string& message) const {
  throw stretto::Error(stretto::ErrorCode::bad_input, name_ + ":" + std::to_string(line_number_) + ": " + message);
}

void LineReader::fail(const std::string& message) const {
  throw stretto::Error(stretto::ErrorCode::bad_input, name_ + ": " + message);
}

std::string_view take_word(std::string_view& text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  std::size_t length = 0;
  while (length < text.size() && !is_blank(text[length])) ++length;
  const std::string_view word = text.substr(0, length);
  text.remove_prefix(length);
  return word;
}

}  // namespace conjugate_gradient
