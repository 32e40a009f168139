#include "stretto/collective/lowering.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "stretto/schedule/receivers_read.h"
#include "stretto/schedule/test_support.h"

// What a lowering promises, looked up in the schedules of all ranks, for all algorithms.
namespace stretto {
namespace {

using schedule::Algorithm;
using schedule::BlockRef;
using schedule::Buffer;
using schedule::find_algorithm;
using schedule::Rank;
using schedule::Schedule;
using schedule::Shape;
using schedule::Step;
using schedule::StepKind;

constexpr std::uint32_t none = Lowering::none;

// The schedules of all ranks, and what was made of them.
struct Lowered {
  std::vector<Schedule> schedules;
  std::vector<Lowering> lowerings;

  const Step& step(Rank rank, std::uint32_t at) const { return schedules[rank].steps[at]; }

  std::string describe(Rank rank, std::uint32_t at) const {
    return "rank " + std::to_string(rank) + ", step " + std::to_string(at) + " (" + schedule::describe(step(rank, at)) +
           ")";
  }

  // The step by which the peer of message `at` sends or receives it.
  std::uint32_t other_end(Rank rank, std::uint32_t at) const {
    const Step& mine = step(rank, at);
    const StepKind kind = mine.kind == StepKind::send ? StepKind::receive : StepKind::send;
    const std::vector<Step>& theirs = schedules[mine.peer].steps;
    const auto found = std::find_if(theirs.begin(), theirs.end(), [&](const Step& each) {
      return each.kind == kind && each.peer == rank && each.tag == mine.tag;
    });
    return found == theirs.end() ? none : static_cast<std::uint32_t>(found - theirs.begin());
  }

  // What `fault` says of the first step of which it says something.
  template <class Fault>
  std::string first_fault(const Fault& fault) const {
    for (Rank rank = 0; rank < schedules.size(); ++rank) {
      for (std::uint32_t at = 0; at < schedules[rank].steps.size(); ++at) {
        const std::string text = fault(rank, at);
        if (!text.empty()) return describe(rank, at) + " " + text;
      }
    }
    return {};
  }
};

Lowered lowered(const Algorithm& algorithm, const Shape& shape) {
  Lowered all;
  all.schedules = schedule::test::schedules(algorithm, shape);
  for (const Schedule& each : all.schedules) all.lowerings.push_back(lower(algorithm, each));
  return all;
}

Lowered lowered(std::string_view algorithm, Rank size) {
  return lowered(find_algorithm(algorithm), schedule::test::shape(find_algorithm(algorithm), size));
}

bool reads(const Step& step, const BlockRef& blocks) {
  return (step.kind != StepKind::receive && overlap(step.source(), blocks)) ||
         (step.kind == StepKind::reduce && overlap(step.destination(), blocks));
}

bool writes(const Step& step, const BlockRef& blocks) {
  return step.kind != StepKind::send && overlap(step.destination(), blocks);
}

bool depends_on(const Schedule& schedule, std::uint32_t later, std::uint32_t earlier) {
  std::vector<bool> needed(schedule.steps.size(), false);
  needed[later] = true;
  for (std::uint32_t step = later; step > earlier; --step) {
    if (!needed[step]) continue;
    for (const std::uint32_t before : schedule.dependencies_of(step)) needed[before] = true;
  }
  return needed[earlier];
}

// What was granted to who sends what this step receives, if the sender is told early where to put it.
std::uint32_t answered_by(const Lowering& lowering, std::uint32_t step) {
  const auto is_it = [step](const Lowering::Answer& each) { return each.receive == step; };
  const auto found = std::find_if(lowering.answers.begin(), lowering.answers.end(), is_it);
  return found == lowering.answers.end() ? none : found->granted;
}

// Of a message that one end takes in place and the other doesn't.
std::string disagreement_of_ends(const Lowered& all) {
  return all.first_fault([&](Rank rank, std::uint32_t at) -> std::string {
    if (!all.step(rank, at).is_message()) return {};
    const std::uint32_t other = all.other_end(rank, at);
    if (other == none) return "has no other end";
    const Rank peer = all.step(rank, at).peer;
    if (all.lowerings[rank].in_place[at] == all.lowerings[peer].in_place[other]) return {};
    return "is in place at one end only";
  });
}

std::string fault_of_taken(const Schedule& schedule, const Lowering& lowering, std::uint32_t receive) {
  const std::uint32_t reader = lowering.reader[receive];
  if (lowering.in_place[receive] != (reader != none)) return "is in place or has a reader, but not both";
  if (reader == none) return {};
  const auto successors = schedule.successors_of(receive);
  if (successors.size() != 1 || successors.front() != reader) return "is waited for by others than its reader";
  const Step& reduce = schedule.steps[reader];
  const BlockRef landing = schedule.steps[receive].destination();
  if (reduce.kind != StepKind::reduce) return "is read by what is no reduce";
  if (landing.buffer != Buffer::scratch) return "does not land in scratch";
  const bool as_source = lowering.source_from[reader] == receive && reduce.source() == landing;
  const bool as_base = lowering.base_from[reader] == receive && reduce.destination() == landing;
  return as_source != as_base ? "" : "is not what its reader reads";
}

std::string fault_of_readers(const Lowered& all) {
  return all.first_fault([&](Rank rank, std::uint32_t at) -> std::string {
    const Lowering& lowering = all.lowerings[rank];
    if (all.step(rank, at).kind == StepKind::receive) return fault_of_taken(all.schedules[rank], lowering, at);
    if (lowering.reader[at] != none) return "has a reader, but receives nothing";
    for (const std::uint32_t receive : {lowering.source_from[at], lowering.base_from[at]}) {
      if (receive != none && lowering.reader[receive] != at) return "takes what is not granted to it";
    }
    return {};
  });
}

/// All ranks of a schedule, run as where they share memory and all data are large.
class SharedRun {
 public:
  explicit SharedRun(const Lowered& all) : all_(all) {
    for (const Schedule& each : all.schedules) states_.emplace_back(each.steps.size(), State::waiting);
  }

  // A step that cannot complete; empty if all do.
  std::string stuck() {
    while (advance()) {
    }
    return all_.first_fault([this](Rank rank, std::uint32_t at) -> std::string {
      return states_[rank][at] == State::complete ? "" : "never completes";
    });
  }

 private:
  enum class State : std::uint8_t { waiting, started, complete };

  bool advance() {
    bool any = false;
    for (Rank rank = 0; rank < states_.size(); ++rank) {
      for (std::uint32_t at = 0; at < states_[rank].size(); ++at) {
        State& state = states_[rank][at];
        const State before = state;
        if (state == State::waiting && may_start(rank, at)) state = State::started;
        if (state == State::started && may_complete(rank, at)) state = State::complete;
        any = any || state != before;
      }
    }
    return any;
  }

  bool may_start(Rank rank, std::uint32_t at) const {
    const auto before = all_.schedules[rank].dependencies_of(at);
    return std::all_of(before.begin(), before.end(),
                       [&](std::uint32_t each) { return states_[rank][each] == State::complete; });
  }

  bool may_complete(Rank rank, std::uint32_t at) const {
    const Step& step = all_.step(rank, at);
    if (!step.is_message()) return true;
    const std::uint32_t other = all_.other_end(rank, at);
    const bool in_place = all_.lowerings[rank].in_place[at];
    const State theirs = states_[step.peer][other];
    if (step.kind == StepKind::receive) return theirs == State::complete || (in_place && theirs == State::started);
    if (step.count == 0) return true;
    if (all_.lowerings[rank].lent[at]) return true;
    const Lowering& lowering = all_.lowerings[step.peer];
    if (!in_place) return theirs != State::waiting || answered_by(lowering, other) != none;
    return lowering.reader[other] != none && states_[step.peer][lowering.reader[other]] == State::complete;
  }

  const Lowered& all_;
  std::vector<std::vector<State>> states_;
};

// Whether a message into `filled` may begin while the same place of `granted` has been read, but not all of it: where
// the caller passes input and output in place, they are the same memory or apart.
bool same_or_apart(const Shape& shape, Rank me, const BlockRef& granted, const BlockRef& filled) {
  if (granted.buffer == filled.buffer) return granted == filled || !overlap(granted, filled);
  if (granted.buffer != Buffer::input || filled.buffer != Buffer::output) return false;
  const std::int64_t distance = filled.first - granted.first - schedule::in_place_offset(shape, me);
  return distance == 0 || distance >= granted.count || -distance >= filled.count;
}

// Of memory into which a peer may write before it has read there what it was granted.
std::string early_overwriting(const Lowered& all) {
  return all.first_fault([&](Rank rank, std::uint32_t at) -> std::string {
    const Schedule& mine = all.schedules[rank];
    const Step& receive = all.step(rank, at);
    const std::uint32_t granted = answered_by(all.lowerings[rank], at);
    if (granted == none) return {};
    if (receive.kind != StepKind::receive || all.lowerings[rank].in_place[at]) return "fills no memory";
    if (mine.dependencies_of(at).size() != 1) return "waits for more than a grant";
    if (mine.dependencies_of(at).front() != granted) return "waits for another grant";
    const Step& grant = all.step(rank, granted);
    if (grant.kind != StepKind::send || grant.peer != receive.peer || !all.lowerings[rank].in_place[granted]) {
      return "waits for no grant to its sender";
    }
    const Lowering& theirs = all.lowerings[receive.peer];
    const std::uint32_t reader = theirs.reader[all.other_end(rank, granted)];
    const std::uint32_t given = all.other_end(rank, at);
    if (!depends_on(all.schedules[receive.peer], given, reader))
      return "may be filled before what it overwrites is read";
    const bool by_piece = theirs.follows[given] == reader;
    if (by_piece && !same_or_apart(mine.shape, rank, grant.source(), receive.destination())) {
      return "may be filled where its sender still reads";
    }
    // Of two ranks it goes through a window, through which also goes what it answers (decision 57).
    const bool follows_at_once = by_piece && all.schedules[receive.peer].dependencies_of(given).size() == 1;
    if (mine.shape.size == 2 && !follows_at_once) return "has to wait for more than what it answers";
    return {};
  });
}

std::string fault_of_following(const Lowered& all) {
  return all.first_fault([&](Rank rank, std::uint32_t at) -> std::string {
    const std::uint32_t reduce = all.lowerings[rank].follows[at];
    if (reduce == none) return {};
    const auto before = all.schedules[rank].dependencies_of(at);
    const bool waits = std::find(before.begin(), before.end(), reduce) != before.end();
    const Step& made = all.step(rank, reduce);
    const bool fits = made.kind == StepKind::reduce && made.destination() == all.step(rank, at).source();
    if (all.step(rank, at).kind != StepKind::send || !waits || !fits) return "follows what does not make it";
    return {};
  });
}

bool is_in_first_round(const Lowered& all, Rank rank, std::uint32_t at) {
  return at < all.schedules[rank].round_offsets[1];
}

// Of a send that is over before its receiver has read it, though it may change.
std::string fault_of_lending(const Lowered& all) {
  return all.first_fault([&](Rank rank, std::uint32_t at) -> std::string {
    const Step& send = all.step(rank, at);
    const std::uint32_t other = send.is_message() ? all.other_end(rank, at) : none;
    const bool is_lent = all.lowerings[rank].lent[at];
    if (other != none && all.lowerings[send.peer].lent[other] != is_lent) return "is lent at one end only";
    if (!is_lent) return {};
    const bool is_copied_there = schedule::is_exchange(all.schedules[rank].shape) && is_in_first_round(all, rank, at);
    if (!all.lowerings[rank].in_place[at] && !is_copied_there) return "is lent, but not granted";
    if (send.kind == StepKind::receive) return {};
    const std::vector<Step>& steps = all.schedules[rank].steps;
    const bool changes =
        std::any_of(steps.begin(), steps.end(), [&](const Step& each) { return writes(each, send.source()); });
    const bool is_copied = !changes && send.source().buffer == Buffer::input;  // by who has input and output in place
    return is_copied ? "" : "is lent, and written over";
  });
}

// Of a copy that somebody misses when its reduce does its work.
std::string missed_copy(const Lowered& all) {
  return all.first_fault([&](Rank rank, std::uint32_t at) -> std::string {
    const std::vector<Step>& steps = all.schedules[rank].steps;
    const std::uint32_t other = all.lowerings[rank].copy_before[at];
    if (other == none) return {};
    if (all.lowerings[rank].copy_before[other] != at) return "is in no pair";
    if (steps[at].kind != StepKind::copy) return "";
    const BlockRef made = steps[at].destination();
    if (steps[other].kind != StepKind::reduce || steps[other].destination() != made) return "is not before its reduce";
    for (std::uint32_t next = at + 1; next < other; ++next) {
      if (reads(steps[next], made) || writes(steps[next], made)) return "is missed by step " + std::to_string(next);
      if (writes(steps[next], steps[at].source())) return "copies what step " + std::to_string(next) + " changes";
    }
    return other > at ? "" : "comes after its reduce";
  });
}

std::string fault_of(const Lowered& all) {
  for (const auto check :
       {disagreement_of_ends, fault_of_readers, early_overwriting, fault_of_following, fault_of_lending, missed_copy}) {
    const std::string fault = check(all);
    if (!fault.empty()) return fault;
  }
  return SharedRun(all).stuck();
}

std::vector<Rank> sizes() {
  std::vector<Rank> sizes{16, 17};
  for (Rank size = 1; size <= 12; ++size) sizes.push_back(size);
  return sizes;
}

TEST(Lowering, KeepsWhatEveryAlgorithmMeans) {
  for (const Algorithm* algorithm : schedule::algorithms()) {
    for (const Rank size : sizes()) {
      for (const Shape& shape : schedule::test::shapes(*algorithm, size, size, 2)) {
        if (shape.root != 0 && shape.root != size - 1) continue;
        EXPECT_EQ(fault_of(lowered(*algorithm, shape)), "") << schedule::test::label(*algorithm, shape);
      }
    }
  }
}

std::size_t marked(const std::vector<bool>& steps) {
  return static_cast<std::size_t>(std::count(steps.begin(), steps.end(), true));
}
std::size_t marked(const std::vector<std::uint32_t>& steps) {
  return steps.size() - static_cast<std::size_t>(std::count(steps.begin(), steps.end(), none));
}

TEST(Lowering, TakesADirectAllreduceInPlace) {
  const Lowered all = lowered("direct_allreduce", 4);
  for (const Lowering& each : all.lowerings) {
    EXPECT_EQ(marked(each.in_place), 6U) << "three grants, three taken";
    EXPECT_EQ(marked(each.reader), 3U);
    EXPECT_GE(each.answers.size(), 1U);
    EXPECT_EQ(marked(each.follows), 3U);
  }
}

// The first round of the two: what it sends is the input, which only callers in place write over.
TEST(Lowering, LendsWhatIsExchanged) {
  const Lowered all = lowered("recursive_doubling", 4);
  for (const Lowering& each : all.lowerings) {
    EXPECT_EQ(marked(each.in_place), 2U) << "one grant, one taken";
    EXPECT_EQ(marked(each.lent), 2U);
    EXPECT_EQ(marked(each.reader), 1U);
    EXPECT_TRUE(each.answers.empty());
  }
}

// Nobody combines it: it is copied from where it lies; but not what goes to several.
TEST(Lowering, LendsWhatRanksGiveEachOther) {
  const auto lent = [](std::string_view algorithm, schedule::Operation operation, Rank size) {
    const Lowered all = lowered(find_algorithm(algorithm), Shape{.operation = operation, .size = size});
    for (const Lowering& each : all.lowerings) {
      EXPECT_EQ(marked(each.in_place), 0U) << algorithm;
      EXPECT_EQ(marked(each.lent), marked(all.lowerings[0].lent)) << algorithm;
    }
    return marked(all.lowerings[0].lent);
  };
  EXPECT_EQ(lent("linear_all_to_all", schedule::Operation::all_to_all, 4), 6U) << "three sends, three receives";
  EXPECT_EQ(lent("pairwise_all_to_all", schedule::Operation::all_to_all, 4), 2U) << "of the first round";
  EXPECT_EQ(lent("linear_allgather", schedule::Operation::allgather, 2), 2U);
  EXPECT_EQ(lent("linear_allgather", schedule::Operation::allgather, 3), 0U);
  EXPECT_EQ(lent("ring_allgather", schedule::Operation::allgather, 5), 2U);
  EXPECT_EQ(lent("linear_all_to_all", schedule::Operation::all_to_all, 32), 62U);
  EXPECT_EQ(lent("linear_all_to_all", schedule::Operation::all_to_all, 33), 0U) << "more than a call lends by itself";
  EXPECT_EQ(lent("linear_gather", schedule::Operation::gather, 4), 0U) << "who only gives may be through early";
}

// Every rank's share of the first round is a part of the output.
TEST(Lowering, LeavesAnExchangeOfWhatIsWrittenAlone) {
  const Lowered all = lowered("padded_doubling", 5);
  for (const Lowering& each : all.lowerings) EXPECT_EQ(marked(each.in_place), 0U);
}

// The checks see what is wrong: each of the following breaks one promise.

std::uint32_t first_marked(const std::vector<bool>& steps, bool mark) {
  return static_cast<std::uint32_t>(std::find(steps.begin(), steps.end(), mark) - steps.begin());
}

TEST(LoweringCheck, SeesEndsThatDisagree) {
  for (Rank rank = 0; rank < 4; ++rank) {
    Lowered all = lowered("direct_allreduce", 4);
    const std::uint32_t grant = first_marked(all.lowerings[rank].in_place, true);
    all.lowerings[rank].in_place[grant] = false;
    EXPECT_NE(disagreement_of_ends(all).find("is in place at one end only"), std::string::npos);
  }
}

// Each of two partners grants the other what it then writes over, and waits until the other has read it.
TEST(LoweringCheck, SeesAnExchangeThatWaitsForItself) {
  Lowered all = lowered("recursive_doubling", 4);
  for (Lowering& each : all.lowerings) each.lent.assign(each.lent.size(), false);
  EXPECT_EQ(disagreement_of_ends(all), "");
  EXPECT_EQ(fault_of_readers(all), "");
  EXPECT_NE(SharedRun(all).stuck().find("never completes"), std::string::npos);
}

TEST(LoweringCheck, SeesWhatIsLentAndChanged) {
  Lowered all = lowered("recursive_doubling", 4);
  Schedule& schedule = all.schedules[2];
  const std::uint32_t sent = first_marked(all.lowerings[2].lent, true);
  schedule.steps[sent].source_buffer = Buffer::output;
  EXPECT_NE(fault_of_lending(all).find("written over"), std::string::npos);
  all.lowerings[2].in_place[sent] = false;
  EXPECT_NE(fault_of_lending(all).find("not granted"), std::string::npos);
  all.lowerings[2].lent[sent] = false;
  EXPECT_NE(fault_of_lending(all).find("at one end only"), std::string::npos);
}

TEST(LoweringCheck, SeesAReaderThatReadsSomethingElse) {
  Lowered all = lowered("direct_allreduce", 4);
  Lowering& lowering = all.lowerings[2];
  const auto taken =
      std::find_if(lowering.reader.begin(), lowering.reader.end(), [](auto each) { return each != none; });
  const auto other =
      std::find_if(taken, lowering.reader.end(), [&](auto each) { return each != none && each != *taken; });
  ASSERT_NE(other, lowering.reader.end());
  std::swap(*taken, *other);
  EXPECT_NE(fault_of_readers(all), "");
}

TEST(LoweringCheck, SeesMemoryThatIsFilledTooEarly) {
  Lowered all = lowered("recursive_doubling", 4);
  const Schedule& schedule = all.schedules[1];
  for (std::uint32_t at = schedule.round_offsets[1]; at < schedule.steps.size(); ++at) {
    if (schedule.steps[at].kind == StepKind::receive) all.lowerings[1].answers.push_back({at, at - 1});
  }
  EXPECT_NE(early_overwriting(all), "");
}

// A copy that is sent before anything is added to it.
TEST(LoweringCheck, SeesACopyThatIsMissed) {
  Lowered all = lowered("padded_doubling", 4);
  const std::vector<Step>& steps = all.schedules[0].steps;
  const auto find = [&](StepKind kind) {
    const auto found = std::find_if(steps.begin(), steps.end(), [kind](const Step& each) { return each.kind == kind; });
    return static_cast<std::uint32_t>(found - steps.begin());
  };
  const std::uint32_t copy = find(StepKind::copy);
  const std::uint32_t reduce = find(StepKind::reduce);
  ASSERT_LT(copy, reduce);
  all.lowerings[0].copy_before[copy] = reduce;
  all.lowerings[0].copy_before[reduce] = copy;
  EXPECT_NE(missed_copy(all).find("is missed by step"), std::string::npos);
}

}  // namespace
}  // namespace stretto
