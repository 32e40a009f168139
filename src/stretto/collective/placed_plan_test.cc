#include "stretto/collective/placed_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/collective/collective_call.h"
#include "stretto/collective/transfer.h"
#include "stretto/schedule/test_support.h"

namespace stretto {
namespace {

using schedule::Operation;
using schedule::Rank;
using schedule::Step;
using schedule::StepKind;

constexpr schedule::LendingLimits lending = {512, 8192, true, true, eager_bytes};
constexpr schedule::LendingLimits lending_in_crowds = {512, 0, false, false, std::uint64_t{32} << 10U};

// A call of a vector of so many bytes, and how it is done by one member.
struct Placed {
  Placed(const char* algorithm, Operation operation, std::size_t bytes, Rank me, bool shares_memory,
         const Group& of_members = {7, 3, 5, 2}, bool is_crowd = false)
      : members(of_members),
        form{operation, 1, 1, 0, {}},
        memory(bytes),
        plan(schedule::find_algorithm(algorithm), shape_of(algorithm, operation, members.size()), me),
        layout(call_of(form, memory), plan.schedule().shape),
        placed(plan, layout, members, is_crowd ? lending_in_crowds : lending, [=](NodeId) { return shares_memory; }) {}

  static schedule::Shape shape_of(const char* algorithm, Operation operation, Rank size) {
    return schedule::find_algorithm(algorithm).with_segments({.operation = operation, .size = size});
  }
  static CollectiveCall call_of(const CallForm& form, std::vector<std::byte>& memory) {
    CollectiveCall call(form);
    call.input = memory;
    call.output = memory;
    return call;
  }

  Group members;
  CallForm form;
  std::vector<std::byte> memory;
  Plan plan;
  Layout layout;
  PlacedPlan placed;
};

TEST(PlacedPlan, KnowsHowManySendsFollowEachOther) {
  for (const auto& [algorithm, operation] :
       {std::pair("linear_broadcast", Operation::broadcast), std::pair("linear_all_to_all", Operation::all_to_all),
        std::pair("recursive_doubling", Operation::allreduce)}) {
    for (Rank me = 0; me < 4; ++me) {
      const Placed of(algorithm, operation, 32, me, true);
      const std::vector<PlacedStep>& steps = of.placed.steps;
      for (std::size_t index = 0; index < steps.size(); ++index) {
        const auto end = std::find_if(steps.begin() + static_cast<std::ptrdiff_t>(index), steps.end(),
                                      [](const PlacedStep& step) { return step.kind != StepKind::send; });
        EXPECT_EQ(steps[index].sends_in_a_row, end - steps.begin() - static_cast<std::ptrdiff_t>(index))
            << algorithm << " step " << index << " of " << me;
      }
    }
  }
  const Placed root("linear_broadcast", Operation::broadcast, 8, 0, true);
  EXPECT_EQ(root.placed.steps.front().sends_in_a_row, 3U);
}

TEST(PlacedPlan, KnowsWhichSendsAreAlike) {
  const auto alike_of = [](const Placed& of) {
    std::vector<std::uint32_t> rows;
    for (const PlacedStep& step : of.placed.steps) {
      if (step.kind == StepKind::send) rows.push_back(step.alike_in_a_row);
    }
    return rows;
  };
  const auto broadcast = [](std::size_t bytes, bool shares_memory = true) {
    return Placed("linear_broadcast", Operation::broadcast, bytes, 0, shares_memory);
  };
  const std::vector<std::uint32_t> one_row{3, 2, 1};
  const std::vector<std::uint32_t> each_by_itself{1, 1, 1};
  EXPECT_EQ(alike_of(broadcast(8)), one_row);
  EXPECT_EQ(alike_of(broadcast(eager_bytes)), one_row);
  EXPECT_EQ(alike_of(broadcast(eager_bytes + 1)), each_by_itself) << "large: they read it";
  EXPECT_EQ(alike_of(broadcast(eager_bytes + 1, false)), each_by_itself) << "large: they ask for it";
  EXPECT_EQ(alike_of(Placed("linear_allgather", Operation::allgather, 32, 1, true)), one_row);
  EXPECT_EQ(alike_of(Placed("linear_all_to_all", Operation::all_to_all, 32, 1, true)), each_by_itself);
  EXPECT_EQ(alike_of(Placed("linear_scatter", Operation::scatter, 32, 0, true)), each_by_itself);
}

// That sends nothing.
class TestMulticast final : public fabric::Multicast {
 public:
  void send(fabric::MessageType, ConstByteSpan, ConstByteSpan) override {}
};

TEST(PlacedPlan, LetsAlikeSendsGoByOneMulticast) {
  Placed of("linear_broadcast", Operation::broadcast, 8, 0, true);
  std::vector<std::vector<NodeId>> asked;
  of.placed.use_multicasts([&](std::span<const NodeId> nodes) {
    asked.emplace_back(nodes.begin(), nodes.end());
    return std::make_shared<TestMulticast>();
  });
  EXPECT_EQ(asked, (std::vector<std::vector<NodeId>>{{3, 5, 2}}));
  ASSERT_EQ(of.placed.multicasts.size(), 1U);
  for (const PlacedStep& step : of.placed.steps) {
    EXPECT_EQ(step.multicast, step.alike_in_a_row == 3 ? of.placed.multicasts.front().get() : nullptr);
  }
  Placed alone("linear_scatter", Operation::scatter, 32, 0, true);
  Placed without("linear_broadcast", Operation::broadcast, 8, 0, true);
  alone.placed.use_multicasts([](std::span<const NodeId>) -> std::shared_ptr<fabric::Multicast> {
    ADD_FAILURE() << "no sends are alike";
    return nullptr;
  });
  without.placed.use_multicasts([](std::span<const NodeId>) { return nullptr; });
  for (const PlacedStep& step : without.placed.steps) EXPECT_EQ(step.multicast, nullptr);
}

TEST(PlacedPlan, KnowsOfEachStepWhereItsDataLie) {
  int reduces_in_other_order = 0;
  for (Rank me = 0; me < 4; ++me) {
    for (const auto& [algorithm, operation] : {std::pair("recursive_doubling", Operation::allreduce),
                                               std::pair("recursive_doubling_scan", Operation::scan)}) {
      const Placed of(algorithm, operation, 40, me, true);
      ASSERT_EQ(of.placed.steps.size(), of.plan.steps().size());
      for (std::size_t index = 0; index < of.placed.steps.size(); ++index) {
        const Step& step = of.plan.steps()[index];
        const PlacedStep& placed = of.placed.steps[index];
        EXPECT_EQ(placed.kind, step.kind);
        if (step.is_message()) {
          EXPECT_EQ(placed.peer, step.peer);
          EXPECT_EQ(placed.node, of.members.node(step.peer));
          EXPECT_EQ(placed.tag, step.tag);
          EXPECT_EQ(placed.data, of.layout.place_of(step.kind == StepKind::send ? step.source() : step.destination()));
          EXPECT_FALSE(placed.is_large());
          EXPECT_FALSE(placed.is_pulled);
        }
        if (step.kind != StepKind::reduce) continue;
        const std::uint32_t copy = of.plan.lowering().copy_before[index];
        const bool is_swapped = step.order == schedule::Order::source_first;
        const Place base =
            of.layout.place_of(copy == Lowering::none ? step.destination() : of.plan.steps()[copy].source());
        EXPECT_EQ(is_swapped ? placed.right : placed.data, base);
        EXPECT_EQ(is_swapped ? placed.data : placed.right, of.layout.place_of(step.source()));
        EXPECT_EQ(placed.destination, of.layout.place_of(step.destination()));
        if (is_swapped) ++reduces_in_other_order;
      }
    }
  }
  EXPECT_GT(reduces_in_other_order, 0);
}

// The receives that a reduce takes from where they lie at their sender.
std::vector<std::uint32_t> pulled_by_reduces(const PlacedPlan& placed) {
  std::vector<std::uint32_t> receives;
  for (const PlacedStep& step : placed.steps) {
    for (const std::uint32_t from : {step.left_from, step.right_from}) {
      if (from != Plan::none) receives.push_back(from);
    }
  }
  return receives;
}

TEST(PlacedPlan, TakesWhatIsLargeFromWhereItLiesInSharedMemory) {
  const std::size_t large = eager_bytes + 1;
  const Placed of("binomial_reduce", Operation::reduce, large, 0, true);
  const std::vector<std::uint32_t> pulled = pulled_by_reduces(of.placed);
  ASSERT_FALSE(pulled.empty());
  for (const std::uint32_t receive : pulled) EXPECT_TRUE(of.placed.steps[receive].is_pulled);
  const auto& readers = of.plan.lowering().reader;
  ASSERT_EQ(pulled.size(),
            readers.size() - static_cast<std::size_t>(std::count(readers.begin(), readers.end(), Lowering::none)));

  const Placed over_wires("binomial_reduce", Operation::reduce, large, 0, false);
  const Placed small("binomial_reduce", Operation::reduce, eager_bytes, 0, true);
  for (const PlacedPlan* const placed : {&over_wires.placed, &small.placed}) {
    EXPECT_TRUE(pulled_by_reduces(*placed).empty());
    for (const PlacedStep& step : placed->steps) EXPECT_FALSE(step.is_pulled);
    EXPECT_GT(placed->scratch_bytes, of.placed.scratch_bytes);
  }
}

TEST(PlacedPlan, WhatGoesToManyTheyCopyThemselves) {
  const auto expect_copied = [](const Placed& of, bool copied) {
    for (std::uint32_t index = 0; index < of.placed.steps.size(); ++index) {
      const PlacedStep& step = of.placed.steps[index];
      if (!step.is_message()) continue;
      EXPECT_EQ(step.is_pulled, copied);
      EXPECT_FALSE(step.is_lent);
      EXPECT_EQ(step.left_from, copied && step.kind == StepKind::receive ? index : Plan::none);
    }
  };
  const std::size_t large = eager_bytes + 1;
  for (Rank me = 0; me < 4; ++me) {
    expect_copied(Placed("binomial_broadcast", Operation::broadcast, large, me, true), true);
    expect_copied(Placed("linear_scatter", Operation::scatter, 4 * large, me, true), true);
    expect_copied(Placed("binomial_broadcast", Operation::broadcast, eager_bytes, me, true), false);
    expect_copied(Placed("binomial_broadcast", Operation::broadcast, large, me, false), false);
    expect_copied(Placed("linear_gather", Operation::gather, 4 * large, me, true), false);
  }
}

// A gather by two, and no more than two cores copy in less time than one.
TEST(PlacedPlan, WhatOneOfTwoGathersItReads) {
  const auto is_pulled = [](const Group& members, std::size_t bytes) {
    const Placed of("linear_gather", Operation::gather, bytes, 1, true, members);
    return of.placed.steps.front().is_pulled;
  };
  const Group two{7, 3};
  const Group three{7, 3, 5};
  EXPECT_TRUE(is_pulled(two, eager_bytes + 1));
  EXPECT_TRUE(is_pulled(two, std::size_t{256} << 10U));
  EXPECT_FALSE(is_pulled(two, (std::size_t{256} << 10U) + 1));
  EXPECT_FALSE(is_pulled(three, eager_bytes + 1));
}

// So that an inline run does it; of two with a core each, of which one only gives (decisions 69 and 80).
TEST(PlacedPlan, WhatIsGivenOneWayIsLentBetweenTwo) {
  using Case = std::pair<const char*, Operation>;
  const std::vector<Case> cases = {
      {"linear_broadcast", Operation::broadcast},
      {"linear_scatter", Operation::scatter},
      {"linear_gather", Operation::gather},
      {"binomial_reduce", Operation::reduce},
  };
  const auto is_lent = [](const Case& each, std::size_t bytes, Rank me, const Group& members, bool is_crowd) {
    const Placed of(each.first, each.second, bytes, me, true, members, is_crowd);
    bool lends = false;
    for (const PlacedStep& step : of.placed.steps) {
      EXPECT_FALSE(step.may_be_written_over);
      lends |= step.is_lent;
    }
    EXPECT_EQ(of.placed.lends, lends);
    EXPECT_EQ(of.placed.fits_inline, lends || bytes <= eager_bytes);
    return lends;
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.first);
    for (Rank me = 0; me < 2; ++me) {
      const Group two{7, 3};
      EXPECT_FALSE(is_lent(each, eager_bytes, me, two, false));
      EXPECT_TRUE(is_lent(each, eager_bytes + 4, me, two, false));
      const std::size_t most = each.second == Operation::reduce ? memory_piece_bytes : large_piece_bytes;
      EXPECT_TRUE(is_lent(each, most, me, two, false));
      EXPECT_FALSE(is_lent(each, most + 4, me, two, false));
      EXPECT_FALSE(is_lent(each, piece_bytes, me, two, true));
    }
  }
  EXPECT_FALSE(is_lent(cases.front(), piece_bytes, 0, {7, 3, 5}, false));
}

// What is lent so is given up to whoever reads it, though the sender goes on.
TEST(PlacedPlan, WhoOnlyGivesToOneWritesOverNothingThatItGave) {
  const auto expect_kept = [&](const Plan& plan) {
    const auto& steps = plan.steps();
    for (std::size_t sent = 0; sent < steps.size(); ++sent) {
      if (steps[sent].kind != StepKind::send) continue;
      for (std::size_t later = sent + 1; later < steps.size(); ++later) {
        if (steps[later].kind == StepKind::send) continue;
        EXPECT_FALSE(overlap(steps[later].destination(), steps[sent].source())) << plan.algorithm().name();
      }
    }
  };
  std::size_t givers = 0;
  for (const schedule::Algorithm* const algorithm : schedule::algorithms()) {
    for (const Rank root : {0U, 1U}) {
      for (const std::uint32_t segments : {1U, 2U, 5U}) {
        const schedule::Shape asked{.operation = algorithm->operation(), .size = 2, .root = root};
        const schedule::Shape shape = algorithm->with_segments(asked, segments);
        if (!algorithm->supports(shape)) continue;
        for (Rank me = 0; me < 2; ++me) {
          const Plan plan(*algorithm, shape, me);
          const auto receives = [](const Step& step) { return step.kind == StepKind::receive; };
          if (std::any_of(plan.steps().begin(), plan.steps().end(), receives)) continue;
          expect_kept(plan);
          ++givers;
        }
      }
    }
  }
  EXPECT_GE(givers, 50U);
}

// Where processes read each other (decision 68).
TEST(PlacedPlan, KnowsWhatItsOnlyReaderMayReadInThisProcess) {
  const auto sends = [](const char* algorithm, Operation operation, std::size_t bytes, const Group& members,
                        bool is_crowd, auto&& property) {
    const Placed of(algorithm, operation, bytes, 0, true, members, is_crowd);
    std::set<bool> seen;
    for (const PlacedStep& step : of.placed.steps) {
      if (step.kind == StepKind::send) seen.insert(step.*property);
    }
    return seen;
  };
  const std::set<bool> all{true};
  const std::set<bool> none{false};
  const Group two{7, 3};
  const Group four{7, 3, 5, 2};
  const std::size_t large = eager_bytes + 4;
  const auto may_be = &PlacedStep::may_be_private;
  const auto several = &PlacedStep::has_several_readers;
  EXPECT_EQ(sends("linear_scatter", Operation::scatter, large, four, false, may_be), all);
  EXPECT_EQ(sends("linear_scatter", Operation::scatter, eager_bytes, four, false, may_be), none);
  EXPECT_EQ(sends("linear_scatter", Operation::scatter, large, four, true, may_be), none);
  EXPECT_EQ(sends("linear_scatter", Operation::scatter, piece_bytes, four, true, may_be), all);
  EXPECT_EQ(sends("linear_broadcast", Operation::broadcast, large, four, false, may_be), none);
  EXPECT_EQ(sends("linear_broadcast", Operation::broadcast, large, four, false, several), all);
  EXPECT_EQ(sends("linear_broadcast", Operation::broadcast, large, two, false, may_be), all);
  EXPECT_EQ(sends("linear_broadcast", Operation::broadcast, large, two, false, several), none);
  constexpr std::size_t broadcast = std::size_t{1} << 20U;
  EXPECT_EQ(sends("linear_broadcast", Operation::broadcast, broadcast, two, false, may_be), all);
  EXPECT_EQ(sends("linear_broadcast", Operation::broadcast, broadcast + 4, two, false, may_be), none);
  EXPECT_EQ(sends("linear_scatter", Operation::scatter, 2 * broadcast, two, false, may_be), all);
  EXPECT_EQ(sends("recursive_doubling", Operation::allreduce, large_piece_bytes, two, false, may_be), all);
  EXPECT_EQ(sends("recursive_doubling", Operation::allreduce, large_piece_bytes + 4, two, false, may_be), none);
  EXPECT_EQ(sends("recursive_doubling", Operation::allreduce, piece_bytes, four, false, may_be), none);
  EXPECT_EQ(sends("linear_scan", Operation::scan, large_piece_bytes, two, false, may_be), all);
  EXPECT_EQ(sends("linear_scan", Operation::scan, large_piece_bytes + 4, two, false, may_be), none);
}

TEST(PlacedPlan, WhatIsExchangedIsLentAboveTheLimit) {
  for (Rank me = 0; me < 4; ++me) {
    const auto lent = [me](std::size_t bytes) {
      const Placed of("recursive_doubling", Operation::allreduce, bytes, me, true);
      const auto is_lent = [](const PlacedStep& step) { return step.is_lent; };
      const auto count = std::count_if(of.placed.steps.begin(), of.placed.steps.end(), is_lent);
      EXPECT_EQ(of.placed.lends, count > 0);
      return count;
    };
    EXPECT_EQ(lent(lending.most_sent), 0);
    EXPECT_EQ(lent(lending.most_sent + 1), 2) << "a send and a receive of the first round";
    EXPECT_EQ(lent(2 * piece_bytes), 2);
    const auto fits = [me](std::size_t bytes) {
      return Placed("recursive_doubling", Operation::allreduce, bytes, me, true).placed.fits_inline;
    };
    EXPECT_TRUE(fits(lending.most_sent));
    EXPECT_TRUE(fits(eager_bytes));
    EXPECT_FALSE(fits(eager_bytes + 1)) << "the second round's messages are large";
  }
}

// What is more is granted, if it is large.
TEST(PlacedPlan, WhatIsExchangedAndNotCombinedIsLentAndCopiedWithinLimits) {
  for (Rank me = 0; me < 4; ++me) {
    const auto lent = [me](std::size_t block, bool shares_memory = true) {
      const Placed of("linear_all_to_all", Operation::all_to_all, 4 * block, me, shares_memory);
      std::ptrdiff_t count = 0;
      for (std::uint32_t index = 0; index < of.placed.steps.size(); ++index) {
        const PlacedStep& step = of.placed.steps[index];
        count += step.is_lent ? 1 : 0;
        const bool is_granted = step.shares_memory && step.is_message() && step.is_large();
        EXPECT_EQ(step.is_pulled, step.is_lent || is_granted);
        EXPECT_EQ(step.left_from == index, step.is_pulled && step.kind == StepKind::receive);
      }
      EXPECT_EQ(of.placed.lends, count > 0);
      EXPECT_EQ(of.placed.fits_inline, count > 0 || block <= eager_bytes);
      return count;
    };
    EXPECT_EQ(lent(lending.most_sent), 0);
    EXPECT_EQ(lent(lending.most_sent + 1), 6) << "three sends and three receives";
    EXPECT_EQ(lent(lending.most_copied), 6);
    EXPECT_EQ(lent(lending.most_copied + 1), 0);
    EXPECT_EQ(lent(lending.most_sent + 1, false), 0);
  }
}

// All ranks' plans of an exchange of large blocks.
struct PlacedEverywhere {
  PlacedEverywhere(const schedule::Algorithm& algorithm, const schedule::Shape& shape)
      : memory(shape.size * large_block), form{shape.operation, 1, 1, 0, {}} {
    std::vector<NodeId> nodes;
    for (NodeId node = 0; node < shape.size; ++node) nodes.push_back(node);
    const Group members(nodes);
    CollectiveCall call = Placed::call_of(form, memory);
    if (shape.operation == Operation::allgather) call.input = ByteSpan(memory).first(large_block);
    for (Rank me = 0; me < shape.size; ++me) {
      plans.push_back(std::make_unique<Plan>(algorithm, shape, me));
      const auto shares_memory = [](NodeId) { return true; };
      placed.emplace_back(*plans.back(), Layout(call, shape), members, lending, shares_memory);
    }
  }
  // The other end of a message.
  std::uint32_t other_end(Rank me, std::uint32_t message) const {
    const PlacedStep& step = placed[me].steps[message];
    const Plan& theirs = *plans[step.peer];
    return step.kind == StepKind::send ? theirs.receive_step(me, step.tag) : theirs.send_step(me, step.tag);
  }

  static constexpr std::size_t large_block = 20'000;
  std::vector<std::byte> memory;
  CallForm form;
  std::vector<std::unique_ptr<Plan>> plans;
  std::vector<PlacedPlan> placed;
};

// Returns how many messages have one.
std::size_t check_counterparts(const PlacedEverywhere& all) {
  std::size_t count = 0;
  for (Rank me = 0; me < all.placed.size(); ++me) {
    const std::vector<PlacedStep>& steps = all.placed[me].steps;
    for (std::uint32_t at = 0; at < steps.size(); ++at) {
      const std::uint32_t counterpart = steps[at].counterpart;
      if (counterpart == Plan::none) continue;
      ++count;
      EXPECT_EQ(steps[counterpart].counterpart, at);
      EXPECT_NE(steps[counterpart].kind, steps[at].kind);
      EXPECT_EQ(steps[counterpart].peer, steps[at].peer);
      const std::uint32_t theirs = all.placed[steps[at].peer].steps[all.other_end(me, at)].counterpart;
      EXPECT_TRUE(theirs == Plan::none || theirs == all.other_end(me, counterpart));
    }
  }
  return count;
}

// Two ranks that take turns mean the same two messages.
TEST(PlacedPlan, CounterpartsAreSuchAtBothEnds) {
  std::set<std::string_view> have_some;
  for (const schedule::Algorithm* algorithm : schedule::algorithms()) {
    for (Rank size = 2; size <= 9; ++size) {
      for (const schedule::Shape& shape : schedule::test::shapes(*algorithm, size, size, 1)) {
        SCOPED_TRACE(schedule::test::label(*algorithm, shape));
        const bool is_placed = shape.operation == Operation::allgather || shape.operation == Operation::all_to_all;
        if (is_placed && check_counterparts(PlacedEverywhere(*algorithm, shape)) > 0)
          have_some.insert(algorithm->name());
      }
    }
  }
  EXPECT_TRUE(have_some.contains("linear_all_to_all"));
  EXPECT_TRUE(have_some.contains("ring_allgather"));
}

// How long a turn is of what two ranks exchange in so many elements; 0: they take none.
std::size_t turn_of(std::size_t element, std::size_t count) {
  const CallForm form{Operation::all_to_all, element, 1, 0, {}};
  std::vector<std::byte> memory(2 * count * element);
  const CollectiveCall call = Placed::call_of(form, memory);
  const Group members{7, 3};
  const Plan plan(schedule::find_algorithm("linear_all_to_all"), {.operation = Operation::all_to_all, .size = 2}, 1);
  schedule::LendingLimits limits = lending;
  limits.most_copied = schedule::most_of_two_in_one_go / 2;
  const PlacedPlan placed(plan, Layout(call, plan.schedule().shape), members, limits, [](NodeId) { return true; });
  const auto send = std::ranges::find(placed.steps, StepKind::send, &PlacedStep::kind);
  EXPECT_EQ(send->is_lent, limits.include(count * element, false));
  return send->turn_bytes;
}

// An operation says that a turn is there when it has staged a piece.
TEST(PlacedPlan, ATurnIsNoLongerThanAPiece) {
  EXPECT_EQ(turn_of(8, 32'768), memory_piece_bytes);
  EXPECT_EQ(turn_of(8, 32'769), 0U);
  EXPECT_EQ(turn_of(24, 10'912), memory_piece_bytes - 128);
  EXPECT_EQ(turn_of(24, 10'913), 0U) << "64 bytes more, since a turn begins where a line does";
  for (const std::size_t element : {1U, 3U, 8U, 12U, 24U, 1000U, 16'384U, 48'000U}) {
    for (std::size_t count = 1; count * element <= std::size_t{256} << 10U; count += std::max(count / 100, 1UL)) {
      EXPECT_LE(turn_of(element, count), memory_piece_bytes) << element << " times " << count;
      EXPECT_EQ(turn_of(element, count) % element, 0U);
    }
  }
}

// What comes over wires, is large, comes from several, and ends nowhere before all have begun.
TEST(PlacedPlan, ListsWhatIsAskedForInTurn) {
  constexpr std::size_t large = 4 * (eager_bytes + 64);
  const auto asked = [](const char* algorithm, Operation operation, std::size_t bytes, bool shares_memory) {
    return Placed(algorithm, operation, bytes, 0, shares_memory).placed.asked_in_turn;
  };
  const Placed doubling("recursive_doubling", Operation::allreduce, large, 0, false);
  std::vector<std::uint32_t> receives;
  for (std::uint32_t step = 0; step < doubling.placed.steps.size(); ++step) {
    if (doubling.placed.steps[step].kind == StepKind::receive) receives.push_back(step);
  }
  EXPECT_EQ(receives.size(), 2U);
  EXPECT_EQ(doubling.placed.asked_in_turn, receives);
  EXPECT_EQ(asked("pairwise_all_to_all", Operation::all_to_all, large, false).size(), 3U);
  EXPECT_TRUE(asked("recursive_doubling", Operation::allreduce, large, true).empty()) << "in memory";
  EXPECT_TRUE(asked("recursive_doubling", Operation::allreduce, 64, false).empty()) << "small";
  EXPECT_TRUE(asked("ring_allreduce", Operation::allreduce, large, false).empty()) << "from one peer";
  EXPECT_TRUE(asked("linear_gather", Operation::gather, large, false).empty()) << "who gives may end before";
  EXPECT_TRUE(asked("bruck_allgather", Operation::allgather, large, false).empty()) << "sends on what it receives";
}

// Each end knows of such a block only what it has listed itself: a message says how many there are, a grant does not.
TEST(PlacedPlan, ListedPartsOfAnAllToAllAreNotLent) {
  const std::vector<std::size_t> offsets = {0, 1000, 2000, 3000, 4000};
  std::vector<std::byte> memory(4000);
  const CallForm form{Operation::all_to_all, 1, 1, 0, {}};
  CollectiveCall call = Placed::call_of(form, memory);
  call.lists = std::make_shared<const CallLists>(CallLists{offsets, offsets, {}});
  const Group members{7, 3, 5, 2};
  const Plan plan(schedule::find_algorithm("linear_all_to_all"), {.operation = Operation::all_to_all, .size = 4}, 1);
  const PlacedPlan placed(plan, Layout(call, plan.schedule().shape), members, lending, [](NodeId) { return true; });
  EXPECT_FALSE(placed.lends);
  EXPECT_TRUE(placed.fits_inline);
}

// What all list alike is in the digest that they agree on.
TEST(PlacedPlan, ListedBlocksOfAnAllgatherAreLent) {
  std::vector<std::byte> memory(4000);
  const CallForm form{Operation::allgather, 1, 1, 0, {}};
  CollectiveCall call = Placed::call_of(form, memory);
  call.lists = std::make_shared<const CallLists>(CallLists{{0, 3000, 4000}, {}, {}});
  call.input = call.input.first(1000);
  const Group members{7, 3};
  const Plan plan(schedule::find_algorithm("linear_allgather"), {.operation = Operation::allgather, .size = 2}, 1);
  const PlacedPlan placed(plan, Layout(call, plan.schedule().shape), members, lending, [](NodeId) { return true; });
  for (const PlacedStep& step : placed.steps) EXPECT_EQ(step.is_lent, step.is_message()) << step.data.bytes;
}

// Completes what may start, and, where nothing may, what only waits.
void expect_to_run_to_its_end(const Placed& of) {
  StepStates states;
  states.reset(of.placed.beginning);
  states.begin(of.placed.beginning);
  while (!states.all_complete()) {
    std::uint32_t step = states.start_next();
    if (step == Plan::none) {
      step = states.first_incomplete();
      ASSERT_EQ(states.of(step), StepStates::State::started) << "step " << step << " is never started";
      ASSERT_EQ(of.placed.steps[step].kind, StepKind::receive);
    }
    states.complete(step, of.plan.schedule());
  }
}

TEST(PlacedPlan, BeginsWithSmallReceivesOpenAndWhatIsLeftToOthersDone) {
  for (Rank me = 0; me < 4; ++me) {
    const Placed small("binomial_reduce", Operation::reduce, 8, me, true);
    const Placed large("binomial_reduce", Operation::reduce, eager_bytes + 1, me, true);
    StepStates of_small;
    StepStates of_large;
    of_small.reset(small.placed.beginning);
    of_large.reset(large.placed.beginning);
    for (std::uint32_t step = 0; step < small.placed.steps.size(); ++step) {
      const Step& what = small.plan.steps()[step];
      const bool is_left_out = what.kind == StepKind::copy && small.plan.lowering().copy_before[step] != Lowering::none;
      const bool is_first_receive = what.kind == StepKind::receive && what.dependency_count == 0;
      if (is_left_out) {
        EXPECT_EQ(of_small.of(step), StepStates::State::complete);
      } else if (is_first_receive) {
        EXPECT_EQ(of_small.of(step), StepStates::State::started);
        EXPECT_EQ(of_large.of(step), StepStates::State::waiting);
      }
    }
    expect_to_run_to_its_end(small);
    expect_to_run_to_its_end(large);
  }
}

}  // namespace
}  // namespace stretto
