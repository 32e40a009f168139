#include "fft3d/plan.h"

#include <fftw3.h>

#include <mutex>
#include <vector>

#include "stretto/base/error.h"

namespace fft3d {
namespace {

// FFTW's planner is one for the process, for one thread at a time.
std::mutex planner;

int sign_of(Direction direction) { return direction == Direction::forward ? FFTW_FORWARD : FFTW_BACKWARD; }

fftw_complex* as_fftw(Complex* data) { return reinterpret_cast<fftw_complex*>(data); }

// What is planned for: FFTW_ESTIMATE leaves it alone, and looks at its alignment.
std::vector<Complex> model_of(std::size_t points) { return std::vector<Complex>(points); }

}  // namespace

Plan::Plan(fftw_plan_s* plan) : plan_(plan) {
  if (plan == nullptr) throw stretto::Error(stretto::ErrorCode::internal, "FFTW has no plan for this array");
}

void Plan::Destroy::operator()(fftw_plan_s* plan) const noexcept {
  const std::lock_guard lock(planner);
  fftw_destroy_plan(plan);
}

Plan Plan::plane(std::size_t rows, std::size_t columns, Direction direction) {
  std::vector<Complex> model = model_of(rows * columns);
  fftw_complex* const data = as_fftw(model.data());
  const std::lock_guard lock(planner);
  return Plan(fftw_plan_dft_2d(static_cast<int>(rows), static_cast<int>(columns), data, data, sign_of(direction),
                               FFTW_ESTIMATE));
}

Plan Plan::along_rows(std::size_t rows, std::size_t columns, Direction direction) {
  std::vector<Complex> model = model_of(rows * columns);
  fftw_complex* const data = as_fftw(model.data());
  const int length = static_cast<int>(rows);
  const int stride = static_cast<int>(columns);
  const std::lock_guard lock(planner);
  return Plan(fftw_plan_many_dft(1, &length, stride, data, nullptr, stride, 1, data, nullptr, stride, 1,
                                 sign_of(direction), FFTW_ESTIMATE));
}

Plan Plan::volume(std::size_t x, std::size_t y, std::size_t z, Direction direction) {
  std::vector<Complex> model = model_of(x * y * z);
  fftw_complex* const data = as_fftw(model.data());
  const std::lock_guard lock(planner);
  return Plan(fftw_plan_dft_3d(static_cast<int>(x), static_cast<int>(y), static_cast<int>(z), data, data,
                               sign_of(direction), FFTW_ESTIMATE));
}

void Plan::apply(std::span<Complex> data) const {
  fftw_execute_dft(plan_.get(), as_fftw(data.data()), as_fftw(data.data()));
}

}  // namespace fft3d
