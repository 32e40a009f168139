#include "fft3d/transposition.h"

#include <gtest/gtest.h>

#include <numeric>

namespace fft3d {
namespace {

TEST(Partition, HasEverythingOnceAndEvenly) {
  for (std::size_t count = 0; count <= 40; ++count) {
    for (std::uint32_t nodes = 1; nodes <= 20; ++nodes) {
      const Partition partition(count, nodes);
      EXPECT_EQ(partition.begin(0), 0U);
      EXPECT_EQ(partition.begin(nodes), count);
      for (std::uint32_t node = 0; node < nodes; ++node) {
        EXPECT_LE(partition.size(node), partition.largest());
        EXPECT_GE(partition.size(node) + 1, partition.largest());
      }
    }
  }
}

struct Array {
  std::size_t planes;
  std::size_t rows;
  std::size_t points;
};

// Moves numbered elements by hand, round by round, as an all-to-all would.
void expect_transposed(const Array& array, std::uint32_t nodes, std::size_t planes_per_round) {
  const Partition planes(array.planes, nodes);
  const Partition rows(array.rows, nodes);
  std::vector<Transposition> all;
  std::vector<std::vector<Complex>> before, given, after;
  for (std::uint32_t me = 0; me < nodes; ++me) {
    const Transposition& mine = all.emplace_back(planes, rows, array.points, me, planes_per_round);
    EXPECT_EQ(mine.rounds(), all.front().rounds());
    before.emplace_back(mine.input_size());
    for (std::size_t i = 0; i < before.back().size(); ++i) {
      before.back()[i] = static_cast<double>(planes.begin(me) * array.rows * array.points + i);
    }
    given.emplace_back(mine.input_size());
    after.emplace_back(mine.output_size(), -1);
  }
  for (std::size_t round = 0; round < all.front().rounds(); ++round) {
    std::vector<std::vector<Complex>> got(nodes);
    for (std::uint32_t from = 0; from < nodes; ++from) {
      const std::vector<std::size_t> counts = all[from].input_counts(round);
      const std::size_t size = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
      EXPECT_EQ(size, all[from].planes_in(round) * all[from].plane_size());
      const auto part = std::span(given[from]).subspan(all[from].input_offset(round), size);
      all[from].pack(round, before[from], part);
      std::size_t at = 0;
      for (std::uint32_t to = 0; to < nodes; ++to) {
        EXPECT_EQ(counts[to], all[to].output_counts(round)[from]);
        const auto block = part.subspan(at, counts[to]);
        got[to].insert(got[to].end(), block.begin(), block.end());
        at += counts[to];
      }
    }
    for (std::uint32_t to = 0; to < nodes; ++to) {
      EXPECT_LE(all[to].output_offset(round) + got[to].size(), all[to].output_size());
      all[to].unpack(round, got[to], after[to]);
    }
  }
  for (std::uint32_t me = 0; me < nodes; ++me) {
    for (std::size_t i = 0; i < after[me].size(); ++i) {
      const std::size_t row = rows.begin(me) + i / array.points / array.planes;
      const std::size_t plane = i / array.points % array.planes;
      const double expected = static_cast<double>((plane * array.rows + row) * array.points + i % array.points);
      ASSERT_EQ(after[me][i], Complex(expected)) << nodes << " nodes, node " << me << ", element " << i;
    }
  }
}

TEST(Transposition, EveryElementGetsToItsPlace) {
  for (std::uint32_t nodes = 1; nodes <= 17; ++nodes) {
    for (const std::size_t planes_per_round : {1U, 2U, 3U, 100U}) {
      for (const Array& array : {Array{8, 6, 2}, Array{5, 13, 1}, Array{1, 9, 3}, Array{9, 1, 3}, Array{16, 16, 1}}) {
        expect_transposed(array, nodes, planes_per_round);
      }
    }
  }
}

// The rounds of a node have their own places, one behind the other.
TEST(Transposition, RoundsDoNotOverlap) {
  for (std::uint32_t nodes = 1; nodes <= 9; ++nodes) {
    for (std::uint32_t me = 0; me < nodes; ++me) {
      const Transposition mine(Partition(11, nodes), Partition(7, nodes), 3, me, 2);
      for (std::size_t round = 0; round < mine.rounds(); ++round) {
        const auto size = [](const std::vector<std::size_t>& counts) {
          return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
        };
        EXPECT_EQ(mine.input_offset(round + 1), mine.input_offset(round) + size(mine.input_counts(round)));
        EXPECT_EQ(mine.output_offset(round + 1), mine.output_offset(round) + size(mine.output_counts(round)));
      }
      EXPECT_EQ(mine.input_offset(mine.rounds()), mine.input_size());
      EXPECT_EQ(mine.output_offset(mine.rounds()), mine.output_size());
    }
  }
}

}  // namespace
}  // namespace fft3d
