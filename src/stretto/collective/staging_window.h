#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace stretto {

/// Memory in which one side of a message writes its data and the other one reads them: as long as they are, or, where
/// they would not find room in caches, as much as they pass through, over and over. Then the writer goes no further
/// than the reader has said that it has read. Pure: counts bytes.
class StagingWindow {
 public:
  /// None yet.
  StagingWindow() = default;
  /// REQUIRES: bytes > 0.
  explicit StagingWindow(std::size_t bytes) noexcept : bytes_(bytes) {}
  /// One for so many bytes that is no longer than `most`, and ends where an element ends.
  static StagingWindow of(std::size_t data, std::size_t element, std::size_t most) noexcept {
    const std::size_t whole_elements = most / element * element;
    return StagingWindow(data <= most || whole_elements == 0 ? data : whole_elements);
  }
  /// One for what two exchange by an even number of turns (Sharing::turns), as long as another turn's, or shorter at
  /// the end; or none. Each begins where a line of so many bytes begins, as staging memory does: copies take longer
  /// from one place in a line to another. So it may be longer than `most`, by less than the elements that end where a
  /// line does. REQUIRES: none of these numbers is 0.
  static StagingWindow of_turns(std::size_t data, std::size_t element, std::size_t most, std::size_t line) noexcept {
    std::size_t turns = 2;
    while (data / turns > most) turns += 2;
    const std::size_t unit = std::lcm(element, line);
    const std::size_t window = ((data + turns - 1) / turns + unit - 1) / unit * unit;
    return (data + window - 1) / window == turns ? StagingWindow(window) : StagingWindow();
  }

  std::size_t bytes() const noexcept { return bytes_; }
  /// Where byte `at` of the data lies.
  std::size_t place_of(std::size_t at) const noexcept { return at % bytes_; }
  /// How many bytes lie one after the other from `at` on, up to `upto`.
  std::size_t in_one_piece(std::size_t at, std::size_t upto) const noexcept {
    return std::min(upto - at, bytes_ - place_of(at));
  }
  /// How far has been read, as both sides know; and how far may therefore be written.
  std::size_t taken() const noexcept { return taken_; }
  std::size_t writable() const noexcept { return taken_ + bytes_; }
  /// Where two messages of so many bytes take turns (Sharing::turns), and so much of the other one has been read here,
  /// or written there: how far this one may be written. The last window not before the one whose place it takes is
  /// through, though it may be shorter.
  std::size_t writable_by_turns(std::size_t other, std::size_t data) const noexcept {
    const std::size_t last = (data - 1) / bytes_ * bytes_;
    return other >= last ? data : std::min(other + bytes_, last);
  }
  void take(std::size_t upto) noexcept { taken_ = std::max(taken_, upto); }

 private:
  std::size_t bytes_ = 0;
  std::size_t taken_ = 0;
};

}  // namespace stretto
