#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "conjugate_gradient/halo.h"

namespace conjugate_gradient {

/// A product y = A x on one node: `input` holds own values and ghosts, `output` own values.
struct Product {
  std::span<double> input;
  std::span<double> output;
};

/// Computes the rows of `runs` (LocalSystem::interior or ::boundary) of one or two products. Two cost little more than
/// one: a product is bound by reading the matrix, and they read it together.
/// REQUIRES: products.size() <= 2, and the ghosts of the inputs are up to date where `runs` reads them.
void multiply(const LocalSystem& system, std::span<const RowRange> runs, std::span<const Product> products);

/// M⁻¹ v for Jacobi's preconditioner, element by element; `result` may be longer than `v` (ghosts).
void precondition(std::span<const double> inverse_diagonal, std::span<const double> v, std::span<double> result);

/// The local part of a scalar product over the first min(a.size(), b.size()) elements, in four interleaved sums.
double dot(std::span<const double> a, std::span<const double> b);

/// The two scalar products of a classic step: (r, u) and (r, r).
struct ResidualSums {
  double ru = 0;
  double rr = 0;
};

/// One sweep of the classic method: x += α p, r -= α s, u = M⁻¹ r; returns the new residual's sums.
ResidualSums classic_update(double alpha, std::span<const double> inverse_diagonal, std::span<const double> p,
                            std::span<const double> s, std::span<double> x, std::span<double> r, std::span<double> u);

/// p = u + β p over the elements of `u` that `p` has.
void new_direction(double beta, std::span<const double> u, std::span<double> p);

/// r = b - ax and u = M⁻¹ r; returns the local part of (r, r).
double replace_residual(std::span<const double> inverse_diagonal, std::span<const double> b, std::span<const double> ax,
                        std::span<double> r, std::span<double> u);

/// How far a vector's recurrence had drifted from what it stands for, in squares.
struct DriftSums {
  double drift = 0;
  double whole = 0;
};

/// s = ap and q = M⁻¹ s; returns how far s had drifted.
DriftSums replace_direction(std::span<const double> inverse_diagonal, std::span<const double> ap, std::span<double> s,
                            std::span<double> q);

/// The vectors of the pipelined method, named as in the paper. u, p, q and m are multiplied and have ghosts.
struct PipelinedVectors {
  std::span<double> x, r, u, w, p, s, q, z, m, n;
};

/// The scalar products that one pipelined iteration reduces at once, in the order in which they travel.
struct PipelinedSums {
  double ru = 0;  ///< γ
  double wu = 0;  ///< δ = (u, A u)
  double rr = 0;  ///< the residual
  double su = 0;  ///< (u, A p): makes the next direction conjugate to this one
  double sp = 0;  ///< (p, A p)
  double rp = 0;

  static constexpr std::size_t count = 6;
  std::array<double, count> to_array() const { return {ru, wu, rr, su, sp, rp}; }
  static PipelinedSums from(std::span<const double, count> sums) {
    return {sums[0], sums[1], sums[2], sums[3], sums[4], sums[5]};
  }
};

/// m = M⁻¹ w, and the sums of the vectors as they are.
PipelinedSums prepare_pipelined(std::span<const double> inverse_diagonal, const PipelinedVectors& v);

/// One whole pipelined iteration's vector work in one sweep: z = n + β z, q = m + β q, s = w + β s, p = u + β p,
/// x += α p, r -= α s, u -= α q, w -= α z; then what prepare_pipelined() does.
PipelinedSums pipelined_update(double alpha, double beta, std::span<const double> inverse_diagonal,
                               const PipelinedVectors& v);

}  // namespace conjugate_gradient
