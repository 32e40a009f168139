#include <gtest/gtest.h>

#include <cstdint>

#include "stretto/base/replace_new.h"
#include "stretto/schedule/cost_model.h"
#include "stretto/schedule/test_support.h"

// What it takes to price a schedule, counted: rounds and steps that algorithms are asked for, and bytes of memory,
// since whoever lists blocks one by one keeps them somewhere.

namespace stretto::schedule {
namespace {

/// Another algorithm, whose rounds and steps are counted.
class Counted final : public Algorithm {
 public:
  explicit Counted(const Algorithm& algorithm) : algorithm_(algorithm) {}

  std::uint64_t asked() const { return asked_; }

  std::string_view name() const noexcept override { return algorithm_.name(); }
  std::string_view source() const noexcept override { return algorithm_.source(); }
  Operation operation() const noexcept override { return algorithm_.operation(); }
  Blocking blocking(const Shape& shape) const override { return algorithm_.blocking(shape); }
  bool needs_hosts() const noexcept override { return algorithm_.needs_hosts(); }
  std::uint32_t rounds(const Shape& shape) const override { return algorithm_.rounds(shape); }
  std::uint32_t scratch_blocks(const Shape& shape, Rank me) const override {
    return algorithm_.scratch_blocks(shape, me);
  }
  bool rotation_symmetric(const Shape& shape) const override { return algorithm_.rotation_symmetric(shape); }
  void steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const override {
    ++asked_;
    CountingSink counting(sink, asked_);
    algorithm_.steps(shape, me, round, counting);
  }

 private:
  class CountingSink final : public Sink {
   public:
    CountingSink(Sink& sink, std::uint64_t& count) : sink_(sink), count_(count) {}

   private:
    void emit(const Step& step) override {
      ++count_;
      sink_.pass_on(step);
    }

    Sink& sink_;
    std::uint64_t& count_;
  };

  const Algorithm& algorithm_;
  mutable std::uint64_t asked_ = 0;
};

struct Effort {
  std::uint64_t asked;
  std::uint64_t bytes;
};

/// Of a price where two hosts have so many ranks, which share memory where they are on one. Of few ranks all are
/// followed.
Effort effort_of(const Algorithm& algorithm, Rank size, std::uint64_t bytes) {
  const Counted counted(algorithm);
  Shape shape = test::shape(algorithm, size);
  shape.hosts = Hosts::even(size, 2);
  shape = algorithm.with_segments(shape);
  const Placement placement{.link = Link::wire, .ranks_of_machine = size / 2, .cores_of_machine = size / 2};
  const std::uint64_t before = stretto::test::memory_requests.bytes;
  price(counted, shape, bytes, placement, built_in_costs());
  return {counted.asked(), stretto::test::memory_requests.bytes - before};
}

TEST(CostModel, APriceTakesTwiceAsMuchForTwiceAsManyRanks) {
  for (const Algorithm* const algorithm : algorithms()) {
    // Its agents turn tables: where hosts are few, a rank's steps grow with the square of the ranks of a host.
    if (algorithm->name() == "aggregated_all_to_all") continue;
    for (const std::uint64_t bytes : {8U, 65536U}) {
      const Effort half = effort_of(*algorithm, 1024, bytes);
      const Effort whole = effort_of(*algorithm, 2048, bytes);
      EXPECT_LT(whole.asked, half.asked * 5 / 2) << algorithm->name() << ", " << bytes;
      EXPECT_LT(whole.bytes, half.bytes * 5 / 2) << algorithm->name() << ", " << bytes;
    }
  }
}

}  // namespace
}  // namespace stretto::schedule
