#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

struct fftw_plan_s;

namespace fft3d {

using Complex = std::complex<double>;

/// The sign of the exponent. A transform forward and back multiplies by the number of points.
enum class Direction : std::uint8_t { forward, backward };

/// What FFTW does to one contiguous array, in place. Made at the start; any thread may apply it, to different arrays at
/// the same time.
class Plan {
 public:
  /// Of an array [rows][columns], in both dimensions.
  static Plan plane(std::size_t rows, std::size_t columns, Direction direction);
  /// Of an array [rows][columns], along its columns: each element with those of the same column.
  static Plan along_rows(std::size_t rows, std::size_t columns, Direction direction);
  /// Of an array [x][y][z], in all dimensions.
  static Plan volume(std::size_t x, std::size_t y, std::size_t z, Direction direction);

  /// REQUIRES: `data` has the plan's size, and lies at a multiple of 16 bytes.
  void apply(std::span<Complex> data) const;

 private:
  struct Destroy {
    void operator()(fftw_plan_s* plan) const noexcept;
  };
  explicit Plan(fftw_plan_s* plan);

  std::unique_ptr<fftw_plan_s, Destroy> plan_;
};

}  // namespace fft3d
