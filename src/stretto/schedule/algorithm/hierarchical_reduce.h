#pragma once

#include "stretto/schedule/compose.h"

namespace stretto::schedule {

/// Reduce inside the hosts to one member of each, then among these: one partial result of each host crosses the wire.
///
/// Source: Kielmann, Hofman, Bal, Plaat and Bhoedjang, "MagPIe: MPI's collective communication operations for clustered
/// wide area systems", PPoPP 1999.
///
/// The root stands for its host, the first members for the others. Ranks 0 to 2 on one host, 3 and 4 on another, to
/// rank 1:
///
///     rank         0            1            2            3            4
///     inside       -> 1         abc <- 0, 2  -> 1         de <- 4      -> 3
///     between                   R <- 3                    -> 1
class HierarchicalReduce final : public Composition {
 public:
  /// `inside` moves a vector whole. The algorithms outlive it.
  HierarchicalReduce(std::string_view name, const Algorithm& inside, const Algorithm& between) noexcept
      : Composition(name), inside_(inside), between_(between) {}

  Operation operation() const noexcept override { return Operation::reduce; }
  Blocking blocking(const Shape& shape) const override;
  bool needs_commutative() const noexcept override { return between_.needs_commutative(); }
  bool is_canonical(const Shape& shape) const override;

 private:
  std::uint32_t rounds_of(const Shape& shape, std::uint32_t phase) const override;
  std::vector<Part> parts_of(const Shape& shape, std::uint32_t phase, Rank me) const override;
  Shape between_shape(const Shape& shape) const;

  const Algorithm& inside_;
  const Algorithm& between_;
};

}  // namespace stretto::schedule
