#include "stretto/schedule/simulate.h"

#include <algorithm>
#include <vector>

#include "stretto/schedule/walk.h"

namespace stretto::schedule {
namespace {

/// The rules of LogGP, see network.h.
class LogGpTiming {
 public:
  LogGpTiming(const Hosts& hosts, const Network& between, const Network& inside)
      : between_(between), inside_(inside), wires_(hosts) {}

  void begin_round(std::uint32_t, const History&) {}
  void begin_rank(Rank me, std::span<const Step>) { me_ = me; }
  bool takes_in_turn() const { return false; }

  double send(Clock& clock, const Step& step, std::uint64_t bytes) {
    const Network& network = network_between(me_, step.peer);
    clock.work(network.overhead);
    if (wires_.are_inside(me_, step.peer)) {
      clock.work(streaming(network, bytes));
      return clock.now + network.latency;
    }
    const double occupied = network.gap + streaming(network, bytes);
    return take_wire(wire_of(me_, clock).next_send, clock.now, occupied) + network.latency;
  }

  double land(Clock& of_receiver, const Message& message) {
    if (wires_.are_inside(message.from, message.to)) return message.arrival;
    const Network& network = network_between(message.from, message.to);
    const double bytes_time = streaming(network, message.bytes);
    Clock& wire = wire_of(message.to, of_receiver);
    return take_wire(wire.next_receive, message.arrival, network.gap + bytes_time) + bytes_time;
  }

  void await(Clock&, const Step&, std::uint64_t) const {}

  void receive(Clock& clock, const Step& step, std::uint64_t, double landed) const {
    clock.now = std::max(clock.now, landed);
    clock.work(network_between(me_, step.peer).overhead);
  }

  void reduce(Clock& clock, std::size_t, std::uint64_t bytes) const {
    clock.work(static_cast<double>(bytes) * between_.reduction_time);
  }
  void copy(Clock&, std::size_t, std::uint64_t) const {}

 private:
  const Network& network_between(Rank a, Rank b) const { return wires_.are_inside(a, b) ? inside_ : between_; }
  Clock& wire_of(Rank rank, Clock& clock) { return wires_.are_known() ? wires_.of(rank) : clock; }

  /// What the bytes after the first add to a message.
  static double streaming(const Network& network, std::uint64_t bytes) {
    return bytes == 0 ? 0 : static_cast<double>(bytes - 1) * network.byte_time;
  }

  const Network& between_;
  const Network& inside_;
  HostWires wires_;
  Rank me_ = 0;
};

Prediction walk_all(const Algorithm& algorithm, const Shape& shape, std::uint64_t bytes, LogGpTiming timing,
                    bool one_for_all) {
  const BlockLengths lengths(shape, bytes);
  Walk walk(algorithm, shape, lengths, timing, one_for_all);
  Prediction prediction;
  prediction.rounds = algorithm.rounds(shape);
  prediction.used_one_clock = one_for_all;
  for (std::uint32_t round = 0; round < prediction.rounds; ++round) walk.walk_round(round);

  const std::uint64_t stands_for = one_for_all ? shape.size : 1;
  prediction.messages = walk.messages() * stands_for;
  prediction.bytes = times_bytes(stands_for, walk.bytes());
  std::uint64_t receivers = 0;
  double sum = 0;
  for (Rank rank = 0; rank < walk.clocks().size(); ++rank) {
    if (!is_receiver(shape, rank) && !one_for_all) continue;
    const double finish = walk.clocks()[rank].now;
    prediction.minimum = receivers == 0 ? finish : std::min(prediction.minimum, finish);
    prediction.maximum = std::max(prediction.maximum, finish);
    sum += finish;
    ++receivers;
  }
  if (receivers > 0) prediction.mean = sum / static_cast<double>(receivers);
  return prediction;
}

}  // namespace

Prediction simulate(const Algorithm& algorithm, const Shape& shape, std::uint64_t bytes, const Network& network,
                    Clocks clocks) {
  algorithm.require(shape);
  const bool one_for_all =
      clocks == Clocks::fewest && algorithm.rotation_symmetric(shape) && BlockLengths(shape, bytes).are_equal();
  // One network: where ranks are makes no difference.
  static const Hosts unknown;
  return walk_all(algorithm, shape, bytes, LogGpTiming(unknown, network, network), one_for_all);
}

Prediction simulate(const Algorithm& algorithm, const Shape& shape, std::uint64_t bytes, const Network& between,
                    const Network& inside) {
  algorithm.require(shape);
  return walk_all(algorithm, shape, bytes, LogGpTiming(shape.hosts, between, inside), false);
}

}  // namespace stretto::schedule
