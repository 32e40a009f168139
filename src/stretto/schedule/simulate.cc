#include "stretto/schedule/simulate.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "stretto/schedule/walk.h"

namespace stretto::schedule {
namespace {

/// The rules of LogGP, see network.h.
class LogGpTiming {
 public:
  explicit LogGpTiming(const Network& network) : network_(network) {}

  void begin_round(std::uint32_t, std::span<const Clock>) {}
  void begin_rank(Rank, std::span<const Step>) {}

  double send(Clock& clock, const Step&, std::uint64_t bytes) const {
    const double start = std::max(clock.now, clock.next_send);
    clock.now = start + network_.overhead;
    clock.next_send = start + network_.gap + streaming(bytes);
    return clock.now + streaming(bytes) + network_.latency;
  }

  void receive(Clock& clock, const Step&, std::uint64_t bytes, double arrival) const {
    const double start = std::max({clock.now, clock.next_receive, arrival});
    clock.now = start + network_.overhead;
    clock.next_receive = start + network_.gap + streaming(bytes);
  }

  void reduce(Clock& clock, std::size_t, std::uint64_t bytes) const {
    clock.now += static_cast<double>(bytes) * network_.reduction_time;
  }
  void copy(Clock&, std::size_t, std::uint64_t) const {}

 private:
  /// What the bytes after the first add to a message.
  double streaming(std::uint64_t bytes) const {
    return bytes == 0 ? 0 : static_cast<double>(bytes - 1) * network_.byte_time;
  }

  const Network& network_;
};

}  // namespace

Prediction simulate(const Algorithm& algorithm, const Shape& shape, std::uint64_t bytes, const Network& network,
                    Clocks clocks) {
  algorithm.require(shape);
  const bool one_for_all =
      clocks == Clocks::fewest && algorithm.rotation_symmetric(shape) && BlockLengths(shape, bytes).are_equal();
  LogGpTiming timing(network);
  Walk walk(algorithm, shape, bytes, timing, one_for_all);
  Prediction prediction;
  prediction.rounds = algorithm.rounds(shape);
  prediction.used_one_clock = one_for_all;
  for (std::uint32_t round = 0; round < prediction.rounds; ++round) walk.walk_round(round);

  const std::uint64_t stands_for = one_for_all ? shape.size : 1;
  prediction.messages = walk.messages() * stands_for;
  prediction.bytes = walk.bytes() * stands_for;
  prediction.minimum = std::numeric_limits<double>::infinity();
  std::uint64_t receivers = 0;
  double sum = 0;
  for (Rank rank = 0; rank < walk.clocks().size(); ++rank) {
    if (!is_receiver(shape, rank) && !one_for_all) continue;
    const double finish = walk.clocks()[rank].now;
    prediction.minimum = std::min(prediction.minimum, finish);
    prediction.maximum = std::max(prediction.maximum, finish);
    sum += finish;
    ++receivers;
  }
  prediction.mean = sum / static_cast<double>(receivers);
  return prediction;
}

}  // namespace stretto::schedule
