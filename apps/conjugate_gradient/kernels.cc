#include "conjugate_gradient/kernels.h"

#include <algorithm>
#include <cstdint>

namespace conjugate_gradient {
namespace {

void accumulate(PipelinedSums& sums, double r, double u, double w, double p, double s) {
  sums.ru += r * u;
  sums.wu += w * u;
  sums.rr += r * r;
  sums.su += s * u;
  sums.sp += s * p;
  sums.rp += r * p;
}

void multiply_one(const SparseMatrix& matrix, std::span<const RowRange> runs, const Product& product) {
  const std::size_t* row_start = matrix.row_start.data();
  const std::uint32_t* column = matrix.column.data();
  const double* value = matrix.value.data();
  const double* x = product.input.data();
  for (const RowRange run : runs) {
    for (std::size_t row = run.begin; row < run.end; ++row) {
      double sum = 0;
      const std::size_t end = row_start[row + 1];
      for (std::size_t i = row_start[row]; i < end; ++i) sum += value[i] * x[column[i]];
      product.output[row] = sum;
    }
  }
}

void multiply_two(const SparseMatrix& matrix, std::span<const RowRange> runs, const Product& first,
                  const Product& second) {
  const std::size_t* row_start = matrix.row_start.data();
  const std::uint32_t* column = matrix.column.data();
  const double* value = matrix.value.data();
  const double* x = first.input.data();
  const double* y = second.input.data();
  for (const RowRange run : runs) {
    for (std::size_t row = run.begin; row < run.end; ++row) {
      double sum_x = 0;
      double sum_y = 0;
      const std::size_t end = row_start[row + 1];
      for (std::size_t i = row_start[row]; i < end; ++i) {
        sum_x += value[i] * x[column[i]];
        sum_y += value[i] * y[column[i]];
      }
      first.output[row] = sum_x;
      second.output[row] = sum_y;
    }
  }
}

}  // namespace

void multiply(const LocalSystem& system, std::span<const RowRange> runs, std::span<const Product> products) {
  switch (products.size()) {
    case 0: return;
    case 1: return multiply_one(system.matrix, runs, products[0]);
    default: return multiply_two(system.matrix, runs, products[0], products[1]);
  }
}

void precondition(std::span<const double> inverse_diagonal, std::span<const double> v, std::span<double> result) {
  for (std::size_t i = 0; i < v.size(); ++i) result[i] = inverse_diagonal[i] * v[i];
}

double dot(std::span<const double> a, std::span<const double> b) {
  const std::size_t size = std::min(a.size(), b.size());
  std::array<double, 4> sums{};
  std::size_t i = 0;
  for (; i + 4 <= size; i += 4) {
    for (std::size_t k = 0; k < 4; ++k) sums[k] += a[i + k] * b[i + k];
  }
  for (; i < size; ++i) sums[0] += a[i] * b[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

ResidualSums classic_update(double alpha, std::span<const double> inverse_diagonal, std::span<const double> p,
                            std::span<const double> s, std::span<double> x, std::span<double> r, std::span<double> u) {
  ResidualSums sums;
  for (std::size_t i = 0; i < r.size(); ++i) {
    x[i] += alpha * p[i];
    r[i] -= alpha * s[i];
    u[i] = inverse_diagonal[i] * r[i];
    sums.ru += r[i] * u[i];
    sums.rr += r[i] * r[i];
  }
  return sums;
}

void new_direction(double beta, std::span<const double> u, std::span<double> p) {
  const std::size_t size = std::min(u.size(), p.size());
  for (std::size_t i = 0; i < size; ++i) p[i] = u[i] + beta * p[i];
}

double replace_residual(std::span<const double> inverse_diagonal, std::span<const double> b, std::span<const double> ax,
                        std::span<double> r, std::span<double> u) {
  double rr = 0;
  for (std::size_t i = 0; i < r.size(); ++i) {
    r[i] = b[i] - ax[i];
    u[i] = inverse_diagonal[i] * r[i];
    rr += r[i] * r[i];
  }
  return rr;
}

DriftSums replace_direction(std::span<const double> inverse_diagonal, std::span<const double> ap, std::span<double> s,
                            std::span<double> q) {
  DriftSums sums;
  for (std::size_t i = 0; i < s.size(); ++i) {
    const double drift = ap[i] - s[i];
    s[i] = ap[i];
    q[i] = inverse_diagonal[i] * ap[i];
    sums.drift += drift * drift;
    sums.whole += ap[i] * ap[i];
  }
  return sums;
}

PipelinedSums prepare_pipelined(std::span<const double> inverse_diagonal, const PipelinedVectors& v) {
  PipelinedSums sums;
  for (std::size_t i = 0; i < v.r.size(); ++i) {
    v.m[i] = inverse_diagonal[i] * v.w[i];
    accumulate(sums, v.r[i], v.u[i], v.w[i], v.p[i], v.s[i]);
  }
  return sums;
}

PipelinedSums pipelined_update(double alpha, double beta, std::span<const double> inverse_diagonal,
                               const PipelinedVectors& v) {
  PipelinedSums sums;
  for (std::size_t i = 0; i < v.r.size(); ++i) {
    const double z = v.n[i] + beta * v.z[i];
    const double q = v.m[i] + beta * v.q[i];
    const double s = v.w[i] + beta * v.s[i];
    const double p = v.u[i] + beta * v.p[i];
    const double r = v.r[i] - alpha * s;
    const double u = v.u[i] - alpha * q;
    const double w = v.w[i] - alpha * z;
    v.x[i] += alpha * p;
    v.z[i] = z;
    v.q[i] = q;
    v.s[i] = s;
    v.p[i] = p;
    v.r[i] = r;
    v.u[i] = u;
    v.w[i] = w;
    v.m[i] = inverse_diagonal[i] * w;
    accumulate(sums, r, u, w, p, s);
  }
  return sums;
}

}  // namespace conjugate_gradient
