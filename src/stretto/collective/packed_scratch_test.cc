#include "stretto/collective/packed_scratch.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "stretto/collective/placed_plan.h"
#include "stretto/schedule/test_support.h"

namespace stretto {
namespace {

using schedule::Buffer;
using schedule::Operation;
using schedule::Rank;
using schedule::Shape;
using schedule::Step;
using schedule::StepKind;

constexpr std::size_t vector = 1024;
constexpr std::size_t line = Layout::scratch_alignment;

PackedScratch packed(std::initializer_list<Place> places) {
  PackedScratch scratch;
  for (const Place& place : places) scratch.add(place);
  scratch.pack();
  return scratch;
}

Place moved(const PackedScratch& scratch, Place place) {
  scratch.move(place);
  return place;
}

TEST(PackedScratch, BlocksOfVectorsFollowEachOther) {
  const Place first{Buffer::scratch, 128, 64};
  const Place second{Buffer::scratch, vector + 128, 64};
  const Place third{Buffer::scratch, 3 * vector + 128, 64};
  const PackedScratch scratch = packed({second, third, first});
  EXPECT_EQ(scratch.bytes(), 3 * 64U);
  EXPECT_EQ(moved(scratch, first), (Place{Buffer::scratch, 0, 64}));
  EXPECT_EQ(moved(scratch, second), (Place{Buffer::scratch, 64, 64}));
  EXPECT_EQ(moved(scratch, third), (Place{Buffer::scratch, 128, 64}));
}

// So elements keep their alignment, and what was in lines of its own is so still.
TEST(PackedScratch, PlacesBeginAsFarIntoALineAsBefore) {
  const Place first{Buffer::scratch, 40, 100};
  const Place second{Buffer::scratch, vector + 40, 100};
  const PackedScratch scratch = packed({first, second});
  EXPECT_EQ(scratch.bytes(), 6 * 64U);
  EXPECT_EQ(moved(scratch, first), first);
  EXPECT_EQ(moved(scratch, second), (Place{Buffer::scratch, 192 + 40, 100}));
}

TEST(PackedScratch, WhatOverlapsOrAdjoinsStaysSo) {
  const Place whole{Buffer::scratch, vector, 300};
  const Place part{Buffer::scratch, vector + 100, 50};
  const Place next{Buffer::scratch, vector + 300, 20};
  const PackedScratch scratch = packed({next, part, whole});
  EXPECT_EQ(scratch.bytes(), 320U);
  EXPECT_EQ(moved(scratch, whole), (Place{Buffer::scratch, 0, 300}));
  EXPECT_EQ(moved(scratch, part), (Place{Buffer::scratch, 100, 50}));
  EXPECT_EQ(moved(scratch, next), (Place{Buffer::scratch, 300, 20}));
}

TEST(PackedScratch, OtherBuffersAndNothingTakeNoMemory) {
  const Place input{Buffer::input, 700, 100};
  const Place nothing{Buffer::scratch, vector, 0};
  const PackedScratch scratch = packed({input, nothing});
  EXPECT_EQ(scratch.bytes(), 0U);
  EXPECT_EQ(moved(scratch, input), input);
  EXPECT_EQ(moved(scratch, nothing).bytes, 0U);
}

// What one member of so many does with a vector of so many bytes. It shares memory with those whose ids are even, or
// all.
enum class Shared : std::uint8_t { with_nobody, with_some, with_all };

struct Placed {
  Placed(const Plan& its_plan, std::size_t bytes, Shared shared)
      : plan(its_plan),
        memory(bytes),
        form{plan.schedule().shape.operation, 1, 1, 0, {}},
        layout(call_of(form, memory), plan.schedule().shape),
        placed(
            plan, layout, members_of(plan.schedule().shape.size), {512, 8192, true, true, eager_bytes},
            [=](NodeId node) { return shared == Shared::with_all || (shared == Shared::with_some && node % 2 == 0); }) {
  }

  static CollectiveCall call_of(const CallForm& form, std::vector<std::byte>& memory) {
    CollectiveCall call(form);
    call.input = memory;
    call.output = memory;
    return call;
  }
  static Group members_of(Rank size) {
    std::vector<NodeId> nodes;
    for (Rank rank = 0; rank < size; ++rank) nodes.push_back(rank);
    return Group(nodes);
  }

  // The places that a step reads or writes here: by the layout, and where they were put.
  std::vector<std::pair<Place, Place>> used_by(std::uint32_t index) const {
    const Lowering& lowering = plan.lowering();
    const Step& step = plan.steps()[index];
    const PlacedStep& put = placed.steps[index];
    const Place source = layout.place_of(step.source());
    const Place destination = layout.place_of(step.destination());
    const bool is_combined_elsewhere = lowering.reader[index] != Lowering::none && put.is_pulled && put.is_large();
    switch (step.kind) {
      case StepKind::send: return {{source, put.data}};
      case StepKind::receive:
        if (is_combined_elsewhere) return {};
        return {{destination, put.data}};
      case StepKind::copy:
        if (lowering.copy_before[index] != Lowering::none) return {};
        return {{source, put.data}, {destination, put.destination}};
      case StepKind::reduce: break;
    }
    std::vector<std::pair<Place, Place>> used{{destination, put.destination}};
    const std::uint32_t from = lowering.source_from[index];
    const bool comes_here = from == Lowering::none || !placed.steps[from].is_pulled || !placed.steps[from].is_large();
    if (comes_here) used.emplace_back(source, step.order == schedule::Order::source_first ? put.data : put.right);
    return used;
  }

  const Plan& plan;
  std::vector<std::byte> memory;
  CallForm form;
  Layout layout;
  PlacedPlan placed;
};

// Of scratch whose memory is not, line by line, what is used.
std::string fault_of(const Placed& of) {
  std::map<std::size_t, std::size_t> memory_of;  // by line
  std::set<std::size_t> taken;
  for (std::uint32_t index = 0; index < of.plan.steps().size(); ++index) {
    for (const auto& [before, put] : of.used_by(index)) {
      const std::string which = "step " + std::to_string(index);
      if (put.buffer != before.buffer || put.bytes != before.bytes) return which + " is of another place";
      if (before.buffer != Buffer::scratch || before.bytes == 0) {
        if (before.bytes > 0 && put.offset != before.offset) return which + " has moved out of scratch";
        continue;
      }
      if (put.offset % line != before.offset % line) return which + " has lost its alignment";
      for (std::size_t at = 0; at <= (before.offset + before.bytes - 1) / line - before.offset / line; ++at) {
        const std::size_t memory = put.offset / line + at;
        const auto [known, is_new] = memory_of.emplace(before.offset / line + at, memory);
        if (known->second != memory) return which + " lies elsewhere than for others";
        if (is_new && !taken.insert(memory).second) return which + " takes the memory of others";
      }
    }
  }
  if (of.placed.scratch_bytes != taken.size() * line) return "more or less memory than is used";
  return taken.empty() || *taken.rbegin() + 1 == taken.size() ? "" : "beyond its memory";
}

TEST(PackedScratch, PlansHaveMemoryForWhatTheyUseAndNoMore) {
  for (const schedule::Algorithm* const algorithm : schedule::algorithms()) {
    for (const Rank size : {1U, 2U, 5U, 8U}) {
      for (const Shape& shape : schedule::test::shapes(*algorithm, size, 2, 2)) {
        for (const Rank me : std::set<Rank>{0, size / 2, size - 1}) {
          const Plan plan(*algorithm, shape, me);
          for (const std::size_t bytes : {std::size_t{300}, std::size_t{2000}, std::size_t{50'000}}) {
            for (const Shared shared : {Shared::with_nobody, Shared::with_some, Shared::with_all}) {
              ASSERT_EQ(fault_of(Placed(plan, bytes, shared)), "")
                  << schedule::test::label(*algorithm, shape) << ", rank " << me << ", " << bytes << " bytes";
            }
          }
        }
      }
    }
  }
}

// Of each vector a block is used: of partial results, and where they land.
TEST(PackedScratch, DirectReductionsTakeABlockForEachPartialResult) {
  const Shape shape{
      .operation = Operation::allreduce, .size = 8, .blocks = 8, .commutative = false, .reproducible = true};
  const schedule::Algorithm& direct = schedule::find_algorithm("direct_allreduce");
  constexpr std::size_t block = std::size_t{128} << 10U;
  for (Rank me = 0; me < 8; ++me) {
    const Plan plan(direct, shape, me);
    EXPECT_LE(Placed(plan, 8 * block, Shared::with_nobody).placed.scratch_bytes, (3 + 2) * block);
    EXPECT_LE(Placed(plan, 8 * block, Shared::with_all).placed.scratch_bytes, 3 * block);
    EXPECT_LE(Placed(plan, eager_bytes, Shared::with_nobody).placed.scratch_bytes, eager_bytes)
        << "as inline calls may";
  }
}

}  // namespace
}  // namespace stretto
