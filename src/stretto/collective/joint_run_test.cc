#include "stretto/collective/joint_run.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "stretto/collective/make_call.h"
#include "stretto/collective/test_support.h"

// What one member does for all gives the results of the operations, by each algorithm and for each size of group, where
// input and output are apart and where they are in place.
namespace stretto {
namespace {

using schedule::Algorithm;
using schedule::Operation;
using schedule::Shape;
using test::Affine;
using test::Compose;

// All members' memory for one call, and what should be in it in the end.
class Members {
 public:
  Members(const Shape& shape, std::size_t block, bool in_place) : shape_(shape), in_place_(in_place) {
    for (Rank rank = 0; rank < shape.size; ++rank) {
      const std::size_t input = count(schedule::input_blocks(shape, rank), block);
      const std::size_t output = count(schedule::output_blocks(shape, rank), block);
      inputs_.push_back(test::values<Affine>(input, 3, rank));
      memory_.emplace_back(in_place ? std::max(input, output) : output, Affine{0, 0});
      if (!in_place) continue;
      std::copy(inputs_[rank].begin(), inputs_[rank].end(), memory_[rank].begin() + input_begin(rank, block));
    }
    for (Rank rank = 0; rank < shape.size; ++rank) calls_.push_back(call(rank, block));
  }

  void run(const Algorithm& algorithm) {
    JointRun joint(algorithm, shape_, Layout(calls_.front(), shape_));
    for (int times = 0; times < 2; ++times) {
      for (Rank rank = 0; rank < shape_.size; ++rank) joint.set_member(rank, calls_[rank]);
      joint.run();
      if (in_place_) return;
    }
  }

  std::vector<Affine> output(Rank rank, std::size_t block) const {
    const std::size_t count = this->count(schedule::output_blocks(shape_, rank), block);
    const auto begin = memory_[rank].begin() + output_begin(rank, block);
    return {begin, begin + static_cast<std::ptrdiff_t>(count)};
  }

  std::vector<Affine> expected(Rank rank, std::size_t block) const {
    std::vector<Affine> result;
    switch (shape_.operation) {
      case Operation::allreduce: return combined(0, block);
      case Operation::reduce:
      case Operation::general_reduce: return schedule::is_receiver(shape_, rank) ? combined(0, block) : result;
      case Operation::reduce_scatter: return combined(rank * block, block);
      case Operation::gather:
        if (rank != shape_.root) return result;
        [[fallthrough]];
      case Operation::allgather:
        for (const auto& input : inputs_) result.insert(result.end(), input.begin(), input.end());
        return result;
      case Operation::all_to_all:
        for (const auto& input : inputs_) {
          const auto begin = input.begin() + static_cast<std::ptrdiff_t>(rank * block);
          result.insert(result.end(), begin, begin + static_cast<std::ptrdiff_t>(block));
        }
        return result;
      default: return result;
    }
  }

 private:
  std::size_t count(std::uint32_t blocks, std::size_t block) const {
    if (schedule::cuts_vector(shape_.operation)) return blocks == 0 ? 0 : block;
    return blocks * block;
  }
  // In place, one of the two lies within the other.
  std::ptrdiff_t input_begin(Rank rank, std::size_t block) const {
    if (schedule::output_blocks(shape_, rank) == 0) return 0;
    return std::max<std::ptrdiff_t>(schedule::in_place_offset(shape_, rank), 0) * static_cast<std::ptrdiff_t>(block);
  }
  std::ptrdiff_t output_begin(Rank rank, std::size_t block) const {
    if (!in_place_) return 0;
    return std::max<std::ptrdiff_t>(-schedule::in_place_offset(shape_, rank), 0) * static_cast<std::ptrdiff_t>(block);
  }

  CollectiveCall call(Rank rank, std::size_t block) {
    static constexpr CallForm sum = form_of_reduction<Operation::allreduce, Affine, Compose>;
    form_ = sum;
    form_.operation = shape_.operation;
    CollectiveCall call(form_);
    const std::size_t input = inputs_[rank].size();
    const std::span<Affine> all(memory_[rank]);
    call.input = in_place_ ? std::as_bytes(all.subspan(static_cast<std::size_t>(input_begin(rank, block)), input))
                           : std::as_bytes(std::span(inputs_[rank]));
    call.output = std::as_writable_bytes(
        all.subspan(static_cast<std::size_t>(output_begin(rank, block)), output(rank, block).size()));
    return call;
  }

  std::vector<Affine> combined(std::size_t first, std::size_t count) const {
    std::vector<Affine> result(count);
    for (std::size_t i = 0; i < count; ++i) {
      result[i] = inputs_[0][first + i];
      for (Rank rank = 1; rank < schedule::contributing_ranks(shape_); ++rank)
        result[i] = Compose()(result[i], inputs_[rank][first + i]);
    }
    return result;
  }

  Shape shape_;
  bool in_place_;
  CallForm form_;
  std::vector<std::vector<Affine>> inputs_;
  std::vector<std::vector<Affine>> memory_;  // outputs, or both
  std::vector<CollectiveCall> calls_;
};

class JointRunTest : public testing::TestWithParam<const Algorithm*> {};

std::vector<const Algorithm*> algorithms_that_meet() {
  std::vector<const Algorithm*> found;
  for (const Algorithm* const algorithm : schedule::algorithms()) {
    const Operation operation = algorithm->operation();
    if (schedule::waits_for_all(operation) || operation == Operation::reduce || operation == Operation::gather ||
        operation == Operation::general_reduce) {
      found.push_back(algorithm);
    }
  }
  return found;
}

INSTANTIATE_TEST_SUITE_P(Algorithms, JointRunTest, testing::ValuesIn(algorithms_that_meet()),
                         [](const auto& test) { return std::string(test.param->name()); });

// The operator tells in which order its terms come, so shapes are those whose terms keep their places.
TEST_P(JointRunTest, GivesWhatTheOperationSays) {
  const Algorithm& algorithm = *GetParam();
  for (Rank size = 2; size <= 17; ++size) {
    for (const Shape& shape : schedule::test::shapes(algorithm, size, 1)) {
      if (schedule::is_reduction(shape.operation) && shape.commutative) continue;
      for (const std::size_t block : {std::size_t{1}, std::size_t{5}, std::size_t{64}}) {
        for (const bool in_place : {false, true}) {
          if (in_place && !schedule::may_be_in_place(shape.operation)) continue;
          Members members(shape, block, in_place);
          members.run(algorithm);
          for (Rank rank = 0; rank < size; ++rank) {
            ASSERT_EQ(members.output(rank, block), members.expected(rank, block))
                << schedule::describe(shape) << ", " << block << " elements, rank " << rank
                << (in_place ? ", in place" : "");
          }
        }
      }
    }
  }
}

// Rank 1 combines what rank 0 has sent, and then sends the same on, when rank 2 has room for it.
class SentOn final : public Algorithm {
 public:
  std::string_view name() const noexcept override { return "sent_on"; }
  std::string_view source() const noexcept override { return "this test"; }
  Operation operation() const noexcept override { return Operation::allreduce; }
  std::uint32_t rounds(const Shape&) const override { return 3; }
  void steps(const Shape&, Rank me, std::uint32_t round, schedule::Sink& sink) const override {
    const schedule::BlockRef input{schedule::Buffer::input, 0};
    const schedule::BlockRef output{schedule::Buffer::output, 0};
    const schedule::BlockRef scratch{schedule::Buffer::scratch, 0};
    const auto add = [&](const schedule::BlockRef& term) { sink.reduce(term, output, schedule::Order::source_first); };
    if (round == 2) {
      if (me < 2) return sink.receive(2, output);
      sink.send(0, output);
      sink.send(1, output);
    } else if (me == 0 && round == 0) {
      sink.send(1, input);
    } else if (me == 1 && round == 0) {
      sink.receive(0, scratch);
      sink.copy(input, output);
      add(scratch);
    } else if (me == 1) {
      sink.send(2, input);
      sink.send(2, scratch);
    } else if (me == 2 && round == 1) {
      sink.copy(input, output);
      sink.receive(1, scratch);
      add(scratch);
      sink.receive(1, scratch);
      add(scratch);
    }
  }
  std::uint32_t scratch_blocks(const Shape&, Rank) const override { return 1; }
};

TEST(JointRun, KeepsWhatIsReadAgain) {
  const Shape shape{.operation = Operation::allreduce, .size = 3, .commutative = false};
  Members members(shape, 4, false);
  members.run(SentOn());
  for (Rank rank = 0; rank < 3; ++rank) EXPECT_EQ(members.output(rank, 4), members.expected(rank, 4)) << rank;
}

TEST(JointRun, CombinesFromWhereDataLie) {
  static constexpr CallForm form = form_of_reduction<Operation::allreduce, double, Sum>;
  std::vector<double> input(10);
  std::vector<double> output(10);
  const CollectiveCall call = detail::call_of(form, input, output);
  const Shape shape{.operation = Operation::allreduce, .size = 5};
  const JointRun joint(schedule::find_algorithm("linear_allreduce"), shape, Layout(call, shape));
  EXPECT_EQ(joint.bytes(), (4U + 4U) * 80) << "four combinations, and four copies of the result";
}

TEST(JointRun, MovesNothingInABarrier) {
  const CollectiveCall call(form_of_barrier);
  const Shape shape{.operation = Operation::barrier, .size = 7};
  const JointRun joint(schedule::find_algorithm("dissemination_barrier"), shape, Layout(call, shape));
  EXPECT_EQ(joint.bytes(), 0U);
}

}  // namespace
}  // namespace stretto
