#pragma once

#include "stretto/schedule/compose.h"

namespace stretto::schedule {

/// Scan or exclusive scan inside the hosts, of the hosts' sums between them, and then all members put before their
/// prefix what the hosts before theirs give: a sum of each host crosses the wire, not one of each rank. For hosts whose
/// ranks follow one another.
///
/// Source: Sanders and Träff, "Parallel prefix (scan) algorithms for MPI", EuroPVM/MPI 2006, on clusters of SMP nodes.
///
/// The first member of each host speaks for it; nobody asks for the last host's sum. Ranks 0 to 2 on one host, 3 and 4
/// on another; prefix | sum of the host or, from the second line on, of the hosts before:
///
///     rank         0              1              2              3              4
///     inside       a | abc <- 1,2 ab |           abc |          d |            de |
///     between      a | -> 3       ab |           abc |          d | abc <- 0   de |
///     inside       a              ab             abc            abcd -> 4      abcde <- 3
///
/// Of an exclusive scan what the hosts before give is the first member's result.
class HierarchicalScan final : public Composition {
 public:
  /// `prefix` is an algorithm for the same operation, `between` one for exscan. The algorithms outlive it.
  HierarchicalScan(std::string_view name, const Algorithm& prefix, const Algorithm& reduce,
                   const Algorithm& between) noexcept
      : Composition(name), prefix_(prefix), reduce_(reduce), between_(between) {}

  std::string_view source() const noexcept override;
  Operation operation() const noexcept override { return prefix_.operation(); }
  bool needs_hosts_in_order() const noexcept override { return true; }

 private:
  std::uint32_t rounds_of(const Shape& shape, std::uint32_t phase) const override;
  std::vector<Part> parts_of(const Shape& shape, std::uint32_t phase, Rank me) const override;
  std::vector<Part> prefix_and_sum(const Shape& shape, Rank me) const;
  BufferName sum_before() const noexcept;

  const Algorithm& prefix_;
  const Algorithm& reduce_;
  const Algorithm& between_;
};

}  // namespace stretto::schedule
