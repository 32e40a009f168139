#pragma once

#include "stretto/schedule/compose.h"

namespace stretto::schedule {

/// All-reduce inside the hosts, between them, and inside again: the vector, or a slice of it by each of some members,
/// crosses the wire once for each host, whatever the number of ranks there.
///
/// Sources: one slice, by leaders: Kielmann, Hofman, Bal, Plaat and Bhoedjang, "MagPIe: MPI's collective communication
/// operations for clustered wide area systems", PPoPP 1999. A slice for each: Cho, Finkler, Kung and Hunter,
/// "BlueConnect: decomposing all-reduce for deep learning on heterogeneous network hierarchy", MLSys 2019.
///
/// There are as many slices as the host with the fewest members has, or one. On each host member j reduces slice j of
/// all members; then the members number j of all hosts all-reduce their slices; then each gives its slice to its host.
/// Members beyond the slices only give and take. Ranks 0 to 2 on one host, 3 and 4 on another; two slices; A0 is slice
/// 0 of rank 0's input, AD0 is A0 (+) D0, R0 the result:
///
///     rank         0            1            2            3            4
///     inside       ABC0 <- 1,2  ABC1 <- 0,2  -> 0, 1      DE0 <- 4     DE1 <- 3
///     between      R0 <-> 3     R1 <-> 4                  R0 <-> 0     R1 <-> 1
///     inside       R1 <- 1      R0 <- 0      R0 R1 <- 0,1 R1 <- 4      R0 <- 3
///
/// A slice's terms are those of one host after the other, each in rank order.
class HierarchicalAllreduce final : public Composition {
 public:
  /// `reduce` and `broadcast` move a vector whole. The algorithms outlive it.
  HierarchicalAllreduce(std::string_view name, Slices slices, const Algorithm& reduce, const Algorithm& between,
                        const Algorithm& broadcast) noexcept
      : Composition(name), slices_(slices), reduce_(reduce), between_(between), broadcast_(broadcast) {}

  std::string_view source() const noexcept override;
  Operation operation() const noexcept override { return Operation::allreduce; }
  Blocking blocking(const Shape& shape) const override;
  bool needs_commutative() const noexcept override { return between_.needs_commutative(); }
  bool is_canonical(const Shape& shape) const override;

 private:
  std::uint32_t rounds_of(const Shape& shape, std::uint32_t phase) const override;
  std::vector<Part> parts_of(const Shape& shape, std::uint32_t phase, Rank me) const override;
  Shape between_shape(const Shape& shape) const;

  Slices slices_;
  const Algorithm& reduce_;
  const Algorithm& between_;
  const Algorithm& broadcast_;
};

}  // namespace stretto::schedule
