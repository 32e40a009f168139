#include "stretto/collective/meeting.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <set>
#include <thread>
#include <vector>

#include "stretto/base/random.h"
#include "stretto/collective/test_support.h"

namespace stretto {
namespace {

using Arrival = Meeting::Arrival;

struct Call : fabric::Item {
  Call() noexcept : Item(nullptr) {}
};

using Ranks = std::multiset<Rank>;

// A meeting, and two calls of each member.
class MeetingTest : public testing::Test {
 protected:
  static constexpr Rank size = 3;

  Arrival arrive(Rank rank, std::uint32_t sequence, std::uint32_t digest = 7) {
    return meeting_.arrive(rank, {1, sequence, digest}, call_of(rank, sequence), all_, released_);
  }
  void pass(std::uint32_t end) { meeting_.pass(end, released_); }
  // Of two that follow each other.
  Call& call_of(Rank rank, std::uint32_t sequence) { return calls_[sequence % 2 * size + rank]; }
  // Whose calls go on by themselves, since this was asked last.
  Ranks released() {
    Ranks ranks;
    for (fabric::Item* item = std::exchange(released_, nullptr); item != nullptr; item = item->next) {
      ranks.insert(static_cast<Rank>(static_cast<Call*>(item) - calls_.data()) % size);
    }
    return ranks;
  }

  Meeting meeting_{size, 0};
  std::vector<Call> calls_{2 * size};
  std::vector<Meeting::Member> all_{size};
  fabric::Item* released_ = nullptr;
};

TEST_F(MeetingTest, WhoComesLastGetsAllInTheirOrder) {
  for (std::uint32_t call = 0; call < 5; ++call) {
    const auto rank = [&](Rank nth) { return (nth + call) % size; };
    EXPECT_EQ(arrive(rank(0), call), Arrival::waits);
    EXPECT_EQ(arrive(rank(1), call), Arrival::waits);
    EXPECT_EQ(meeting_.missing(call), std::vector{rank(2)});
    EXPECT_EQ(arrive(rank(2), call), Arrival::is_last);
    for (Rank nth = 0; nth < size; ++nth) {
      EXPECT_EQ(all_[nth].rank, rank(nth));
      EXPECT_EQ(all_[nth].call, &call_of(rank(nth), call));
    }
    EXPECT_TRUE(meeting_.missing(call).empty());
  }
  EXPECT_TRUE(released().empty());
}

TEST_F(MeetingTest, WhoPassesByReleasesThoseWhoWait) {
  arrive(0, 0);
  arrive(2, 0);
  pass(1);
  EXPECT_EQ(released(), (Ranks{0, 2}));
  EXPECT_TRUE(meeting_.missing(0).empty());
  pass(1);
  EXPECT_TRUE(released().empty()) << "once";
}

TEST_F(MeetingTest, WhoComesAfterOneHasPassedIsRefused) {
  pass(2);
  EXPECT_EQ(arrive(0, 0), Arrival::refused);
  EXPECT_EQ(arrive(0, 1), Arrival::refused);
  EXPECT_EQ(arrive(0, 2), Arrival::waits);
  EXPECT_TRUE(released().empty());
}

// The others may be a call ahead, where this one was done in another way.
TEST_F(MeetingTest, ThoseWhoWaitForALaterCallAreNotReleased) {
  arrive(0, 1);
  pass(1);
  EXPECT_TRUE(released().empty());
  EXPECT_EQ(arrive(1, 1), Arrival::waits);
  EXPECT_EQ(arrive(2, 1), Arrival::is_last);
}

TEST_F(MeetingTest, OtherCallsAreNotMetFor) {
  arrive(0, 0, 7);
  EXPECT_EQ(arrive(1, 0, 8), Arrival::refused) << "the members disagree";
  EXPECT_EQ(released(), Ranks{0});
  EXPECT_EQ(arrive(2, 0, 7), Arrival::refused);
}

// A member begins its next call before the one that it has come for is over.
TEST_F(MeetingTest, OneMayBeACallAhead) {
  EXPECT_EQ(arrive(0, 0), Arrival::waits);
  EXPECT_EQ(arrive(1, 0), Arrival::waits);
  EXPECT_EQ(arrive(0, 1), Arrival::waits);
  EXPECT_EQ(meeting_.missing(0), std::vector<Rank>{2});
  EXPECT_EQ(meeting_.missing(1), (std::vector<Rank>{1, 2}));
  EXPECT_EQ(arrive(2, 0), Arrival::is_last);
  EXPECT_EQ(all_[0].call, &call_of(0, 0));
  EXPECT_EQ(arrive(2, 1), Arrival::waits);
  EXPECT_EQ(arrive(1, 1), Arrival::is_last);
  EXPECT_EQ(all_[0].call, &call_of(0, 1));
  EXPECT_TRUE(released().empty());
}

TEST_F(MeetingTest, NoneIsTwoCallsAhead) {
  arrive(0, 0);
  arrive(0, 1);
  EXPECT_EQ(arrive(0, 2), Arrival::refused);
  EXPECT_EQ(released(), (Ranks{0, 0}));
  for (std::uint32_t call = 0; call < 3; ++call) EXPECT_EQ(arrive(1, call), Arrival::refused) << call;
  EXPECT_EQ(arrive(1, 3), Arrival::waits);
}

TEST_F(MeetingTest, WhereNotAllComeThereIsNoneForAWhile) {
  const auto fail = [&](std::uint32_t call) {
    EXPECT_EQ(arrive(0, call), Arrival::waits) << call;
    pass(call + 1);
    EXPECT_EQ(released(), Ranks{0});
  };
  fail(0);
  fail(1);  // after two in a row, two calls without one
  EXPECT_EQ(arrive(0, 2), Arrival::refused);
  EXPECT_EQ(arrive(0, 3), Arrival::refused);
  fail(4);  // then four
  EXPECT_EQ(arrive(0, 8), Arrival::refused);
  // One to which all come makes up for it.
  EXPECT_EQ(arrive(0, 9), Arrival::waits);
  EXPECT_EQ(arrive(1, 9), Arrival::waits);
  EXPECT_EQ(arrive(2, 9), Arrival::is_last);
  fail(10);
  EXPECT_EQ(arrive(0, 11), Arrival::waits);
}

// Those who are ahead go on as well.
TEST_F(MeetingTest, NobodyWaitsWhereThereIsNone) {
  arrive(0, 0);
  pass(1);
  EXPECT_EQ(released(), Ranks{0});
  arrive(0, 1);
  arrive(0, 2);
  pass(2);  // none for calls 2 and 3
  EXPECT_EQ(released(), (Ranks{0, 0}));
  EXPECT_EQ(arrive(1, 2), Arrival::refused);
}

TEST(Meeting, NumbersWrapAround) {
  Meeting meeting(2, ~std::uint32_t{0});
  std::vector<Call> calls(2);
  std::vector<Meeting::Member> all(2);
  fabric::Item* released = nullptr;
  for (const std::uint32_t call : {~std::uint32_t{0}, std::uint32_t{0}, std::uint32_t{1}}) {
    EXPECT_EQ(meeting.arrive(0, {1, call, 7}, calls[0], all, released), Arrival::waits);
    EXPECT_EQ(meeting.arrive(1, {1, call, 7}, calls[1], all, released), Arrival::is_last);
  }
  EXPECT_EQ(released, nullptr);
}

// Members on threads of their own come to most calls, pass by others, and wait for most that they come to: nobody is
// forgotten, and nobody is both released and met.
TEST(Meeting, NobodyIsForgottenSeeds) {
  constexpr Rank size = 3;
  constexpr std::uint32_t calls = 2000;
  struct Waiting : fabric::Item {
    Waiting() noexcept : Item(nullptr) {}
    std::atomic<int> told = 0;
    bool has_come = false;
  };
  for (const std::uint64_t seed : test::seeds(5)) {
    Meeting meeting(size, 0);
    std::vector<std::vector<Waiting>> of_calls;
    for (Rank rank = 0; rank < size; ++rank) of_calls.emplace_back(calls);
    std::atomic<std::uint32_t> met = 0;
    const auto tell = [](fabric::Item* item) {
      static_cast<Waiting*>(item)->told.fetch_add(1);
      static_cast<Waiting*>(item)->told.notify_one();
    };
    const auto tell_all = [&](fabric::Item* released) {
      while (released != nullptr) {
        fabric::Item* const item = released;
        released = released->next;
        tell(item);
      }
    };
    const auto member = [&](Rank rank) {
      Random random(seed * size + rank);
      std::vector<Meeting::Member> all(size);
      for (std::uint32_t call = 0; call < calls; ++call) {
        Waiting& mine = of_calls[rank][call];
        fabric::Item* released = nullptr;
        if (random.below(8) == 0) {
          meeting.pass(call + 1, released);
          tell_all(released);
          continue;
        }
        const Arrival arrival = meeting.arrive(rank, {1, call, 7}, mine, all, released);
        tell_all(released);
        if (arrival == Arrival::refused) continue;
        mine.has_come = true;
        if (arrival == Arrival::is_last) {
          met.fetch_add(1);
          for (const Meeting::Member& each : all) tell(each.call);
        }
        if (random.below(4) != 0) mine.told.wait(0);
      }
    };
    std::vector<std::thread> threads;
    for (Rank rank = 0; rank < size; ++rank) threads.emplace_back(member, rank);
    for (std::thread& thread : threads) thread.join();
    EXPECT_GT(met, 0U) << test::replay(seed);
    for (const std::vector<Waiting>& of_member : of_calls) {
      for (const Waiting& each : of_member) EXPECT_EQ(each.told, each.has_come ? 1 : 0) << test::replay(seed);
    }
  }
}

}  // namespace
}  // namespace stretto
