#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "stretto/schedule/algorithm.h"
#include "stretto/schedule/materialize.h"
#include "stretto/schedule/test_support.h"

namespace stretto::schedule {
namespace {

/// What one rank's schedule shows.
class Observed {
 public:
  Observed(const Algorithm& algorithm, const Shape& shape, Rank me)
      : schedule_(materialize(algorithm, shape, me)), rounds_(schedule_.steps.size()) {
    for (std::uint32_t round = 0; round < schedule_.rounds(); ++round) {
      std::fill(rounds_.begin() + schedule_.round_offsets[round], rounds_.begin() + schedule_.round_offsets[round + 1],
                round);
    }
    for (std::uint32_t step = 0; step < rounds_.size(); ++step) look_at(step);
  }

  Lead lead() const { return lead_; }

 private:
  void look_at(std::uint32_t step) {
    const StepKind kind = schedule_.steps[step].kind;
    if (kind != StepKind::send && kind != StepKind::receive) return;
    std::uint32_t& lead = kind == StepKind::send ? lead_.sends : lead_.receives;
    std::vector<std::uint32_t> waited_for{step};
    std::vector<bool> is_known(rounds_.size(), false);
    while (!waited_for.empty()) {
      const std::uint32_t one = waited_for.back();
      waited_for.pop_back();
      for (const std::uint32_t earlier : schedule_.dependencies_of(one)) {
        if (is_known[earlier]) continue;
        is_known[earlier] = true;
        waited_for.push_back(earlier);
        const bool came_before = schedule_.steps[earlier].kind == StepKind::receive && rounds_[earlier] < rounds_[step];
        if (came_before) lead = std::min(lead, rounds_[step] - rounds_[earlier]);
      }
    }
  }

  Schedule schedule_;
  std::vector<std::uint32_t> rounds_;  // of each step
  Lead lead_{.sends = Lead::all, .receives = Lead::all};
};

Lead observed_lead(const Algorithm& algorithm, const Shape& shape) {
  Lead least{.sends = Lead::all, .receives = Lead::all};
  for (Rank me = 0; me < shape.size; ++me) {
    const Lead its = Observed(algorithm, shape, me).lead();
    least.sends = std::min(least.sends, its.sends);
    least.receives = std::min(least.receives, its.receives);
  }
  return least;
}

// No rank sends before it may. Where schedules by hosts are put together, what a rank combines last in one part has
// its place for one round only; they are priced as if it had that for two.
TEST(Lead, IsNoMoreThanWhatSchedulesAllow) {
  for (const Algorithm* const algorithm : algorithms()) {
    for (const Rank size : {1U, 2U, 3U, 4U, 7U, 8U, 13U, 16U}) {
      for (const std::uint32_t segments : {1U, 2U, 5U}) {
        Shape shape = test::shape(*algorithm, size);
        if (segments > algorithm->blocking(shape).most_segments) continue;
        shape = algorithm->with_segments(shape, segments);
        if (!algorithm->supports(shape)) continue;
        const Lead observed = observed_lead(*algorithm, shape);
        const Lead said = algorithm->lead(shape);
        EXPECT_LE(said.sends, observed.sends) << test::label(*algorithm, shape);
        const std::uint32_t allowed = algorithm->needs_hosts() ? std::max(observed.receives, 2U) : observed.receives;
        EXPECT_LE(said.receives, allowed) << test::label(*algorithm, shape);
      }
    }
  }
}

TEST(Lead, OfRingsAndPairsIsAllThatTheyAllow) {
  const Algorithm& ring = find_algorithm("ring_allreduce");
  for (const std::uint32_t segments : {1U, 2U, 5U}) {
    const Shape shape = ring.with_segments(test::shape(ring, 6), segments);
    EXPECT_EQ(ring.lead(shape).sends, observed_lead(ring, shape).sends) << segments;
  }
  for (const char* const name : {"pairwise_all_to_all", "linear_all_to_all", "linear_allgather"}) {
    const Algorithm& algorithm = find_algorithm(name);
    const Shape shape = test::shape(algorithm, 6);
    EXPECT_EQ(algorithm.lead(shape), observed_lead(algorithm, shape)) << name;
  }
}

}  // namespace
}  // namespace stretto::schedule
