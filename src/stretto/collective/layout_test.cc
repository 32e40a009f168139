#include "stretto/collective/layout.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

namespace stretto {
namespace {

using schedule::Buffer;
using schedule::Operation;
using schedule::Rank;
using schedule::Shape;

std::vector<std::size_t> offsets(const BlockTable& table, std::uint32_t blocks) {
  std::vector<std::size_t> result;
  for (std::uint32_t index = 0; index <= blocks; ++index) result.push_back(table.offset(index));
  return result;
}

using Offsets = std::vector<std::size_t>;

TEST(BlockTable, CutsAVectorAsEvenlyAsCanBe) {
  EXPECT_EQ(offsets(BlockTable::cut(10, 4, 8), 4), (Offsets{0, 24, 48, 64, 80}));
  EXPECT_EQ(offsets(BlockTable::cut(8, 4, 1), 4), (Offsets{0, 2, 4, 6, 8}));
  EXPECT_EQ(offsets(BlockTable::cut(5, 1, 4), 1), (Offsets{0, 20}));
}

TEST(BlockTable, CutsFewerElementsThanBlocksIntoEmptyOnesAtTheEnd) {
  EXPECT_EQ(offsets(BlockTable::cut(2, 5, 8), 5), (Offsets{0, 8, 16, 16, 16, 16}));
  EXPECT_EQ(offsets(BlockTable::cut(0, 3, 8), 3), (Offsets{0, 0, 0, 0}));
}

TEST(BlockTable, HasEqualAndListedBlocks) {
  EXPECT_EQ(offsets(BlockTable::equal(12), 3), (Offsets{0, 12, 24, 36}));
  EXPECT_EQ(offsets(BlockTable::equal(0), 3), (Offsets{0, 0, 0, 0}));
  const Offsets listed{0, 4, 4, 20};
  EXPECT_EQ(offsets(BlockTable::listed(listed), 3), listed);
}

TEST(BlockTable, IsEmptyUnlessMade) { EXPECT_EQ(offsets(BlockTable(), 2), (Offsets{0, 0, 0})); }

// A call with buffers of its own.
struct Call {
  Call(Operation operation, std::size_t in, std::size_t out) : form{operation, 4, 4, 0, {}}, input(in), output(out) {
    call.input = input;
    call.output = output;
  }
  void list(Offsets of_blocks, Offsets of_output = {}) {
    call.lists = std::make_shared<const CallLists>(CallLists{std::move(of_blocks), std::move(of_output), {}});
  }

  CallForm form;
  std::vector<std::byte> input;
  std::vector<std::byte> output;
  CollectiveCall call{form};
};

TEST(Layout, AVectorIsCutAlikeInInputOutputAndScratch) {
  Call of(Operation::allreduce, 40, 40);
  const Layout layout(of.call, {.operation = Operation::allreduce, .size = 4, .blocks = 4});
  EXPECT_EQ(layout.place_of({Buffer::input, 1, 2}), (Place{Buffer::input, 12, 20}));
  EXPECT_EQ(layout.place_of({Buffer::output, 0, 4}), (Place{Buffer::output, 0, 40}));
  EXPECT_EQ(layout.place_of({Buffer::output, 3, 1}), (Place{Buffer::output, 32, 8}));
  EXPECT_EQ(layout.place_of({Buffer::scratch, 2, 2}), (Place{Buffer::scratch, 24, 16}));
  EXPECT_EQ(layout.place_of({Buffer::scratch, 9, 3}), (Place{Buffer::scratch, 2 * 64 + 12, 28}));
}

TEST(Layout, AnUncutVectorHasOneSlotAfterTheOther) {
  Call of(Operation::scan, 100, 100);
  const Layout layout(of.call, {.operation = Operation::scan, .size = 4});
  EXPECT_EQ(layout.place_of({Buffer::scratch, 2, 1}), (Place{Buffer::scratch, 256, 100}));
  EXPECT_EQ(layout.place_of({Buffer::input, 0, 1}), (Place{Buffer::input, 0, 100}));
}

TEST(Layout, NothingHasNoMemory) {
  Call of(Operation::barrier, 0, 0);
  const Layout layout(of.call, {.operation = Operation::barrier, .size = 4});
  EXPECT_EQ(layout.place_of({Buffer::input, 0, 0}).bytes, 0U);
  EXPECT_EQ(layout.place_of({Buffer::scratch, 0, 0}).bytes, 0U);
}

// Vectors in scratch begin at multiples of the alignment; in a vector, blocks are side by side.
TEST(Layout, ScratchSlotsLieAsInVectorsThatAreAligned) {
  Call of(Operation::allgather, 20, 60);
  const Layout layout(of.call, {.operation = Operation::allgather, .size = 3});
  EXPECT_EQ(layout.place_of({Buffer::scratch, 1, 2}), (Place{Buffer::scratch, 20, 40}));
  EXPECT_EQ(layout.place_of({Buffer::scratch, 3, 3}), (Place{Buffer::scratch, 64, 60}));
  EXPECT_EQ(layout.place_of({Buffer::scratch, 5, 1}), (Place{Buffer::scratch, 104, 20}));
}

TEST(Layout, ListedBlocksMayBeEmpty) {
  Call of(Operation::scatter, 32, 8);
  of.list({0, 8, 8, 32});
  const Layout layout(of.call, {.operation = Operation::scatter, .size = 3});
  EXPECT_EQ(layout.place_of({Buffer::input, 0, 1}), (Place{Buffer::input, 0, 8}));
  EXPECT_EQ(layout.place_of({Buffer::input, 1, 1}), (Place{Buffer::input, 8, 0}));
  EXPECT_EQ(layout.place_of({Buffer::input, 1, 2}), (Place{Buffer::input, 8, 24}));
  EXPECT_EQ(layout.place_of({Buffer::output, 0, 1}), (Place{Buffer::output, 0, 8}));
  EXPECT_EQ(layout.place_of({Buffer::scratch, 2, 1}), (Place{Buffer::scratch, 8, 24}));
  EXPECT_EQ(layout.place_of({Buffer::scratch, 4, 1}), (Place{Buffer::scratch, 64 + 8, 0}));
}

TEST(Layout, AnAllToAllListsWhatItGivesAndWhatItGets) {
  Call of(Operation::all_to_all, 24, 12);
  of.list({0, 4, 24}, {0, 4, 12});
  const Layout layout(of.call, {.operation = Operation::all_to_all, .size = 2});
  EXPECT_EQ(layout.place_of({Buffer::input, 1, 1}), (Place{Buffer::input, 4, 20}));
  EXPECT_EQ(layout.place_of({Buffer::output, 1, 1}), (Place{Buffer::output, 4, 8}));
}

// In a general reduce some have one of the buffers only.
TEST(Layout, AVectorIsAsLongAsTheBufferThatIsThere) {
  for (const auto& [in, out] : {std::pair(40U, 0U), std::pair(0U, 40U), std::pair(40U, 40U)}) {
    Call of(Operation::general_reduce, in, out);
    const Layout layout(of.call, {.operation = Operation::general_reduce, .size = 4, .blocks = 2, .contributors = 2});
    EXPECT_EQ(layout.place_of({Buffer::scratch, 1, 1}), (Place{Buffer::scratch, 20, 20}));
    EXPECT_EQ(layout.place_of({Buffer::scratch, 2, 1}), (Place{Buffer::scratch, 64, 20}));
  }
}

std::ptrdiff_t distance(Operation operation, std::size_t in, std::size_t out, Rank me, Offsets listed = {}) {
  Call of(operation, in, out);
  of.list(std::move(listed));
  const Shape shape{.operation = operation, .size = 3};
  return Layout(of.call, shape).in_place_distance(shape, me);
}

TEST(Layout, KnowsWhereTheOtherBufferIsInPlace) {
  for (Rank me = 0; me < 3; ++me) {
    const auto rank = static_cast<std::ptrdiff_t>(me);
    for (const Operation operation : {Operation::broadcast, Operation::reduce, Operation::allreduce, Operation::scan,
                                      Operation::exscan, Operation::general_reduce}) {
      EXPECT_EQ(distance(operation, 24, 24, me), 0) << schedule::name_of(operation);
    }
    for (const Operation operation : {Operation::gather, Operation::allgather}) {
      EXPECT_EQ(distance(operation, 8, 24, me), 8 * rank) << schedule::name_of(operation);
    }
    for (const Operation operation : {Operation::scatter, Operation::reduce_scatter}) {
      EXPECT_EQ(distance(operation, 24, 8, me), -8 * rank) << schedule::name_of(operation);
    }
  }
}

TEST(Layout, KnowsWhereTheOtherBufferIsAmongListedBlocks) {
  const Offsets listed{0, 4, 4, 24};
  EXPECT_EQ(distance(Operation::gather, 20, 24, 2, listed), 4);
  EXPECT_EQ(distance(Operation::allgather, 0, 24, 1, listed), 4);
  EXPECT_EQ(distance(Operation::scatter, 24, 20, 2, listed), -4);
  EXPECT_EQ(distance(Operation::reduce_scatter, 24, 4, 0, listed), 0);
}

}  // namespace
}  // namespace stretto
