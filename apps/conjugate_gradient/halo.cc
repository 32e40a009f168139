#include "conjugate_gradient/halo.h"

#include <algorithm>
#include <utility>

namespace conjugate_gradient {
namespace {

bool is_inside(RowRange range, std::size_t column) { return column >= range.begin && column < range.end; }

/// The columns outside of `own` that `rows` reads, ascending, each once.
std::vector<std::uint32_t> ghost_columns(const SparseMatrix& rows, RowRange own) {
  std::vector<std::uint32_t> ghosts;
  for (const std::uint32_t column : rows.column) {
    if (!is_inside(own, column)) ghosts.push_back(column);
  }
  std::sort(ghosts.begin(), ghosts.end());
  ghosts.erase(std::unique(ghosts.begin(), ghosts.end()), ghosts.end());
  return ghosts;
}

/// One exchange per run of ghosts with the same owner; nothing to send yet.
std::vector<PeerExchange> group_by_owner(std::span<const std::uint32_t> ghosts, const Partition& partition,
                                         std::size_t own) {
  std::vector<PeerExchange> peers;
  for (std::size_t i = 0; i < ghosts.size(); ++i) {
    if (peers.empty() || !is_inside(partition.range(peers.back().peer), ghosts[i])) {
      peers.push_back(PeerExchange{partition.owner(ghosts[i]), {}, own + i, 0});
    }
    ++peers.back().ghost_count;
  }
  return peers;
}

/// Entries keep their order, so that a product adds each row up in the same order on any number of nodes.
void renumber_columns(SparseMatrix& rows, RowRange own, std::span<const std::uint32_t> ghosts) {
  for (std::uint32_t& column : rows.column) {
    if (is_inside(own, column)) {
      column = static_cast<std::uint32_t>(column - own.begin);
    } else {
      const auto found = std::lower_bound(ghosts.begin(), ghosts.end(), column);
      column = static_cast<std::uint32_t>(own.size() + static_cast<std::size_t>(found - ghosts.begin()));
    }
  }
  rows.columns = own.size() + ghosts.size();
}

/// By symmetry a peer reads my row i exactly if row i reads one of the peer's values.
void find_sends(LocalSystem& system) {
  std::vector<std::size_t> exchange_of_ghost;
  for (std::size_t i = 0; i < system.peers.size(); ++i) {
    exchange_of_ghost.insert(exchange_of_ghost.end(), system.peers[i].ghost_count, i);
  }
  for (std::size_t row = 0; row < system.own; ++row) {
    for (const std::uint32_t column : system.matrix.columns_of(row)) {
      if (column < system.own) continue;
      std::vector<std::uint32_t>& send = system.peers[exchange_of_ghost[column - system.own]].send;
      if (send.empty() || send.back() != row) send.push_back(static_cast<std::uint32_t>(row));
    }
  }
}

void split_rows(LocalSystem& system) {
  for (std::size_t row = 0; row < system.own; ++row) {
    const auto columns = system.matrix.columns_of(row);
    const bool reads_ghost =
        std::any_of(columns.begin(), columns.end(), [&](std::uint32_t column) { return column >= system.own; });
    std::vector<RowRange>& runs = reads_ghost ? system.boundary : system.interior;
    if (!runs.empty() && runs.back().end == row) {
      ++runs.back().end;
    } else {
      runs.push_back({row, row + 1});
    }
  }
}

}  // namespace

LocalSystem make_local_system(SparseMatrix rows, const Partition& partition, stretto::NodeId me,
                              std::string_view name) {
  LocalSystem system;
  system.range = partition.range(me);
  system.own = system.range.size();
  system.inverse_diagonal = diagonal_of(rows, system.range.begin);
  require_positive_diagonal(system.inverse_diagonal, name, system.range.begin);
  for (double& entry : system.inverse_diagonal) entry = 1 / entry;

  const std::vector<std::uint32_t> ghosts = ghost_columns(rows, system.range);
  system.ghosts = ghosts.size();
  system.peers = group_by_owner(ghosts, partition, system.own);
  renumber_columns(rows, system.range, ghosts);
  system.matrix = std::move(rows);
  find_sends(system);
  split_rows(system);
  return system;
}

void pack(const PeerExchange& exchange, std::span<const double> vector, std::span<double> outgoing) {
  for (std::size_t i = 0; i < exchange.send.size(); ++i) outgoing[i] = vector[exchange.send[i]];
}

}  // namespace conjugate_gradient
