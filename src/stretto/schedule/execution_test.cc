// Runs materialised schedules on data, with a network and ranks that do everything in a random legal order. It knows
// nothing of how verify() looks at schedules, and so tests the dependencies and the verifier from the other side.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <string_view>
#include <tuple>

#include "stretto/schedule/test_support.h"

namespace stretto::schedule {
namespace {

/// What one rank gave to one block.
struct Term {
  std::uint32_t block = 0;  ///< of an all_to_all: the rank that it is for
  Rank rank = 0;

  friend auto operator<=>(const Term&, const Term&) = default;
};

/// A block's contents, in the order of combination.
using Data = std::vector<Term>;

std::ostream& operator<<(std::ostream& out, const Term& term) { return out << term.rank << '[' << term.block << ']'; }

struct Event {
  Rank rank = 0;
  std::uint32_t step = 0;
};

class Execution {
 public:
  Execution(std::vector<Schedule> schedules, bool in_place, std::uint64_t seed)
      : schedules_(std::move(schedules)), in_place_(in_place), random_(seed) {
    for (const Schedule& schedule : schedules_) {
      const Shape& shape = schedule.shape;
      Memory& memory = memories_.emplace_back();
      for (std::uint32_t b = 0; b < input_blocks(shape, schedule.me); ++b) {
        memory.input.push_back({{block_at(shape, schedule.me, Buffer::input, b), schedule.me}});
      }
      memory.output.resize(output_blocks(shape, schedule.me));
      memory.scratch.resize(schedule.scratch_blocks);
      memory.shares = in_place && !memory.input.empty() && !memory.output.empty();
      for (std::uint32_t b = 0; b < memory.input.size(); ++b) block(schedule.me, Buffer::input, b) = memory.input[b];
      std::vector<std::uint32_t>& waiting = waiting_.emplace_back();
      for (std::uint32_t i = 0; i < schedule.steps.size(); ++i) {
        waiting.push_back(schedule.steps[i].dependency_count);
        if (waiting.back() == 0) ready_.push_back({schedule.me, i});
      }
    }
  }

  /// Returns how many steps completed.
  std::size_t run() {
    while (!ready_.empty()) {
      const std::size_t pick = random_.below(ready_.size());
      const Event event = ready_[pick];
      ready_[pick] = ready_.back();
      ready_.pop_back();
      start(event);
    }
    return completed_;
  }

  const Data& output(Rank rank, std::uint32_t block) const { return memories_[rank].output[block]; }

 private:
  struct Memory {
    std::vector<Data> input;
    std::vector<Data> output;
    std::vector<Data> scratch;
    bool shares = false;
  };
  using MessageId = std::tuple<Rank, Rank, std::uint32_t>;  // from, to, tag

  Data& block(Rank rank, Buffer buffer, std::uint32_t index) {
    Memory& memory = memories_[rank];
    if (buffer == Buffer::scratch) return memory.scratch[index];
    if (buffer == Buffer::output) return memory.output[index];
    const std::int64_t place = index + in_place_offset(schedules_[rank].shape, rank);
    const bool is_shared = memory.shares && place >= 0 && place < std::ssize(memory.output);
    return is_shared ? memory.output[static_cast<std::size_t>(place)] : memory.input[index];
  }

  std::vector<Data> read(Event at) {
    const Step& step = schedules_[at.rank].steps[at.step];
    std::vector<Data> data;
    for (std::uint32_t i = 0; i < step.count; ++i)
      data.push_back(block(at.rank, step.source_buffer, step.source_first + i));
    return data;
  }

  void write(Event at, const std::vector<Data>& data) {
    const Step& step = schedules_[at.rank].steps[at.step];
    for (std::uint32_t i = 0; i < step.count; ++i) {
      block(at.rank, step.destination_buffer, step.destination_first + i) = data[i];
    }
  }

  void start(Event at) {
    const Step& step = schedules_[at.rank].steps[at.step];
    switch (step.kind) {
      case StepKind::send: return meet({at.rank, step.peer, step.tag}, at, true);
      case StepKind::receive: return meet({step.peer, at.rank, step.tag}, at, false);
      case StepKind::reduce: combine(at); break;
      case StepKind::copy:
        if (!in_place_ || !is_identity_in_place(schedules_[at.rank].shape, at.rank, step)) write(at, read(at));
        break;
    }
    complete(at);
  }

  void combine(Event at) {
    const Step& step = schedules_[at.rank].steps[at.step];
    for (std::uint32_t i = 0; i < step.count; ++i) {
      const Data source = block(at.rank, step.source_buffer, step.source_first + i);
      Data& destination = block(at.rank, step.destination_buffer, step.destination_first + i);
      destination.insert(step.order == Order::source_first ? destination.begin() : destination.end(), source.begin(),
                         source.end());
    }
  }

  /// One end of a message has started. Small messages leave at once, large ones only when both ends are there: a coin
  /// decides which this is.
  void meet(const MessageId& id, Event at, bool sends) {
    if (sends && random_.below(2) == 0) {
      in_flight_[id] = read(at);
      complete(at);
    } else if (sends) {
      waiting_sends_[id] = at;
    } else {
      waiting_receives_[id] = at;
    }
    const auto receive = waiting_receives_.find(id);
    if (receive == waiting_receives_.end()) return;
    if (const auto eager = in_flight_.find(id); eager != in_flight_.end()) {
      write(receive->second, eager->second);
      complete(receive->second);
    } else if (const auto late = waiting_sends_.find(id); late != waiting_sends_.end()) {
      write(receive->second, read(late->second));
      complete(late->second);
      complete(receive->second);
    }
  }

  void complete(Event at) {
    ++completed_;
    for (const std::uint32_t later : schedules_[at.rank].successors_of(at.step)) {
      if (--waiting_[at.rank][later] == 0) ready_.push_back({at.rank, later});
    }
  }

  std::vector<Schedule> schedules_;
  bool in_place_;
  Random random_;
  std::vector<Memory> memories_;
  std::vector<std::vector<std::uint32_t>> waiting_;
  std::vector<Event> ready_;
  std::map<MessageId, std::vector<Data>> in_flight_;
  std::map<MessageId, Event> waiting_sends_;
  std::map<MessageId, Event> waiting_receives_;
  std::size_t completed_ = 0;
};

/// What block `place` of the output of `me` should be.
Data expected_in(const Shape& shape, Rank me, std::uint32_t place) {
  switch (shape.operation) {
    case Operation::broadcast: return {{place, shape.root}};
    case Operation::scatter: return {{me, shape.root}};
    case Operation::allgather:
    case Operation::gather: return {{place, place}};
    case Operation::all_to_all: return {{me, place}};
    default: break;
  }
  const std::uint32_t block = shape.operation == Operation::reduce_scatter ? me : place;
  const Rank end = shape.operation == Operation::scan     ? me + 1
                   : shape.operation == Operation::exscan ? me
                                                          : contributing_ranks(shape);
  Data data;
  for (Rank rank = 0; rank < end; ++rank) data.push_back({block, rank});
  return data;
}

void expect_results(const Shape& shape, const Execution& execution) {
  for (Rank me = 0; me < shape.size; ++me) {
    for (std::uint32_t b = 0; b < output_blocks(shape, me); ++b) {
      Data data = execution.output(me, b);
      if (shape.commutative) std::sort(data.begin(), data.end());
      ASSERT_EQ(data, expected_in(shape, me, b)) << "rank " << me << ", block " << b;
    }
  }
}

TEST(Execution, InAnyOrderGivesEveryReceiverItsResultSeeds) {
  for (const std::uint64_t seed : test::seeds(100)) {
    Random random(seed);
    for (const Algorithm* algorithm : algorithms()) {
      const auto size = static_cast<Rank>(1 + random.below(24));
      const std::vector<Shape> shapes = test::shapes(*algorithm, size, size);
      const Shape& shape = shapes[random.below(shapes.size())];
      const bool in_place = may_be_in_place(shape.operation) && random.below(2) == 0;
      SCOPED_TRACE(test::label(*algorithm, shape) + (in_place ? " in place" : "") +
                   ", STRETTO_TEST_SEED=" + std::to_string(seed));
      const std::vector<Schedule> schedules = test::schedules(*algorithm, shape);
      std::size_t steps = 0;
      for (const Schedule& schedule : schedules) steps += schedule.steps.size();
      Execution execution(schedules, in_place, random());
      ASSERT_EQ(execution.run(), steps) << "some steps never completed";
      expect_results(shape, execution);
    }
  }
}

TEST(Execution, AllRanksCombineTheSameTermsInTheSameOrder) {
  for (const std::string_view name : {"recursive_doubling", "direct_allreduce", "rabenseifner"}) {
    for (Rank size = 1; size <= 40; ++size) {
      const Algorithm& algorithm = find_algorithm(name);
      const Shape shape = test::shape(algorithm, size);
      Execution execution(test::schedules(algorithm, shape), false, size);
      execution.run();
      for (Rank me = 1; me < size; ++me) {
        for (std::uint32_t b = 0; b < shape.blocks; ++b) ASSERT_EQ(execution.output(me, b), execution.output(0, b));
      }
    }
  }
}

TEST(Execution, DirectAlgorithmsCombineInRankOrderEvenWhenTheyNeedNot) {
  for (const std::string_view name : {"direct_allreduce", "direct_reduce_scatter"}) {
    const Algorithm& algorithm = find_algorithm(name);
    const Shape shape = test::shape(algorithm, 7);
    Execution execution(test::schedules(algorithm, shape), true, 1);
    execution.run();
    for (Rank me = 0; me < shape.size; ++me) EXPECT_EQ(execution.output(me, 0), expected_in(shape, me, 0));
  }
}

}  // namespace
}  // namespace stretto::schedule
