#pragma once

#include "stretto/schedule/algorithm.h"

namespace stretto::schedule {

/// All-to-all in which all that one host's ranks have for those of another crosses the wire together, for blocks of
/// equal length: three rounds, inside the hosts, between them, and inside.
///
/// Source: the three steps of Bienz, Gropp and Olson, "Node aware sparse matrix-vector multiplication", Journal of
/// Parallel and Distributed Computing 130, 2019: ranks of a node share out the nodes that they send to.
///
/// Hosts are counted around. The first member of each is the agent for the next host and the one before, the second
/// for those at distance 2, and so on, members taking turns. To its agent for the next host each member gives what it
/// has for that, a row of a table; agents send their table to that of the next host, and get one from the host before;
/// they turn it, so that a row is what is for one member, and hand the rows out. Ranks 0 and 1 on one host, 2 and 3 on
/// another, of which 0 and 2 are the agents; AB is from rank A for rank B:
///
///     rank         0                  1              2                  3
///     inside       AC AD, BC BD <- 1  -> 0           CA CB, DA DB <- 3  -> 2
///                  BA <- 1            AB <- 0        DC <- 3            CD <- 2
///     between      CA CB, DA DB <-> 2                AC AD, BC BD <-> 0
///     turned       CA DA, CB DB                      AC BC, AD BD
///     inside       -> 1               CB DB <- 0     -> 3               AD BD <- 2
///
/// Scratch has, for each host that a rank is the agent for, the table that it gives, the one that it gets, and that
/// one turned. A table has as many rows side by side as fit into a vector of P blocks, and goes as one message for
/// each such vector: as one where there are as many hosts as ranks on each.
class AggregatedAllToAll final : public Algorithm {
 public:
  std::string_view name() const noexcept override { return "aggregated_all_to_all"; }
  std::string_view source() const noexcept override;
  Operation operation() const noexcept override { return Operation::all_to_all; }
  bool needs_hosts() const noexcept override { return true; }
  bool needs_equal_blocks() const noexcept override { return true; }
  std::uint32_t rounds(const Shape& shape) const override;
  void steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const override;
  std::uint32_t scratch_blocks(const Shape& shape, Rank me) const override;
};

}  // namespace stretto::schedule
