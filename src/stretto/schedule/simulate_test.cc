#include "stretto/schedule/simulate.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "stretto/base/error.h"
#include "stretto/schedule/builder.h"
#include "stretto/schedule/test_support.h"
#include "stretto/schedule/walk.h"

namespace stretto::schedule {
namespace {

const Network network{.name = "test",
                      .latency = 1.5e-6,
                      .overhead = 0.5e-6,
                      .gap = 0.6e-6,
                      .byte_time = 0.2e-9,
                      .reduction_time = 0.1e-9,
                      .origin = "this test"};

/// o + (n - 1) G + L + o: from the begin of a send to the end of its receive.
double message_time(std::uint64_t bytes) {
  const double streaming = bytes == 0 ? 0 : static_cast<double>(bytes - 1) * network.byte_time;
  return 2 * network.overhead + network.latency + streaming;
}

Prediction predict(std::string_view name, Rank size, std::uint64_t bytes, Clocks clocks = Clocks::fewest) {
  const Algorithm& algorithm = find_algorithm(name);
  return simulate(algorithm, test::shape(algorithm, size), bytes, network, clocks);
}

void expect_near(double seconds, double expected) { EXPECT_NEAR(seconds, expected, 1e-9 * expected); }

TEST(Simulate, ButterflyOfAPowerOfTwoTakesLogTimesExchangeAndReduction) {
  for (std::uint32_t k = 1; k <= 11; ++k) {
    for (const std::uint64_t bytes : {1U, 8U, 65536U}) {
      const Prediction prediction = predict("recursive_doubling", Rank{1} << k, bytes);
      const double round = message_time(bytes) + static_cast<double>(bytes) * network.reduction_time;
      expect_near(prediction.minimum, k * round);
      expect_near(prediction.mean, k * round);
      expect_near(prediction.maximum, k * round);
      EXPECT_EQ(prediction.rounds, k);
      EXPECT_EQ(prediction.messages, std::uint64_t{k} << k);
      EXPECT_EQ(prediction.bytes, bytes * (std::uint64_t{k} << k));
      EXPECT_FALSE(prediction.used_one_clock);
    }
  }
}

TEST(Simulate, ButterflyOfOtherSizesPaysForFoldAndUnfold) {
  const double reduction = 8 * network.reduction_time;
  const double round = message_time(8) + reduction;
  for (std::uint32_t core = 1; core <= 9; ++core) {
    // One and a half powers of two: the half that serves those left out enters the core's last round a round late,
    // finds its partners' messages there, and hands the result on.
    const Prediction prediction = predict("recursive_doubling", Rank{3} << (core - 1), 8);
    const double has_result = core * round + 2 * network.overhead + reduction;
    expect_near(prediction.minimum, has_result + network.overhead);
    expect_near(prediction.maximum, has_result + message_time(8));
    EXPECT_EQ(prediction.rounds, core + 2);
    EXPECT_GT(prediction.mean, prediction.minimum);
    EXPECT_LT(prediction.mean, prediction.maximum);
  }
}

TEST(Simulate, AWideGapBoundsTheRateOfMessages) {
  Network slow = network;
  slow.gap = 10e-6;
  const Algorithm& algorithm = find_algorithm("recursive_doubling");
  const Prediction prediction = simulate(algorithm, {.operation = Operation::allreduce, .size = 32}, 8, slow);
  expect_near(prediction.maximum, 4 * (slow.gap + 7 * slow.byte_time) + message_time(8) + 8 * slow.reduction_time);
}

TEST(Simulate, TreesTakeTheirDepth) {
  for (std::uint32_t k = 1; k <= 12; ++k) {
    const Prediction broadcast = predict("binomial_broadcast", Rank{1} << k, 8);
    expect_near(broadcast.maximum, k * message_time(8));
    expect_near(broadcast.minimum, k * network.overhead);  // the root, who does not wait for its wire
    EXPECT_EQ(broadcast.messages, (std::uint64_t{1} << k) - 1);
    const Prediction reduce = predict("binomial_reduce", Rank{1} << k, 8);
    expect_near(reduce.maximum, k * (message_time(8) + 8 * network.reduction_time));
    EXPECT_EQ(reduce.minimum, reduce.maximum) << "the root alone receives";
  }
}

TEST(Simulate, RingsAndDisseminationTakeTheirRounds) {
  for (const Rank size : {2U, 3U, 17U, 64U}) {
    expect_near(predict("ring_allgather", size, 1000).maximum, (size - 1) * message_time(1000));
    expect_near(predict("dissemination_barrier", size, 0).maximum, doublings(size) * message_time(0));
  }
  double expected = 0;
  for (std::uint32_t k = 0; k < 6; ++k) expected += message_time(std::uint64_t{1000} << k);
  expect_near(predict("recursive_doubling_allgather", 64, 1000).maximum, expected);
}

TEST(Simulate, LongVectorsTakeAsLongAsTheirPiecesDo) {
  const std::uint64_t bytes = 1 << 20;
  const auto reduction = [](std::uint64_t count) { return static_cast<double>(count) * network.reduction_time; };
  const std::uint64_t block = bytes / 16;
  expect_near(predict("ring_allreduce", 16, bytes).maximum, 30 * message_time(block) + 15 * reduction(block));
  double halving = 0;
  for (std::uint64_t part = bytes / 2; part >= block; part /= 2) halving += 2 * message_time(part) + reduction(part);
  expect_near(predict("rabenseifner", 16, bytes).maximum, halving);
}

TEST(Simulate, SegmentsOverlapReductionsWithMessages) {
  const Algorithm& ring = find_algorithm("ring_allreduce");
  Network slow = network;
  slow.reduction_time = slow.byte_time;
  const auto seconds = [&](std::uint32_t segments) {
    const Shape shape = ring.with_segments({.operation = Operation::allreduce, .size = 8}, segments);
    return simulate(ring, shape, 64 << 20, slow).maximum;
  };
  EXPECT_LT(seconds(8), 0.75 * seconds(1));
}

TEST(Simulate, OneClockTellsTheTimeOfAllWhereAnAlgorithmIsSymmetric) {
  for (const Algorithm* algorithm : algorithms()) {
    for (const Rank size : test::sizes_to(64)) {
      const Shape shape = test::shape(*algorithm, size);
      const std::uint64_t bytes = 100 * shape.blocks;
      const Prediction few = simulate(*algorithm, shape, bytes, network);
      const Prediction all = simulate(*algorithm, shape, bytes, network, Clocks::one_each_rank);
      ASSERT_EQ(few.used_one_clock, algorithm->rotation_symmetric(shape));
      ASSERT_FALSE(all.used_one_clock);
      ASSERT_EQ(few.minimum, all.minimum) << test::label(*algorithm, shape);
      ASSERT_EQ(few.maximum, all.maximum) << test::label(*algorithm, shape);
      ASSERT_EQ(few.messages, all.messages) << test::label(*algorithm, shape);
      ASSERT_EQ(few.bytes, all.bytes) << test::label(*algorithm, shape);
    }
  }
}

TEST(Simulate, HostsHaveANetworkInside) {
  Network inside = network;
  inside.latency = 0.1e-6;
  inside.overhead = 0.05e-6;
  const double inside_time = 2 * inside.overhead + inside.latency + 7 * inside.byte_time;
  const Algorithm& leaders = find_algorithm("leaders_broadcast");
  const Shape shape{.operation = Operation::broadcast, .size = 4, .hosts = Hosts::even(4, 2)};
  expect_near(simulate(leaders, shape, 8, network, inside).maximum, message_time(8) + inside_time);
  const Algorithm& flat = find_algorithm("linear_broadcast");
  // Rank 1 is told first, to which the root brings the bytes itself; then the other host, one message after the other.
  const double wire = network.gap + 7 * network.byte_time + message_time(8);
  expect_near(simulate(flat, shape, 8, network, inside).maximum, inside.overhead + 7 * inside.byte_time + wire);
  // Where one network is all, hosts make no difference.
  expect_near(simulate(flat, shape, 8, network).maximum,
              simulate(flat, {.operation = Operation::broadcast, .size = 4}, 8, network).maximum);
}

TEST(Simulate, RanksOfAHostShareItsWire) {
  // Each rank exchanges with the one of the other host, and those of a host take turns.
  const Algorithm& butterfly = find_algorithm("recursive_doubling");
  const std::uint64_t bytes = 1 << 20;
  const auto seconds = [&](const Hosts& hosts) {
    const Shape shape{.operation = Operation::allreduce, .size = 8, .hosts = hosts};
    return simulate(butterfly, shape, bytes, network, network).maximum;
  };
  const double once = static_cast<double>(bytes) * network.byte_time;
  EXPECT_NEAR(seconds(Hosts::even(8, 2)) - seconds(Hosts::even(8, 8)), 3 * once, 0.1 * once);
}

TEST(Simulate, ReachesLargeMachines) {
  const Prediction prediction = predict("recursive_doubling", 131072, 8);
  expect_near(prediction.maximum, 17 * (message_time(8) + 8 * network.reduction_time));
  EXPECT_EQ(predict("dissemination_barrier", 1000000, 0).messages, 20000000U);
  EXPECT_EQ(predict("ring_allreduce", 16384, 1 << 20).messages, 2U * 16384 * 16383);
}

TEST(Simulate, ManyToOneIsServedOneByOne) {
  const test::Custom star(Operation::reduce, 1, 1, [](const Shape& shape, Rank me, std::uint32_t, Sink& sink) {
    if (me > 0) return sink.send(0, input());
    sink.copy(input(), output());
    for (Rank peer = 1; peer < shape.size; ++peer) accumulate(sink, me, peer, scratch(), output());
  });
  const Prediction prediction = simulate(star, {.operation = Operation::reduce, .size = 100}, 1, network);
  // One every max(g, o + R) after the first has arrived; the last one is still to be received and combined.
  const double first = network.overhead + network.latency;
  expect_near(prediction.maximum, first + 98 * network.gap + network.overhead + network.reduction_time);
  EXPECT_EQ(prediction.messages, 99U);
}

// What is listed first is combined first, however late it comes; what came before it has been received by then.
TEST(Simulate, MessagesAreTakenAsTheyComeAndCombinedAsTheyAreListed) {
  constexpr std::uint64_t bytes = 1000;
  const test::Custom late_first(Operation::reduce, 2, 1, [](const Shape&, Rank me, std::uint32_t round, Sink& sink) {
    if (round == 0) {
      if (me == 1) sink.receive(2, scratch());
      if (me == 2) sink.send(1, input());
      return;
    }
    if (me == 0) {
      sink.copy(input(), output());
      accumulate(sink, me, 1, scratch(), output());
      accumulate(sink, me, 2, scratch(), output());
    } else {
      sink.send(0, me == 1 ? scratch() : input());
    }
  });
  const Prediction prediction = simulate(late_first, {.operation = Operation::reduce, .size = 3}, bytes, network);
  // Rank 1 sends when it has heard from rank 2, whose second message has come by then.
  expect_near(prediction.maximum, 2 * message_time(bytes) + 2 * static_cast<double>(bytes) * network.reduction_time);
}

// Sends that wait for nothing leave one after the other, whatever comes in between.
TEST(Simulate, WhatWaitsForNothingLeavesAtOnce) {
  constexpr Rank size = 9;
  constexpr std::uint64_t bytes = 20'000;
  const double wire = network.gap + static_cast<double>(bytes - 1) * network.byte_time;
  for (const std::string_view name : {"linear_all_to_all", "pairwise_all_to_all"}) {
    expect_near(predict(name, size, bytes).maximum, (size - 2) * wire + message_time(bytes));
  }
}

// A segment that goes on a turn later does not wait for those after it.
TEST(Simulate, SegmentsOfARingTravelAtTheSameTime) {
  const Algorithm& ring = find_algorithm("ring_allreduce");
  constexpr std::uint64_t bytes = 1 << 20;
  constexpr std::uint32_t turns = 2 * 7;
  const auto seconds = [&](std::uint32_t segments) {
    const Shape shape = ring.with_segments({.operation = Operation::allreduce, .size = 8}, segments);
    return simulate(ring, shape, bytes, network).maximum;
  };
  // Latencies and overheads of all but the last segment are hidden.
  const double streaming = turns * static_cast<double>(bytes / 8) * network.byte_time;
  EXPECT_GT(seconds(1), streaming + turns * (network.latency + 2 * network.overhead));
  EXPECT_LT(seconds(4), streaming + 4 * turns * network.gap + 2 * message_time(bytes / 32));
}

TEST(Simulate, CutsVectorsIntoBlocksOfUnequalLength) {
  const test::Custom halves(Operation::broadcast, 1, 0, [](const Shape&, Rank me, std::uint32_t, Sink& sink) {
    if (me == 0) {
      sink.send(1, input(0));
      sink.send(1, input(1));
      sink.copy(input(0, 2), output(0, 2));
    } else {
      sink.receive(0, output(0));
      sink.receive(0, output(1));
    }
  });
  const Shape shape{.operation = Operation::broadcast, .size = 2, .blocks = 2};
  const Prediction prediction = simulate(halves, shape, 7, network);
  EXPECT_EQ(prediction.bytes, 7U);
  // The wire is busy with the longer first half before it takes the second.
  expect_near(prediction.maximum, network.gap + 3 * network.byte_time + message_time(3));
}

TEST(Simulate, WhereNobodyReceivesAllTimesAreZero) {
  for (const std::string_view name : {"linear_exscan", "recursive_doubling_exscan"}) {
    const Prediction alone = predict(name, 1, 8);
    EXPECT_EQ(alone.minimum, 0) << name;
    EXPECT_EQ(alone.mean, 0) << name;
    EXPECT_EQ(alone.maximum, 0) << name;
  }
}

TEST(Simulate, CountsAsManyBytesAsCanBeCounted) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  // Of all ranks together, of one rank's messages, and in one message.
  EXPECT_EQ(predict("ring_allgather", 1 << 16, std::uint64_t{1} << 33U).bytes, most);
  EXPECT_EQ(predict("linear_allgather", 64, std::uint64_t{1} << 59U).bytes, most);
  EXPECT_EQ(predict("recursive_doubling_allgather", 64, std::uint64_t{1} << 60U).bytes, most);
  EXPECT_EQ(predict("ring_allgather", 1 << 10, 64 << 20).bytes, std::uint64_t{1023} << 36U);
  // 1 + 2 + 4 + 8 blocks, and twice as many bytes as can be counted.
  EXPECT_GT(predict("recursive_doubling_allgather", 64, std::uint64_t{1} << 60U).maximum,
            40 * std::ldexp(network.byte_time, 60));
}

/// Nothing takes time.
struct NoTiming {
  void begin_round(std::uint32_t, const History&) {}
  void begin_rank(Rank, std::span<const Step>) {}
  bool takes_in_turn() { return false; }
  double send(Clock&, const Step&, std::uint64_t) { return 0; }
  double land(Clock&, const Message&) { return 0; }
  void await(Clock&, const Step&, std::uint64_t) {}
  void receive(Clock&, const Step&, std::uint64_t, double) {}
  void reduce(Clock&, std::size_t, std::uint64_t) {}
  void copy(Clock&, std::size_t, std::uint64_t) {}
};

TEST(Simulate, RefusesARoundThatCannotBeHeld) {
  const Algorithm& direct = find_algorithm("direct_allreduce");
  const Shape shape = test::shape(direct, 16);
  const auto complaint_with = [&](std::size_t most) -> std::string {
    NoTiming timing;
    const BlockLengths lengths(shape, 64);
    Walk walk(direct, shape, lengths, timing, false, most);
    try {
      walk.walk_round(0);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      return error.message();
    }
    return "";
  };
  EXPECT_EQ(complaint_with(16 * 15), "");
  EXPECT_NE(complaint_with(16 * 15 - 1).find("direct_allreduce, allreduce of 16 ranks in 16 blocks: in one round"),
            std::string::npos);
  EXPECT_NE(complaint_with(16 * 15 - 1).find("there are more than 239 messages"), std::string::npos);
  EXPECT_NE(complaint_with(30).find("a rank has more than 30 steps"), std::string::npos);
}

TEST(Simulate, RefusesWhatItCannotWalk) {
  EXPECT_THROW(predict("recursive_doubling", 0, 8), Error);
  const test::Custom silent(Operation::barrier, 1, 0, [](const Shape&, Rank me, std::uint32_t, Sink& sink) {
    if (me == 1) sink.receive(0, nothing());
  });
  try {
    simulate(silent, {.operation = Operation::barrier, .size = 2}, 0, network);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::internal);
    EXPECT_NE(error.message().find("nobody sends it in that round"), std::string::npos);
  }
}

}  // namespace
}  // namespace stretto::schedule
