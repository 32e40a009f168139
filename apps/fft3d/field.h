#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "fft3d/plan.h"

namespace fft3d {

/// The numbers that are transformed: of [-1, 1), by their place in the array, the same on any number of nodes.
Complex value_at(std::size_t index);

/// Elements `first` and later of the array of all numbers.
void fill(std::span<Complex> part, std::size_t first);

/// FFTW's transform of the whole array [x][y][z].
std::vector<Complex> serial_transform(const std::array<std::size_t, 3>& n);

/// The largest absolute value of transposed[y][x][z] - expected[x][y][z], by the largest of what is expected.
double largest_error(const std::array<std::size_t, 3>& n, std::span<const Complex> transposed,
                     std::span<const Complex> expected);

/// The largest absolute difference of `part`, divided by `scale`, from the numbers that fill() puts there.
double largest_change(std::span<const Complex> part, std::size_t first, double scale);

}  // namespace fft3d
