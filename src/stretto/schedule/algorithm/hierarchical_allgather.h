#pragma once

#include "stretto/schedule/compose.h"

namespace stretto::schedule {

/// Allgather by one member of each host: it gathers the blocks of its host, exchanges them with the other hosts, and
/// gives its host everything. Each block crosses the wire once for each other host.
///
/// Source: Kielmann, Hofman, Bal, Plaat and Bhoedjang, "MagPIe: MPI's collective communication operations for clustered
/// wide area systems", PPoPP 1999.
///
/// Ranks 0, 1 and 4 on one host, 2 and 3 on another; what does not lie together goes as several messages:
///
///     rank         0            1            2            3            4
///     inside       014 <- 1, 4  -> 0         23 <- 3      -> 2         -> 0
///     between      all <- 2                  all <- 0
///     inside                    all <- 0                  all <- 2     all <- 0
class HierarchicalAllgather final : public Composition {
 public:
  /// `gather` moves one block a message, `broadcast` a vector whole. The algorithms outlive it.
  HierarchicalAllgather(std::string_view name, const Algorithm& gather, const Algorithm& between,
                        const Algorithm& broadcast) noexcept
      : Composition(name), gather_(gather), between_(between), broadcast_(broadcast) {}

  Operation operation() const noexcept override { return Operation::allgather; }

 private:
  std::uint32_t rounds_of(const Shape& shape, std::uint32_t phase) const override;
  std::vector<Part> parts_of(const Shape& shape, std::uint32_t phase, Rank me) const override;

  const Algorithm& gather_;
  const Algorithm& between_;
  const Algorithm& broadcast_;
};

}  // namespace stretto::schedule
