#include "stretto/schedule/joint.h"

#include "stretto/schedule/block_lengths.h"

namespace stretto::schedule {
namespace {

// A vector; and all ranks' vectors: more is faster where it lies in the caches of several cores.
constexpr std::uint64_t most_vector_bytes = std::uint64_t{64} << 10U;
constexpr std::uint64_t most_moved_bytes = std::uint64_t{1} << 20U;
constexpr std::uint64_t most_reduced_bytes = std::uint64_t{256} << 10U;
// For each rank that need not do its own part the others save about as much as it takes to combine some KiB.
constexpr std::uint64_t most_bytes_saved = std::uint64_t{8} << 10U;

/// Sums up what steps take.
class Work final : public Sink {
 public:
  Work(const Shape& shape, std::uint64_t bytes, const Costs& costs)
      : lengths_(shape, bytes), reduces_(is_reduction(shape.operation)), costs_(costs) {}

  double seconds() const { return seconds_; }

 private:
  void emit(const Step& step) override {
    if (step.kind == StepKind::send) return;  // its receive does both
    if (step.kind == StepKind::receive && reduces_ && step.destination_buffer == Buffer::scratch) return;
    // A step takes about as long as a line of data.
    constexpr std::uint64_t step_bytes = 64;
    const double byte_time = step.kind == StepKind::reduce ? costs_.reduction_time : costs_.copy_time;
    seconds_ += static_cast<double>(sum_of_bytes(lengths_.of(step.destination()), step_bytes)) * byte_time;
  }

  BlockLengths lengths_;
  bool reduces_;
  const Costs& costs_;
  double seconds_ = 0;
};

}  // namespace

bool pays_jointly(const Shape& shape, std::uint64_t bytes) noexcept {
  if (shape.size < 2 || shape.size > most_who_meet || shape.auxiliaries > 0) return false;
  const bool may_leave = is_given_by_all(shape) && bytes <= most_inline_bytes;
  if (!waits_for_all(shape.operation) && !may_leave) return false;
  const std::uint64_t vector = cuts_vector(shape.operation) ? bytes : times_bytes(shape.size, bytes);
  if (vector > most_vector_bytes) return false;
  if (!is_reduction(shape.operation)) return vector <= most_moved_bytes / shape.size;
  return vector <= most_reduced_bytes / shape.size && vector <= (shape.size - 1) * most_bytes_saved;
}

double joint_seconds(const Algorithm& algorithm, const Shape& shape, std::uint64_t bytes, const Costs& costs) {
  Work work(shape, bytes, costs);
  const std::uint32_t rounds = algorithm.rounds(shape);
  for (Rank rank = 0; rank < shape.size; ++rank) {
    for (std::uint32_t round = 0; round < rounds; ++round) algorithm.steps(shape, rank, round, work);
  }
  return shape.size * costs.meeting + work.seconds();
}

}  // namespace stretto::schedule
