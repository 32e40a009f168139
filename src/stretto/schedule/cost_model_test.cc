#include "stretto/schedule/cost_model.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "stretto/base/error.h"
#include "stretto/schedule/builder.h"
#include "stretto/schedule/lending_limits.h"
#include "stretto/schedule/test_support.h"

namespace stretto::schedule {
namespace {

// Different primes, so that no wrong sum is right by chance.
constexpr Costs costs{.call = 2e-6,
                      .latency = 3e-6,
                      .overhead = 5e-6,
                      .announcement = 23e-6,
                      .gap = 7e-6,
                      .byte_time = 11e-9,
                      .inline_time = 29e-9,
                      .forwarding = 31e-9,
                      .copy_time = 13e-9,
                      .reduction_time = 17e-9,
                      .turn = 19e-6};
constexpr Placement in_memory{.link = Link::host, .ranks_of_machine = 1, .cores_of_machine = 1};
constexpr Placement on_wire{.link = Link::wire, .ranks_of_machine = 1, .cores_of_machine = 1};

Price price_of(std::string_view name, Rank size, std::uint64_t bytes, const Placement& placement = in_memory) {
  const Algorithm& algorithm = find_algorithm(name);
  return price(algorithm, test::shape(algorithm, size), bytes, placement, costs);
}

void expect_near(double seconds, double expected) { EXPECT_NEAR(seconds, expected, 1e-9 * expected); }

TEST(CostModel, AnInlineMessageIsCopiedAtBothEnds) {
  const double path = 2 * (costs.overhead + 4096 * costs.inline_time) + costs.latency;
  const Price price = price_of("linear_broadcast", 2, 4096);
  expect_near(price.path, path);
  expect_near(price.seconds, costs.call + path);
  EXPECT_EQ(price.messages, 1U);
  EXPECT_TRUE(price.is_exact);
}

TEST(CostModel, ALargeMessageWaitsForItsReceiverAndIsCopiedOnce) {
  // That the receiver is ready, and then the data. Its own block it copies meanwhile.
  Costs no_copies = costs;
  no_copies.copy_time = 0;
  const Algorithm& linear = find_algorithm("linear_gather");
  expect_near(price(linear, test::shape(linear, 2), 1 << 20, in_memory, no_copies).path,
              2 * (costs.announcement + costs.latency + costs.overhead) + (1 << 20) * costs.byte_time);
  // Rank 2 of four passes on two blocks, one of which was written to it.
  const Algorithm& gather = find_algorithm("binomial_gather");
  Costs no_forwarding = costs;
  no_forwarding.forwarding = 0;
  const double less = price(gather, test::shape(gather, 4), 1 << 20, in_memory, no_forwarding).path;
  expect_near(price_of("binomial_gather", 4, 1 << 20).path, less + (2 << 20) * costs.forwarding);
}

TEST(CostModel, WhatGoesToManyTheyCopyThemselves) {
  // Granted to one after the other, and copied by all at the same time.
  const double copied = costs.overhead + (1 << 20) * costs.byte_time;
  expect_near(price_of("linear_broadcast", 4, 1 << 20).path,
              3 * (costs.announcement + costs.overhead) + costs.latency + copied);
  // One of two has its own block to copy, too, but says nothing of where it wants the other one.
  expect_near(price_of("linear_gather", 2, 4097).path,
              costs.announcement + costs.overhead + 4097 * (costs.copy_time + costs.byte_time));
  // Each of a chain first has it itself.
  expect_near(price_of("chain_broadcast", 3, 1 << 20).path,
              2 * (costs.announcement + costs.overhead + costs.latency + copied));
}

TEST(CostModel, WhatIsCombinedFirstIsReadWhereItLies) {
  // The grant, and word that it has been read: no copy, neither of what comes nor of the own input.
  expect_near(price_of("linear_reduce", 2, 1 << 20).path,
              costs.announcement + 2 * costs.overhead + costs.latency + (1 << 20) * costs.reduction_time);
  // In a butterfly that begins with the inputs each lends the other its own; in one that copies them first each writes
  // over what the other would read, so it is sent.
  const double sent = (1 << 20) * (costs.byte_time + costs.reduction_time);
  EXPECT_LT(price_of("recursive_doubling", 2, 1 << 20).path, sent);
  EXPECT_GT(price_of("padded_doubling", 2, 1 << 20).path, sent);
}

TEST(CostModel, WhatIsLentIsReadWhereItLiesFromASmallerSizeOn) {
  const std::uint64_t most_sent = lending_limits(in_memory, 2).most_sent;
  const auto sent = static_cast<double>(most_sent);
  expect_near(price_of("recursive_doubling", 2, most_sent).path,
              2 * (costs.overhead + sent * costs.inline_time) + costs.latency + sent * costs.reduction_time);
  const double combined = (sent + 8) * costs.reduction_time;
  expect_near(price_of("recursive_doubling", 2, most_sent + 8).path, 2 * costs.overhead + costs.latency + combined);
  // Where no receipts are given each grants and hears that its own was read, and hears of what it reads and says so.
  const Placement crowded{.link = Link::local, .ranks_of_machine = 2, .cores_of_machine = 2};
  const auto more = static_cast<double>(lending_limits(crowded, 2).most_sent + 8);
  expect_near(price_of("recursive_doubling", 2, lending_limits(crowded, 2).most_sent + 8, crowded).path,
              4 * costs.overhead + more * costs.reduction_time);
}

// Who copies what is lent takes the bytes' time; a message that is sent takes it twice, and more of it a byte.
TEST(CostModel, WhatRanksGiveEachOtherIsCopiedWhereItLies) {
  const LendingLimits limits = lending_limits(in_memory, 2);
  for (const std::uint64_t bytes : {limits.most_sent + 8, limits.most_copied}) {
    const double copied = static_cast<double>(bytes) * costs.byte_time;
    EXPECT_NEAR(price_of("pairwise_all_to_all", 2, bytes).path,
                2 * costs.overhead + costs.latency + copied + static_cast<double>(bytes) * costs.copy_time, 1e-12)
        << bytes;
  }
}

// Of what two combine each half goes to the other one: as it is combined, where both get it and memory is reached.
TEST(CostModel, WhatIsCombinedForBothIsStoredInBoth) {
  constexpr std::uint64_t bytes = 1 << 20;
  const auto time_of_bytes = [](std::string_view name, const Placement& placement) {
    Costs free = costs;
    free.byte_time = 0;
    const Algorithm& algorithm = find_algorithm(name);
    const auto path = [&](const Costs& some) {
      return price(algorithm, test::shape(algorithm, 2), bytes, placement, some).path;
    };
    return path(costs) - path(free);
  };
  constexpr double half = static_cast<double>(bytes) / 2 * costs.byte_time;
  EXPECT_NEAR(time_of_bytes("rabenseifner", in_memory), 0.3 * half, 1e-12);
  EXPECT_NEAR(time_of_bytes("direct_reduce", in_memory), half, 1e-12);  // the root alone
  EXPECT_GE(time_of_bytes("rabenseifner", Placement{.link = Link::host, .maps = false}), half);
}

TEST(CostModel, WhatIsCopiedIsLentAsLongAsAllOfItIsOneCall) {
  EXPECT_EQ(lending_limits(in_memory, 2).most_copied, 256U << 10U);
  EXPECT_EQ(lending_limits(in_memory, 3).most_copied, (128U << 10U) / 3);
  EXPECT_EQ(lending_limits(in_memory, 4).most_copied, 32U << 10U);
  EXPECT_EQ(lending_limits(in_memory, 8).most_copied, 16U << 10U);
  EXPECT_EQ(lending_limits(in_memory, 32).most_copied, 16U << 10U);
}

TEST(CostModel, LittleIsLentWhereEachHasACoreToWaitOn) {
  const LendingLimits with_cores = lending_limits(in_memory, 2);
  for (const Placement& placement : {Placement{.link = Link::host, .ranks_of_machine = 3, .cores_of_machine = 2},
                                     Placement{.link = Link::local, .ranks_of_machine = 2, .cores_of_machine = 2}}) {
    EXPECT_GT(lending_limits(placement, 2).most_sent, with_cores.most_sent);
    EXPECT_FALSE(lending_limits(placement, 2).include(8192, false));
    EXPECT_TRUE(lending_limits(placement, 2).include(8192, true));
  }
  EXPECT_TRUE(with_cores.include(8192, false));
}

TEST(CostModel, WhatIsAlikeGoesToSeveralAtOnce) {
  const auto path = [](std::string_view name, Rank size, std::uint64_t bytes, bool multicasts) {
    Placement placement = in_memory;
    placement.multicasts = multicasts;
    return price_of(name, size, bytes, placement).path;
  };
  const double sent = costs.overhead + 4096 * costs.inline_time;
  for (const Rank size : {2U, 3U, 7U}) {
    expect_near(path("linear_broadcast", size, 4096, true), 2 * sent + costs.latency);
    expect_near(path("linear_broadcast", size, 4096, false), size * sent + costs.latency);
  }
  // What differs from one receiver to the next goes one after the other, and so does what is large.
  for (const auto& [name, bytes] :
       {std::pair("linear_scatter", 8), {"linear_all_to_all", 8}, {"linear_broadcast", 4097}}) {
    const auto length = static_cast<std::uint64_t>(bytes);
    EXPECT_EQ(path(name, 5, length, true), path(name, 5, length, false)) << name;
  }
  // Those who get nothing before they are sent something.
  EXPECT_LT(path("linear_allgather", 5, 8, true), path("linear_allgather", 5, 8, false));
  Placement wire = on_wire;
  wire.multicasts = true;
  EXPECT_EQ(price_of("linear_broadcast", 5, 8, wire).path, price_of("linear_broadcast", 5, 8, on_wire).path);
}

TEST(CostModel, WhatIsAlikeCostsNoMoreWhereFewRanksAreFollowed) {
  Placement placement = in_memory;
  placement.multicasts = true;
  const Algorithm& linear = find_algorithm("linear_broadcast");
  const Shape shape = test::shape(linear, 40);
  expect_near(price(linear, shape, 8, placement, costs, Follow::few).path,
              price(linear, shape, 8, placement, costs, Follow::all).path);
}

TEST(CostModel, OnAWireBytesTakeTheLink) {
  const std::uint64_t bytes = 4000;
  // A wire's node packs nothing: what is sent is handed over.
  const double last = 2 * costs.overhead + costs.latency + bytes * (costs.byte_time + costs.inline_time);
  expect_near(price_of("linear_broadcast", 2, bytes, on_wire).path, last);
  // Three at once leave one after the other.
  expect_near(price_of("linear_broadcast", 4, bytes, on_wire).path, 2 * (costs.gap + bytes * costs.byte_time) + last);
}

TEST(CostModel, WhereRanksOutnumberCoresTheirWorkAndTurnsAreABound) {
  constexpr Placement crowded{.link = Link::host, .ranks_of_machine = 16, .cores_of_machine = 2};
  const Price linear = price_of("linear_barrier", 16, 0, crowded);
  // 15 messages there and back; the root waits once, and each other one once.
  expect_near(linear.work, (2 * 30 * costs.overhead + 16 * costs.turn) / 2);
  const Price butterfly = price_of("dissemination_barrier", 16, 0, crowded);
  expect_near(butterfly.work, (2 * 64 * costs.overhead + 64 * costs.turn) / 2);
  expect_near(butterfly.seconds, costs.call + std::max(butterfly.work, butterfly.path));
  EXPECT_EQ(price_of("dissemination_barrier", 16, 0, in_memory).work, 0);
}

/// What differs from `costs`, so that a price says which link it comes from.
constexpr Costs near_costs{.latency = 37e-6, .overhead = 41e-6, .byte_time = 43e-9, .inline_time = 47e-9};

CostTable wires_and_memory() {
  CostTable table;
  table.of(Link::wire) = costs;
  table.of(Link::host) = near_costs;
  return table;
}

TEST(CostModel, MessagesInsideAHostGoByItsCosts) {
  const Algorithm& linear = find_algorithm("linear_broadcast");
  const auto path = [&](const Hosts& hosts, bool maps) {
    Placement placement = on_wire;
    placement.maps = maps;
    const Shape shape{.operation = Operation::broadcast, .size = 2, .hosts = hosts};
    return price(linear, shape, 4000, placement, wires_and_memory()).path;
  };
  const double between = 2 * costs.overhead + costs.latency + 4000 * (costs.byte_time + costs.inline_time);
  expect_near(path(Hosts::even(2, 2), true), between);
  const double copies = 2 * 4000 * near_costs.inline_time;
  expect_near(path(Hosts::even(2, 1), true), 2 * near_costs.overhead + near_costs.latency + copies);
  // Where memory is not reached, every byte takes its sender's time.
  expect_near(path(Hosts::even(2, 1), false),
              2 * near_costs.overhead + near_costs.latency + 4000 * (near_costs.byte_time + near_costs.inline_time));
  expect_near(path(Hosts(), true), between);
}

TEST(CostModel, WhereMemoryIsNotReachedEveryByteTakesItsSendersTime) {
  constexpr Placement apart{.link = Link::host, .maps = false};
  // Three at once leave one after the other, and a node's work is not hidden behind its bytes as on a wire.
  const double small = 4000 * costs.byte_time + costs.overhead;
  expect_near(price_of("linear_broadcast", 4, 4000, apart).path,
              3 * small + costs.latency + costs.overhead + 4000 * costs.inline_time);
  // What is large is announced and sent, though memory would have it read by its receiver.
  const double announced = costs.announcement + costs.latency + costs.announcement;
  const double large = 100'000 * costs.byte_time + costs.overhead;
  expect_near(price_of("linear_broadcast", 2, 100'000, apart).path, announced + large + costs.latency + costs.overhead);
  // Of three that give to one only those with much wait for each other, and only where it has one place for all.
  const auto path = [&](Rank places, std::uint64_t bytes) {
    const test::Custom three_to_one(Operation::reduce, 1, places,
                                    [places](const Shape&, Rank me, std::uint32_t, Sink& sink) {
                                      if (me > 0) return sink.send(0, input());
                                      for (const Rank peer : {1U, 2U, 3U}) sink.receive(peer, scratch(peer % places));
                                    });
    return price(three_to_one, {.operation = Operation::reduce, .size = 4}, bytes, apart, costs).path;
  };
  const auto all_at_once = [&](double each) { return small + costs.latency + 3 * (costs.overhead + each); };
  expect_near(path(1, 4000), all_at_once(4000 * costs.inline_time));
  expect_near(path(3, 100'000), announced + large + costs.latency + 3 * costs.overhead);
  expect_near(path(1, 100'000),
              announced + large + costs.latency + 2 * (costs.gap + 100'000 * costs.byte_time) + costs.overhead);
}

TEST(CostModel, RanksOfAHostShareItsWire) {
  // Ranks 0 and 1 send to 2 and 3 at the same time.
  const test::Custom two_at_once(Operation::allgather, 1, 0, [](const Shape&, Rank me, std::uint32_t, Sink& sink) {
    if (me < 2) sink.send(me + 2, input());
    if (me >= 2) sink.receive(me - 2, output(me - 2));
  });
  const auto path = [&](const Hosts& hosts) {
    const Shape shape{.operation = Operation::allgather, .size = 4, .hosts = hosts};
    return price(two_at_once, shape, 4000, on_wire, wires_and_memory()).path;
  };
  const double one = 2 * costs.overhead + costs.latency + 4000 * (costs.byte_time + costs.inline_time);
  expect_near(path(Hosts()), one);
  expect_near(path(Hosts::even(4, 4)), one);
  expect_near(path(Hosts::even(4, 2)), one + costs.gap + 4000 * costs.byte_time);
}

// Every shape of every algorithm, at sizes around the limit of inline messages, on each link.
template <class Visit>
void for_all(Rank most, Visit visit) {
  for (const Algorithm* const algorithm : algorithms()) {
    for (Rank size = 1; size <= test::exhaustive_to(most); ++size) {
      for (const Shape& shape : test::shapes(*algorithm, size, 2, 2)) {
        for (const std::uint64_t bytes : {8U, 4096U, 100'000U}) {
          for (const Link link : {Link::local, Link::host, Link::wire}) {
            visit(*algorithm, shape, bytes, Placement{link, shape.size, 2});
          }
        }
      }
    }
  }
}

TEST(CostModel, NothingGetsCheaperWhenACostGrows) {
  for_all(11, [](const Algorithm& algorithm, const Shape& shape, std::uint64_t bytes, const Placement& placement) {
    const double seconds = price(algorithm, shape, bytes, placement, costs).seconds;
    for (const CostField& field : cost_fields) {
      Costs dearer = costs;
      dearer.*field.value *= 3;
      EXPECT_GE(price(algorithm, shape, bytes, placement, dearer).seconds, seconds * (1 - 1e-12))
          << test::label(algorithm, shape) << ", " << field.name;
    }
  });
}

TEST(CostModel, OneThatStandsForAllFindsWhatAllFind) {
  for_all(33, [](const Algorithm& algorithm, const Shape& shape, std::uint64_t bytes, const Placement& placement) {
    if (!algorithm.rotation_symmetric(shape)) return;
    const Price one = price(algorithm, shape, bytes, placement, costs);
    const Price all = price(algorithm, shape, bytes, placement, costs, Follow::all);
    EXPECT_EQ(one.messages, all.messages);
    EXPECT_NEAR(one.seconds, all.seconds, 1e-9 * all.seconds) << test::label(algorithm, shape) << ", " << bytes;
  });
}

TEST(CostModel, WhileBytesAreOnAWireOthersHaveTheCore) {
  constexpr Placement crowded{.link = Link::wire, .ranks_of_machine = 4, .cores_of_machine = 2};
  constexpr double pause = costs.turn * 4 / 2 / 2;
  constexpr int rounds = 2;  // in each of which a rank waits
  const auto delay = [&](std::uint64_t bytes) {
    return price_of("recursive_doubling", 4, bytes, crowded).path -
           price_of("recursive_doubling", 4, bytes, on_wire).path;
  };
  expect_near(delay(8), rounds * (pause - 8 * costs.byte_time));
  EXPECT_LT(pause, (1 << 20) * costs.byte_time);
  EXPECT_NEAR(delay(1 << 20), 0, 1e-12);
}

TEST(CostModel, AFewRanksTellAboutWhatAllDo) {
  for (const Algorithm* const algorithm : algorithms()) {
    for (const Rank size : {24U, 64U, 100U}) {
      const Shape shape = test::shape(*algorithm, size);
      for (const std::uint64_t bytes : {8U, 4096U, 1U << 20U}) {
        for (const Link link : {Link::host, Link::wire}) {
          for (const std::uint32_t cores : {2U, size}) {
            const Placement placement{link, size, cores};
            const double all = price(*algorithm, shape, bytes, placement, costs, Follow::all).seconds;
            const double few = price(*algorithm, shape, bytes, placement, costs, Follow::few).seconds;
            EXPECT_LT(few, 3 * all) << test::label(*algorithm, shape) << ", " << bytes << ", " << cores;
            EXPECT_GT(few, all / 3) << test::label(*algorithm, shape) << ", " << bytes << ", " << cores;
          }
        }
      }
    }
  }
}

// 2^28 ranks with 2^28 peers each, in 64 rounds, and four steps for each: 2^64.
TEST(CostModel, AFewRanksAreFollowedWhereStepsCannotBeCounted) {
  const test::Custom idle(Operation::broadcast, 64, 0, [](const Shape&, Rank, std::uint32_t, Sink&) {});
  EXPECT_FALSE(price(idle, {.operation = Operation::broadcast, .size = Rank{1} << 28U}, 8, in_memory, costs).is_exact);
}

TEST(CostModel, AWastefulScheduleCostsMore) {
  // Sends everything twice.
  const test::Custom twice(Operation::broadcast, 1, 0, [](const Shape& shape, Rank me, std::uint32_t, Sink& sink) {
    for (int time = 0; time < 2; ++time) {
      if (me != 0) {
        sink.receive(0, output());
      } else {
        for (Rank peer = 1; peer < shape.size; ++peer) sink.send(peer, input());
      }
    }
    if (me == 0) sink.copy(input(), output());
  });
  for (Rank size = 2; size <= 9; ++size) {
    const Shape shape{.operation = Operation::broadcast, .size = size};
    for (const std::uint64_t bytes : {8U, 100'000U}) {
      EXPECT_GT(price(twice, shape, bytes, in_memory, costs).seconds,
                1.3 * price_of("linear_broadcast", size, bytes).seconds);
    }
  }
}

TEST(CostModel, RefusesWhatTheAlgorithmRefuses) {
  EXPECT_THROW(
      price(find_algorithm("ring_allreduce"), {.operation = Operation::broadcast, .size = 4}, 8, in_memory, costs),
      Error);
}

// Of what takes as long where all keep step, over wires that is better which has each wait for the one before.
TEST(CostModel, WhatCrossesFallsOutOfStep) {
  constexpr Placement wires{.link = Link::wire};
  const auto path = [&](std::string_view name, std::uint64_t bytes) {
    const Algorithm& algorithm = find_algorithm(name);
    return price(algorithm, test::shape(algorithm, 8), bytes, wires, built_in_costs()).path;
  };
  EXPECT_LT(path("linear_allgather", 8), path("ring_allgather", 8));
  EXPECT_GT(path("linear_allgather", 1 << 20), path("ring_allgather", 1 << 20));
  EXPECT_GT(path("pairwise_all_to_all", 1 << 20), path("ring_allgather", 1 << 20));
  EXPECT_LT(path("linear_gather", 1 << 20), path("linear_allgather", 1 << 20)) << "many to one keep its wire busy";
}

}  // namespace
}  // namespace stretto::schedule
