#pragma once

#include "stretto/schedule/compose.h"

namespace stretto::schedule {

/// Gather inside the hosts to one member of each, and from there to the root: it gets one message of each host, or of
/// some of them, not of each rank.
///
/// Source: Kielmann, Hofman, Bal, Plaat and Bhoedjang, "MagPIe: MPI's collective communication operations for clustered
/// wide area systems", PPoPP 1999.
///
/// The root stands for its host, the first members for the others. Ranks 0, 1 and 4 on one host, 2 and 3 on another, to
/// rank 1; what does not lie together goes as several messages:
///
///     rank         0            1            2            3            4
///     inside       -> 1         014 <- 0, 4  23 <- 3      -> 2         -> 1
///     between                   all <- 2     -> 1
class HierarchicalGather final : public Composition {
 public:
  /// Of `between` a rank keeps the blocks that it passes on in the slots of these. The algorithms outlive it.
  HierarchicalGather(std::string_view name, const Algorithm& inside, const Algorithm& between) noexcept
      : Composition(name), inside_(inside), between_(between) {}

  Operation operation() const noexcept override { return Operation::gather; }

 private:
  std::uint32_t rounds_of(const Shape& shape, std::uint32_t phase) const override;
  std::vector<Part> parts_of(const Shape& shape, std::uint32_t phase, Rank me) const override;
  Shape between_shape(const Shape& shape) const;

  const Algorithm& inside_;
  const Algorithm& between_;
};

}  // namespace stretto::schedule
