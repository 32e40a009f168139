#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "conjugate_gradient/partition.h"
#include "conjugate_gradient/sparse_matrix.h"
#include "stretto/base/ids.h"

namespace conjugate_gradient {

/// What one node and one of its peers exchange before each product.
struct PeerExchange {
  stretto::NodeId peer = 0;
  std::vector<std::uint32_t> send;  ///< my own rows (local, ascending) whose values the peer needs, in this order
  std::size_t ghost_begin = 0;      ///< where in a ghosted vector the peer's values go,
  std::size_t ghost_count = 0;      ///< and how many they are
};

/// One node's part of a linear system, ready for products without any lookup.
///
/// Columns are renumbered: own rows first, [0, own), then the ghosts, values of other nodes, ascending by global row
/// and hence grouped by peer in the order of `peers`. Entries keep their order within a row, so that the sums of a
/// product do not depend on the number of nodes. A vector that is multiplied has own + ghosts elements, every
/// other one has `own`. Plain data, immutable once made, used by its node only.
struct LocalSystem {
  RowRange range;          ///< the rows of the whole matrix that this node owns
  std::size_t own = 0;     ///< how many they are
  std::size_t ghosts = 0;  ///< how many values of other nodes a product reads
  SparseMatrix matrix;     ///< own × (own + ghosts)
  std::vector<double> inverse_diagonal;
  std::vector<PeerExchange> peers;  ///< ascending by peer
  std::vector<RowRange> interior;   ///< runs of local rows that read no ghost: multiplied while values travel
  std::vector<RowRange> boundary;   ///< the other runs
};

/// The part of node `me`, from its own rows alone: a symmetric pattern tells each node what its peers need, so making
/// it costs no communication.
///
/// `rows` holds the rows partition.range(me) with the columns of the whole matrix, whose pattern is symmetric (see
/// require_symmetric). Throws Error(bad_input) when a diagonal entry is not positive; `name` opens the message.
LocalSystem make_local_system(SparseMatrix rows, const Partition& partition, stretto::NodeId me, std::string_view name);

/// The values that `exchange`'s peer waits for, taken from `vector` in the agreed order.
/// REQUIRES: outgoing.size() == exchange.send.size().
void pack(const PeerExchange& exchange, std::span<const double> vector, std::span<double> outgoing);

/// Where the values of `exchange`'s peer belong in the ghosted vector `vector`.
inline std::span<double> ghosts_of(const PeerExchange& exchange, std::span<double> vector) {
  return vector.subspan(exchange.ghost_begin, exchange.ghost_count);
}

}  // namespace conjugate_gradient
