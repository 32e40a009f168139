#pragma once

#include "stretto/schedule/compose.h"

namespace stretto::schedule {

/// Scatter to one member of each host, and from there inside the hosts: the root sends one message to each host, or to
/// some of them, not to each rank. The mirror of hierarchical_gather.h.
///
/// Source: Kielmann, Hofman, Bal, Plaat and Bhoedjang, "MagPIe: MPI's collective communication operations for clustered
/// wide area systems", PPoPP 1999.
///
/// The root stands for its host, the first members for the others. Ranks 0, 1 and 4 on one host, 2 and 3 on another,
/// from rank 1; what does not lie together goes as several messages:
///
///     rank         0            1            2            3            4
///     between                   -> 2         23 <- 1
///     inside       0 <- 1       -> 0, 4      -> 3         3 <- 2       4 <- 1
class HierarchicalScatter final : public Composition {
 public:
  /// Of `between` a rank keeps the blocks that it passes on in the slots of these. The algorithms outlive it.
  HierarchicalScatter(std::string_view name, const Algorithm& between, const Algorithm& inside) noexcept
      : Composition(name), between_(between), inside_(inside) {}

  Operation operation() const noexcept override { return Operation::scatter; }

 private:
  std::uint32_t rounds_of(const Shape& shape, std::uint32_t phase) const override;
  std::vector<Part> parts_of(const Shape& shape, std::uint32_t phase, Rank me) const override;
  Shape between_shape(const Shape& shape) const;

  const Algorithm& between_;
  const Algorithm& inside_;
};

}  // namespace stretto::schedule
