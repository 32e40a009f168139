#include "conjugate_gradient/halo.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>

#include "conjugate_gradient/kernels.h"
#include "conjugate_gradient/poisson.h"
#include "conjugate_gradient/problem.h"
#include "stretto/base/error.h"
#include "stretto/base/random.h"

namespace conjugate_gradient {
namespace {

SparseMatrix random_symmetric(std::size_t rows, std::size_t entries, std::uint64_t seed) {
  stretto::Random random(seed);
  std::vector<Entry> lower;
  for (std::size_t i = 0; i < rows; ++i) {
    lower.push_back({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i), 10});
  }
  for (std::size_t i = 0; i < entries; ++i) {
    const auto a = static_cast<std::uint32_t>(random.below(rows));
    const auto b = static_cast<std::uint32_t>(random.below(rows));
    if (a != b) lower.push_back({std::max(a, b), std::min(a, b), random.unit() - 0.5});
  }
  return mirrored(assemble(rows, rows, lower).matrix);
}

/// y = A x, by the parts of `nodes` nodes and with their ghosts, must equal the product of the whole matrix, computed
/// alone and together with A (-x).
void expect_product(const SparseMatrix& matrix, std::size_t nodes) {
  const Problem problem(MatrixFile{matrix, false, 0}, "m");
  const Partition partition = problem.partition(nodes);
  ASSERT_EQ(partition.nodes(), nodes);
  ASSERT_EQ(partition.rows(), matrix.rows);
  stretto::Random random(3);
  std::vector<double> x(matrix.rows);
  for (double& value : x) value = random.unit();

  std::vector<LocalSystem> systems;
  for (std::size_t node = 0; node < nodes; ++node) {
    systems.push_back(problem.local_system(partition, static_cast<stretto::NodeId>(node)));
  }
  for (std::size_t node = 0; node < nodes; ++node) {
    const LocalSystem& system = systems[node];
    std::vector<double> input(system.own + system.ghosts, -1e9);
    std::copy_n(x.begin() + static_cast<std::ptrdiff_t>(system.range.begin), system.own, input.begin());
    std::vector<double> output(system.own, -1e9);
    std::vector<double> together(system.own, -1e9);
    std::vector<double> negated(system.own, -1e9);
    const auto multiply_all = [&](std::span<const RowRange> runs) {
      std::vector<double> opposite(input.size());
      std::transform(input.begin(), input.end(), opposite.begin(), std::negate<>());
      const std::array<Product, 3> products{{{input, output}, {input, together}, {opposite, negated}}};
      multiply(system, runs, std::span(products).first(1));
      multiply(system, runs, std::span(products).last(2));
    };
    multiply_all(system.interior);  // must not read ghosts
    std::size_t next_ghost = system.own;
    for (const PeerExchange& exchange : system.peers) {
      ASSERT_NE(exchange.peer, node);
      ASSERT_EQ(exchange.ghost_begin, next_ghost);
      next_ghost += exchange.ghost_count;
      const LocalSystem& peer = systems[exchange.peer];
      std::size_t matches = 0;
      for (const PeerExchange& theirs : peer.peers) {
        if (theirs.peer != node) continue;
        ++matches;
        ASSERT_EQ(theirs.send.size(), exchange.ghost_count);
        const auto own = std::span(x).subspan(peer.range.begin, peer.own);
        pack(theirs, own, ghosts_of(exchange, input));
      }
      ASSERT_EQ(matches, 1U);
    }
    ASSERT_EQ(next_ghost, input.size());
    multiply_all(system.boundary);
    for (std::size_t row = 0; row < system.own; ++row) {
      double expected = 0;
      const auto columns = matrix.columns_of(system.range.begin + row);
      const auto values = matrix.values_of(system.range.begin + row);
      for (std::size_t i = 0; i < columns.size(); ++i) expected += values[i] * x[columns[i]];
      ASSERT_EQ(output[row], expected) << "the same order of sums on any number of nodes";
      ASSERT_EQ(together[row], expected);
      ASSERT_EQ(negated[row], -expected);
    }
  }
}

TEST(Halo, ProductsAgreeOnAnyNumberOfNodes) {
  for (const std::size_t nodes : {1U, 2U, 3U, 7U, 16U, 50U}) {
    expect_product(PoissonGrid(5, 4, 3).row_range({0, 60}), nodes);
    expect_product(random_symmetric(100, 300, nodes), nodes);
    expect_product(random_symmetric(11, 15, nodes), nodes);
  }
}

TEST(Partition, CoversAllRowsAlsoWithMoreNodesThanRows) {
  for (std::size_t rows = 1; rows < 20; ++rows) {
    for (std::size_t nodes = 1; nodes < 40; ++nodes) {
      const Partition partition = partition_by_nonzeros(rows, nodes, [](std::size_t row) { return 3 * row; });
      std::size_t next = 0;
      for (std::size_t node = 0; node < nodes; ++node) {
        const RowRange range = partition.range(static_cast<stretto::NodeId>(node));
        ASSERT_EQ(range.begin, next);
        ASSERT_LE(range.begin, range.end);
        next = range.end;
        for (std::size_t row = range.begin; row < range.end; ++row) ASSERT_EQ(partition.owner(row), node);
      }
      ASSERT_EQ(next, rows);
    }
  }
}

TEST(Partition, BalancesNonzerosNotRows) {
  // Half of the entries are in the first row.
  const Partition partition = partition_by_nonzeros(101, 2, [](std::size_t row) { return row == 0 ? 0 : 99 + row; });
  EXPECT_EQ(partition.range(0), (RowRange{0, 1}));
  const PoissonGrid grid(20, 20, 20);
  const Partition even = Problem(grid).partition(7);
  for (stretto::NodeId node = 0; node < 7; ++node) {
    const RowRange range = even.range(node);
    const std::size_t entries = grid.nonzeros_before(range.end) - grid.nonzeros_before(range.begin);
    EXPECT_NEAR(static_cast<double>(entries), static_cast<double>(grid.nonzeros()) / 7, 27);
  }
}

TEST(Poisson, MakesAnyRangeOfItsRows) {
  for (const auto& [nx, ny, nz] :
       {std::tuple(5, 4, 3), std::tuple(1, 1, 1), std::tuple(2, 1, 7), std::tuple(1, 6, 2)}) {
    const PoissonGrid grid(static_cast<std::size_t>(nx), static_cast<std::size_t>(ny), static_cast<std::size_t>(nz));
    const SparseMatrix whole = grid.row_range({0, grid.rows()});
    ASSERT_EQ(whole.nonzeros(), grid.nonzeros());
    for (std::size_t row = 0; row <= grid.rows(); ++row) {
      ASSERT_EQ(grid.nonzeros_before(row), whole.row_start[row]) << row;
      const SparseMatrix rest = grid.row_range({row, grid.rows()});
      const SparseMatrix cut = rows_of(whole, {row, grid.rows()});
      ASSERT_EQ(rest.column, cut.column);
      ASSERT_EQ(rest.value, cut.value);
    }
    EXPECT_EQ(require_symmetric(whole, "poisson").nonzeros(), whole.nonzeros());
  }
  EXPECT_EQ(PoissonGrid(3, 3, 3).row_range({13, 14}).nonzeros(), 27U);
  EXPECT_EQ(PoissonGrid(64, 64, 64).nonzeros(), 6859000U);  // (3 * 64 - 2)^3
}

TEST(Poisson, RefusesEmptyAndHugeGrids) {
  EXPECT_THROW(PoissonGrid(0, 1, 1), stretto::Error);
  EXPECT_THROW(PoissonGrid(1, 1, 0), stretto::Error);
  EXPECT_THROW(PoissonGrid(65536, 65536, 1), stretto::Error);
  EXPECT_THROW(PoissonGrid(std::size_t{1} << 40U, std::size_t{1} << 40U, 1), stretto::Error);
  EXPECT_NO_THROW(PoissonGrid(1600, 1600, 1600));
}

}  // namespace
}  // namespace conjugate_gradient
