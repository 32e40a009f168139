#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stretto/base/error.h"
#include "stretto/schedule/algorithm.h"
#include "stretto/schedule/block_lengths.h"
#include "stretto/schedule/clocks.h"
#include "stretto/schedule/mail.h"

/// How an algorithm's rounds are walked with one clock a rank. For those who put a price on them: simulate.cc by the
/// rules of LogGP, cost_model.cc by those of the executor (executor_timing.h).
namespace stretto::schedule {

/// Messages of a round, or steps of a rank in it, that are held: some two gigabytes.
inline constexpr std::size_t most_held = std::size_t{1} << 25U;

/// Advances clocks round by round: twice through each rank's steps, since what is received was sent by others first.
///
/// A rank's processor does one thing after another. It sends in a round as soon as it is through with the one that this
/// waits for (Algorithm::lead), though it may go on with others in between; handles messages as they come; and combines
/// and copies when it has received all that is listed before.
///
/// `Timing` has the rules. Those with steps are for the rank of the last `begin_rank`:
///     void begin_round(std::uint32_t round, const History& history);
///     void begin_rank(Rank me, std::span<const Step> steps);                  all of its steps of the round
///     bool takes_in_turn();                                                   receives in the order of steps instead
///     double send(Clock&, const Step&, std::uint64_t bytes);                  returns when it arrives
///     double land(Clock& of_receiver, const Message&);                        returns when all of it is there
///     void await(Clock&, const Step& receive, std::uint64_t bytes);           for all receives, before the first one
///     void receive(Clock&, const Step&, std::uint64_t bytes, double landed);
///     void reduce(Clock&, std::size_t step, std::uint64_t bytes);             steps[step]
///     void copy(Clock&, std::size_t step, std::uint64_t bytes);
template <class Timing, class Lengths = BlockLengths>
class Walk final : private Sink {
 public:
  /// `lengths.of` says how many bytes are in a run of blocks. Where the algorithm is several that run at once,
  /// `lengths.strands` says how many, and `strand_of` to which one a step belongs: steps of one wait for none of
  /// others. `one_for_all`: rank 0 is followed for all, see Algorithm::rotation_symmetric. REQUIRES: the algorithm
  /// supports the shape.
  Walk(const Algorithm& algorithm, const Shape& shape, const Lengths& lengths, Timing& timing, bool one_for_all,
       std::size_t most = most_held)
      : algorithm_(algorithm),
        shape_(shape),
        lengths_(lengths),
        lead_(algorithm.lead(shape)),
        timing_(timing),
        clocks_(one_for_all ? 1 : shape.size),
        through_(clocks_.size() * strands()),
        history_(lead_.rounds_to_keep()),
        mail_(shape.size, one_for_all),
        most_(most) {}

  /// Throws Error(invalid_argument) if the round has more messages, or a rank more steps in it, than can be held.
  void walk_round(std::uint32_t round) {
    mail_.clear();
    timing_.begin_round(round, history_);
    for (const Phase phase : {Phase::sending, Phase::receiving}) {
      if (phase == Phase::receiving) {
        mail_.sort();
        mail_.land_all([this](const Message& message) { return timing_.land(clocks_[message.to], message); });
      }
      for (Rank rank = 0; rank < clocks_.size(); ++rank) {
        steps_.clear();
        algorithm_.steps(shape_, rank, round, *this);
        timing_.begin_rank(rank, steps_);
        phase == Phase::sending ? do_first(rank) : do_others(rank);
      }
    }
    history_.end_round(clocks_);
  }

  const std::vector<Clock>& clocks() const { return clocks_; }
  std::uint64_t messages() const { return messages_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  enum class Phase : std::uint8_t { sending, receiving };

  /// What a receive takes.
  struct Delivery {
    std::size_t receive = 0;
    const Message* message = nullptr;
  };

  void emit(const Step& step) override {
    if (steps_.size() == most_) refuse("a rank has more than " + std::to_string(most_) + " steps");
    steps_.push_back(step);
  }

  std::size_t first_receive() const {
    const auto is_receive = [](const Step& step) { return step.kind == StepKind::receive; };
    return static_cast<std::size_t>(std::find_if(steps_.begin(), steps_.end(), is_receive) - steps_.begin());
  }

  // Up to its first receive a rank depends on nobody; from there on, on what others sent in this round.
  void do_first(Rank me) {
    const std::size_t end = first_receive();
    for (std::size_t at = 0; at < end; ++at) take(me, at);
  }

  void do_others(Rank me) {
    const std::size_t first = first_receive();
    find_deliveries(me, first);
    next_.assign(strands(), first);
    for (const Delivery& each : deliveries_) {
      receive(me, each);
      go_on(me, strand_of(steps_[each.receive]));
    }
  }

  // Up to the next step that waits for a message.
  void go_on(Rank me, std::uint32_t strand) {
    for (std::size_t& at = next_[strand]; at < steps_.size(); ++at) {
      if (strand_of(steps_[at]) != strand) continue;
      if (steps_[at].kind == StepKind::receive && !is_received_[at]) return;
      take(me, at);
    }
  }

  // In the order in which they are taken.
  void find_deliveries(Rank me, std::size_t first) {
    deliveries_.clear();
    is_received_.assign(steps_.size(), false);
    for (std::size_t at = first; at < steps_.size(); ++at) {
      if (steps_[at].kind != StepKind::receive) continue;
      const Message* const message = mail_.receive(steps_[at].peer, me);
      if (message == nullptr) {
        throw Error(ErrorCode::internal, std::string(algorithm_.name()) + ": rank " + std::to_string(me) + " cannot '" +
                                             describe(steps_[at]) + "': nobody sends it in that round");
      }
      deliveries_.push_back({at, message});
      timing_.await(clocks_[me], steps_[at], message->bytes);
    }
    if (timing_.takes_in_turn()) return;
    std::stable_sort(deliveries_.begin(), deliveries_.end(),
                     [](const Delivery& a, const Delivery& b) { return a.message->arrival < b.message->arrival; });
  }

  void receive(Rank me, const Delivery& what) {
    const Step& step = steps_[what.receive];
    Clock& clock = clocks_[me];
    clock.now = std::max(clock.now, clock.busy);  // what was sent earlier than its round took time all the same
    timing_.receive(clock, step, what.message->bytes, what.message->arrival);
    through(me, step) = clock.now;
    is_received_[what.receive] = true;
  }

  // A step that waits for no message any more.
  void take(Rank me, std::size_t at) {
    const Step& step = steps_[at];
    Clock& clock = clocks_[me];
    switch (step.kind) {
      case StepKind::receive: return;
      case StepKind::send: return send(clock, me, step);
      case StepKind::reduce: timing_.reduce(clock, at, lengths_.of(step.destination())); break;
      case StepKind::copy: timing_.copy(clock, at, lengths_.of(step.destination())); break;
    }
    through(me, step) = clock.now;
  }

  void send(Clock& clock, Rank me, const Step& step) {
    if (mail_.size() == most_) refuse("there are more than " + std::to_string(most_) + " messages");
    const std::uint64_t bytes = lengths_.of(step.source());
    const double now = clock.now;
    const double may_go = lead_.sends > 1 ? history_.end_of(lead_.sends, me) : through(me, step);
    const double busy_until =
        lead_.sends == Lead::all ? 0 : clock.busy;  // what waits for nothing comes before all else
    clock.now = std::max({may_go, clock.sent, busy_until});
    mail_.send({.from = me, .to = step.peer, .arrival = timing_.send(clock, step, bytes), .bytes = bytes});
    clock.sent = clock.now;
    if (lead_.sends == 1) through(me, step) = clock.now;
    clock.now = std::max(clock.now, now);
    ++messages_;
    bytes_ = sum_of_bytes(bytes_, bytes);
  }

  std::uint32_t strands() const {
    if constexpr (requires { lengths_.strands(); }) return lengths_.strands();
    return 1;
  }
  std::uint32_t strand_of([[maybe_unused]] const Step& step) const {
    if constexpr (requires { lengths_.strand_of(step); }) return lengths_.strand_of(step);
    return 0;
  }
  double& through(Rank me, const Step& step) { return through_[std::size_t{me} * strands() + strand_of(step)]; }

  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(ErrorCode::invalid_argument,
                std::string(algorithm_.name()) + ", " + describe(shape_) + ": in one round " + what +
                    ", too many to be held; ask about fewer ranks, or an algorithm that sends less at a time");
  }

  const Algorithm& algorithm_;
  const Shape& shape_;
  const Lengths& lengths_;
  Lead lead_;
  Timing& timing_;
  std::vector<Clock> clocks_;
  std::vector<double> through_;  // with its steps so far, by rank and strand
  History history_;
  Mail mail_;
  // Of the rank and round at hand:
  std::vector<Step> steps_;
  std::vector<Delivery> deliveries_;  // in the order in which they are taken
  std::vector<bool> is_received_;     // by step
  std::vector<std::size_t> next_;     // by strand: the step that it has come to
  std::size_t most_;
  std::uint64_t messages_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace stretto::schedule
