#pragma once

#include "stretto/schedule/compose.h"

namespace stretto::schedule {

/// Broadcast to one member of each host, and from there inside the hosts: the vector crosses the wire once for each
/// host.
///
/// Source: Kielmann, Hofman, Bal, Plaat and Bhoedjang, "MagPIe: MPI's collective communication operations for clustered
/// wide area systems", PPoPP 1999.
///
/// The root stands for its host, the first members for the others. Ranks 0 to 2 on one host, 3 and 4 on another, from
/// rank 1:
///
///     rank         0            1            2            3            4
///     between                   -> 3                      <- 1
///     inside       <- 1         -> 0, 2      <- 1         -> 4         <- 3
class HierarchicalBroadcast final : public Composition {
 public:
  /// `inside` moves a vector whole. The algorithms outlive it.
  HierarchicalBroadcast(std::string_view name, const Algorithm& between, const Algorithm& inside) noexcept
      : Composition(name), between_(between), inside_(inside) {}

  Operation operation() const noexcept override { return Operation::broadcast; }
  Blocking blocking(const Shape& shape) const override;

 private:
  std::uint32_t rounds_of(const Shape& shape, std::uint32_t phase) const override;
  std::vector<Part> parts_of(const Shape& shape, std::uint32_t phase, Rank me) const override;
  Shape between_shape(const Shape& shape) const;

  const Algorithm& between_;
  const Algorithm& inside_;
};

}  // namespace stretto::schedule
