#include "fft3d/slabs.h"

#include <algorithm>

#include "fft3d/field.h"

namespace fft3d {

void Slabs::Way::give(std::size_t round, std::span<Complex> given) {
  const std::size_t size = transposition.plane_size();
  for (std::size_t i = 0; i < transposition.planes_in(round); ++i) {
    first.apply(std::span(from).subspan((transposition.first_plane(round) + i) * size, size));
  }
  transposition.pack(round, from, given);
}

void Slabs::Way::finish() {
  const std::size_t size = transposition.row_size();
  for (std::size_t begin = 0; begin < to.size(); begin += size) second.apply(std::span(to).subspan(begin, size));
}

Slabs::Slabs(const std::array<std::size_t, 3>& n, std::uint32_t nodes, std::uint32_t me, std::size_t planes_per_message)
    : n_(n),
      x_(n[0], nodes),
      y_(n[1], nodes),
      me_(me),
      planes_per_message_(planes_per_message),
      by_x_(x_.size(me) * n[1] * n[2]),
      by_y_(y_.size(me) * n[0] * n[2]),
      forward_(Transposition(x_, y_, n[2], me, planes_per_message), Plan::plane(n[1], n[2], Direction::forward),
               Plan::along_rows(n[0], n[2], Direction::forward), 2, by_x_, by_y_),
      backward_(Transposition(y_, x_, n[2], me, planes_per_message), Plan::along_rows(n[0], n[2], Direction::backward),
                Plan::plane(n[1], n[2], Direction::backward), 1, by_y_, by_x_) {}

void Slabs::reset() { fill(by_x_, x_.begin(me_) * n_[1] * n_[2]); }

double Slabs::round_trip_error() const {
  return largest_change(by_x_, x_.begin(me_) * n_[1] * n_[2], static_cast<double>(size()));
}

std::vector<std::size_t> Slabs::transformed_counts() const {
  std::vector<std::size_t> counts;
  for (std::uint32_t node = 0; node < y_.nodes(); ++node) counts.push_back(y_.size(node) * n_[0] * n_[2]);
  return counts;
}

std::size_t Slabs::most_block_bytes() const {
  return std::min(planes_per_message_, x_.largest()) * y_.largest() * n_[2] * sizeof(Complex);
}

}  // namespace fft3d
