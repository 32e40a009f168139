#pragma once

#include "stretto/schedule/compose.h"

namespace stretto::schedule {

/// Reduce-scatter inside the hosts and between them: a partial result of each block crosses the wire once for each
/// other host, or as often as the algorithm between the hosts would have it.
///
/// Sources: one slice, by leaders: Kielmann, Hofman, Bal, Plaat and Bhoedjang, "MagPIe: MPI's collective communication
/// operations for clustered wide area systems", PPoPP 1999. A slice for each: the first half of Cho, Finkler, Kung and
/// Hunter, "BlueConnect: decomposing all-reduce for deep learning on heterogeneous network hierarchy", MLSys 2019;
/// there slices are equally long, here they are the blocks of some members of each host.
///
/// There are as many slices as the host with the fewest members has, or one: of S, slice j has the blocks of the
/// members at places j, j + S, j + 2 S, ... of all hosts. On each host member j reduces slice j of all members; then
/// the members number j of all hosts reduce-scatter it, so that each has what belongs to its host; then it gives those
/// on whose behalf it did so their blocks. Ranks 0 to 2 on one host, 3 and 4 on another; slice 0 is blocks 0, 2 and 3;
/// ABC3 is A3 (+) B3 (+) C3, R3 the sum over all ranks:
///
///     rank         0                1                2            3              4
///     inside       ABC0,2,3 <- 1,2  ABC1,4 <- 0,2    -> 0, 1      DE0,2,3 <- 4   DE1,4 <- 3
///     between      R0 R2 <-> 3      R1 <-> 4                      R3 <-> 0       R4 <-> 1
///     inside       -> 2                              R2 <- 0
///
/// A block's terms are those of one host after the other, each in rank order.
class HierarchicalReduceScatter final : public Composition {
 public:
  /// `reduce` moves a vector whole. The algorithms outlive it.
  HierarchicalReduceScatter(std::string_view name, Slices slices, const Algorithm& reduce, const Algorithm& between,
                            const Algorithm& scatter) noexcept
      : Composition(name), slices_(slices), reduce_(reduce), between_(between), scatter_(scatter) {}

  std::string_view source() const noexcept override;
  Operation operation() const noexcept override { return Operation::reduce_scatter; }
  bool needs_commutative() const noexcept override { return between_.needs_commutative(); }
  bool is_canonical(const Shape& shape) const override;

 private:
  std::uint32_t rounds_of(const Shape& shape, std::uint32_t phase) const override;
  std::vector<Part> parts_of(const Shape& shape, std::uint32_t phase, Rank me) const override;
  std::vector<Part> reduces(const Shape& shape, Rank me) const;
  Shape between_shape(const Shape& shape) const;
  Shape scatter_shape(const Shape& shape, Rank members) const;

  Slices slices_;
  const Algorithm& reduce_;
  const Algorithm& between_;
  const Algorithm& scatter_;
};

}  // namespace stretto::schedule
