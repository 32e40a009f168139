#pragma once

#include "stretto/schedule/compose.h"

namespace stretto::schedule {

/// A barrier in which one member of each host waits for its host, then for the other hosts, and then lets its host go.
///
/// Source: Kielmann, Hofman, Bal, Plaat and Bhoedjang, "MagPIe: MPI's collective communication operations for clustered
/// wide area systems", PPoPP 1999. Inside the hosts it is a reduce and a broadcast whose messages are empty.
///
/// Ranks 0 to 2 on one host, 3 and 4 on another:
///
///     rank         0            1            2            3            4
///     inside       <- 1, 2      -> 0         -> 0         <- 4         -> 3
///     between      <-> 3                                  <-> 0
///     inside       -> 1, 2      <- 0         <- 0         -> 4         <- 3
class HierarchicalBarrier final : public Composition {
 public:
  /// The algorithms outlive it.
  HierarchicalBarrier(std::string_view name, const Algorithm& reduce, const Algorithm& between,
                      const Algorithm& broadcast) noexcept
      : Composition(name), reduce_(reduce), between_(between), broadcast_(broadcast) {}

  Operation operation() const noexcept override { return Operation::barrier; }

 private:
  std::uint32_t rounds_of(const Shape& shape, std::uint32_t phase) const override;
  std::vector<Part> parts_of(const Shape& shape, std::uint32_t phase, Rank me) const override;

  const Algorithm& reduce_;
  const Algorithm& between_;
  const Algorithm& broadcast_;
};

}  // namespace stretto::schedule
