#pragma once

#include <string>
#include <string_view>

namespace stretto::fabric {

/// Turns the pieces in which a process writes into whole lines, so that those of several processes don't mix.
class LineForwarder {
 public:
  /// A longer line is passed on in pieces.
  static constexpr std::size_t max_line_bytes = std::size_t{64} << 10U;

  /// `tag` goes before each line.
  explicit LineForwarder(std::string tag) : tag_(std::move(tag)) {}

  /// The lines that `piece` completes.
  std::string feed(std::string_view piece);
  /// What is left at the end; ended with a line feed if there is a tag, else as it was written.
  std::string finish();

 private:
  std::string tag_;
  std::string line_;
};

}  // namespace stretto::fabric
