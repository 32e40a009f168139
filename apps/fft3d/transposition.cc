#include "fft3d/transposition.h"

#include <algorithm>

namespace fft3d {

std::size_t Transposition::planes_in(std::size_t round, std::uint32_t node) const {
  const std::size_t planes = planes_.size(node);
  const std::size_t first = std::min(first_plane(round), planes);
  return std::min(planes_per_round_, planes - first);
}

std::vector<std::size_t> Transposition::input_counts(std::size_t round) const {
  std::vector<std::size_t> counts;
  for (std::uint32_t to = 0; to < rows_.nodes(); ++to) {
    counts.push_back(planes_in(round) * rows_.size(to) * points_);
  }
  return counts;
}

std::vector<std::size_t> Transposition::output_counts(std::size_t round) const {
  std::vector<std::size_t> counts;
  for (std::uint32_t from = 0; from < planes_.nodes(); ++from) {
    counts.push_back(planes_in(round, from) * rows_.size(me_) * points_);
  }
  return counts;
}

std::size_t Transposition::input_offset(std::size_t round) const {
  return std::min(first_plane(round), planes_.size(me_)) * plane_size();
}

std::size_t Transposition::output_offset(std::size_t round) const {
  std::size_t planes = 0;
  for (std::uint32_t from = 0; from < planes_.nodes(); ++from) {
    planes += std::min(first_plane(round), planes_.size(from));
  }
  return planes * rows_.size(me_) * points_;
}

void Transposition::pack(std::size_t round, std::span<const Complex> planes, std::span<Complex> given) const {
  auto out = given.begin();
  for (std::uint32_t to = 0; to < rows_.nodes(); ++to) {
    for (std::size_t i = 0; i < planes_in(round); ++i) {
      const std::size_t first = ((first_plane(round) + i) * rows_.count() + rows_.begin(to)) * points_;
      const auto block = planes.subspan(first, rows_.size(to) * points_);
      out = std::copy(block.begin(), block.end(), out);
    }
  }
}

void Transposition::unpack(std::size_t round, std::span<const Complex> got, std::span<Complex> rows) const {
  const std::size_t my_rows = rows_.size(me_);
  std::size_t at = 0;
  for (std::uint32_t from = 0; from < planes_.nodes(); ++from) {
    for (std::size_t i = 0; i < planes_in(round, from); ++i) {
      const std::size_t plane = planes_.begin(from) + first_plane(round) + i;
      for (std::size_t row = 0; row < my_rows; ++row, at += points_) {
        const auto line = got.subspan(at, points_);
        std::copy(line.begin(), line.end(),
                  rows.begin() + static_cast<std::ptrdiff_t>((row * planes_.count() + plane) * points_));
      }
    }
  }
}

}  // namespace fft3d
