#include "stretto/schedule/cost_model.h"

#include <algorithm>
#include <vector>

#include "stretto/base/hash.h"
#include "stretto/schedule/in_place.h"
#include "stretto/schedule/joint.h"
#include "stretto/schedule/walk.h"

namespace stretto::schedule {
namespace {

/// Steps, of all ranks, that are walked for an exact price; and that are looked at to tell ranks of hosts apart.
constexpr std::uint64_t most_steps = 30'000;

/// How data get to who combines them in the first round.
enum class Way : std::uint8_t {
  sent,
  granted,  ///< read where they lie at the sender, which waits for that
  lent,     ///< the same, but the sender goes on
};

/// Which ranks read in the first round what they are given where it lies at its sender.
class Readers {
 public:
  /// More than `most_exchanged` bytes are lent. `all`: each rank is looked at. Otherwise one of each class stands for
  /// it; but where there are hosts, whose ranks differ more, each is looked at as long as that takes few steps in all.
  Readers(const Algorithm& algorithm, const Shape& shape, std::uint64_t most_exchanged, bool all)
      : algorithm_(algorithm),
        shape_(shape),
        most_exchanged_(most_exchanged),
        most_looked_at_(all ? ~std::uint64_t{0} : most_steps),
        known_(classes + (all || shape.hosts.are_known() ? shape.size : 0), unknown) {}

  /// How that rank comes by so many bytes.
  Way way_to(Rank rank, std::uint64_t bytes) {
    if (bytes <= most_exchanged_) return Way::sent;
    std::uint8_t& known = known_[place_of(rank)];
    if (known == unknown) known = look(rank);
    if (known == lends) return Way::lent;
    return known == reads && bytes > most_inline_bytes ? Way::granted : Way::sent;
  }

 private:
  enum : std::uint8_t { unknown, neither, reads, lends };
  static constexpr Rank classes = 4;

  /// Its own place, or that of its class. The last rank of a scan has nobody to give to, and so differs from others.
  std::size_t place_of(Rank rank) const {
    if (known_.size() > classes) {
      const std::size_t own = classes + std::size_t{rank};
      if (known_[own] != unknown || looked_at_ <= most_looked_at_ || rank + 1 == shape_.size) return own;
    }
    if (rank == shape_.root) return 0;
    if (rank == 0) return 1;
    return rank < contributing_ranks(shape_) ? 2 : 3;
  }

  std::uint8_t look(Rank rank) {
    const Round round(algorithm_, shape_, rank, 0);
    looked_at_ += round.steps().size();
    for (std::size_t at = 0; at < round.steps().size(); ++at) {
      if (round[at].kind != StepKind::receive) continue;
      if (round.reader_of(at) == Round::none) return neither;
      return round.lends() ? lends : reads;  // who lends is lent something
    }
    return neither;
  }

  const Algorithm& algorithm_;
  const Shape& shape_;
  const std::uint64_t most_exchanged_;
  const std::uint64_t most_looked_at_;  ///< steps
  std::uint64_t looked_at_ = 0;         ///< steps
  std::vector<std::uint8_t> known_;     ///< by class, and then by rank where ranks may be looked at
};

/// Of the group's ranks on the fullest machine.
Rank ranks_of_machine(const Shape& shape, const Placement& placement) {
  return std::min(placement.ranks_of_machine, shape.size);
}

bool is_crowded(const Shape& shape, const Placement& placement) {
  return ranks_of_machine(shape, placement) > placement.cores_of_machine;
}

/// How long a process that waits is without its core where others want it: half a turn of all of them. Nodes of one
/// process go on in whatever thread brings a message.
double pause_of(const Shape& shape, const Placement& placement, const Costs& costs) {
  if (placement.link == Link::local || !is_crowded(shape, placement)) return 0;
  return costs.turn * ranks_of_machine(shape, placement) / placement.cores_of_machine / 2;
}

/// What messages cost between hosts, or anywhere, and inside a host.
struct LinkCosts {
  const Costs& between;
  const Costs& inside;
};

/// The executor's rules, see cost_model.h.
class ExecutorTiming {
 public:
  ExecutorTiming(const Algorithm& algorithm, const Shape& shape, const Placement& placement, const LinkCosts& costs,
                 bool all)
      : shape_(shape),
        between_{costs.between, placement.link == Link::wire, placement.maps && placement.link != Link::wire,
                 shape.hosts.are_known()},
        inside_{costs.inside, placement.inside == Link::wire, placement.maps && placement.inside != Link::wire, false},
        multicasts_(placement.multicasts),
        pause_(pause_of(shape, placement, costs.between)),
        wires_(shape.hosts),
        readers_(algorithm, shape, most_exchanged_inline_bytes(placement), all) {}

  /// How many ranks each further step stands for, in sums.
  void weigh(double weight) { weight_ = weight; }

  void begin_round(std::uint32_t round, std::span<const Clock> clocks) {
    round_ = round;
    ready_.clear();
    for (const Clock& clock : clocks) ready_.push_back(clock.now);
    if (clocks.size() != shape_.size) wires_.all_free_at(clocks.front().now);
  }
  /// Which rank's clock the next calls are about, for those who follow few.
  void speak_of(Rank me) { me_ = me; }
  void begin_rank(Rank me, std::span<const Step> steps) {
    me_ = me;
    steps_ = steps;
    has_waited_ = false;
    last_sent_.count = 0;
    end_row();
  }

  double send(Clock& clock, const Step& step, std::uint64_t bytes) {
    const Path& path = path_to(step.peer);
    const Costs& costs = path.costs;
    const bool is_large = bytes > most_inline_bytes;
    const Way way = way_to(step.peer, path, bytes);
    if (way == Way::sent && !is_large && goes_along(step, path)) return row_.arrival;
    if (weight_ > 0) end_row();
    if (way == Way::lent) {
      work(clock, costs.overhead);
      const double arrival = clock.now + costs.latency;
      work(clock, costs.overhead);  // for word that it was read, some time later
      return arrival;
    }
    if (way == Way::granted || is_copied_by_receiver(path, bytes)) {
      work(clock, costs.announcement + costs.overhead);
      return clock.now + costs.latency;
    }
    if (is_large) {
      clock.now = std::max(clock.now, ready_at(step.peer) + costs.announcement + costs.latency);
      work(clock, costs.announcement);
    }
    if (!path.is_wire) {
      const bool is_packed = path.shares_memory && !is_large;
      const double byte_time = is_packed ? costs.inline_time : copying_time(step, costs);
      work(clock, static_cast<double>(bytes) * byte_time + costs.overhead);
      if (weight_ > 0) row_ = {step.source(), &path, clock.now + costs.latency};
      return clock.now + costs.latency;
    }
    const double streaming = static_cast<double>(bytes) * costs.byte_time;
    Clock& wire = wire_on(path, clock);
    const double start = std::max(clock.now, wire.next_send);
    clock.now = start;
    work(clock, costs.overhead);
    wire.next_send = start + costs.gap + streaming;
    return clock.now + streaming + costs.latency;
  }

  void receive(Clock& clock, const Step& step, std::uint64_t bytes, double arrival) {
    const Path& path = path_to(step.peer);
    const Costs& costs = path.costs;
    const Way way = way_to(me_, path, bytes);
    const bool is_large = bytes > most_inline_bytes || way != Way::sent;
    if (weight_ > 0) end_row();
    if (is_large && way != Way::lent) work(clock, costs.announcement);
    // Where no wire sees to it, what is large still comes in turn: who combines has room for little of it at a time.
    const bool comes_in_turn = path.is_wire || (is_large && !path.shares_memory);
    Clock& wire = wire_on(path, clock);
    clock.now = std::max({clock.now, arrival, comes_in_turn ? wire.next_receive : 0});
    if (!has_waited_) {
      turns_ += weight_;
      clock.now += pause_;
    }
    has_waited_ = has_waited_ || weight_ > 0;
    if (comes_in_turn) wire.next_receive = clock.now + costs.gap + static_cast<double>(bytes) * costs.byte_time;
    if (way == Way::lent) work(clock, costs.overhead);  // to say that it was read
    const double copied = is_copied_by_receiver(path, bytes) ? costs.byte_time : 0;
    work(clock, costs.overhead + static_cast<double>(bytes) * (is_large ? copied : costs.inline_time));
  }

  void reduce(Clock& clock, std::size_t, std::uint64_t bytes) {
    end_row();
    work(clock, static_cast<double>(bytes) * between_.costs.reduction_time);
  }

  void copy(Clock& clock, std::size_t step, std::uint64_t bytes) {
    end_row();
    if (!is_left_out(step)) work(clock, static_cast<double>(bytes) * between_.costs.copy_time);
  }

  /// Of cores, by all ranks that were followed.
  double busy() const { return busy_; }
  double turns() const { return turns_; }

 private:
  void work(Clock& clock, double seconds) {
    clock.now += seconds;
    busy_ += weight_ * seconds;
  }

  /// What a message goes by.
  struct Path {
    const Costs& costs;
    bool is_wire;
    bool shares_memory;
    bool leaves_the_host;
  };
  const Path& path_to(Rank peer) const { return wires_.are_inside(me_, peer) ? inside_ : between_; }
  /// Small messages that are alike, one after the other.
  struct Row {
    BlockRef source;
    const Path* path = nullptr;  ///< null: there is none
    double arrival = 0;
  };
  bool goes_along(const Step& send, const Path& path) const {
    return multicasts_ && weight_ > 0 && row_.path == &path && path.shares_memory && !path.leaves_the_host &&
           row_.source == send.source();
  }
  void end_row() { row_.path = nullptr; }
  /// Who is not followed, but only met, has a clock for this one message.
  Clock& wire_on(const Path& path, Clock& clock) {
    return weight_ > 0 && path.leaves_the_host ? wires_.of(me_) : clock;
  }

  /// Of a byte that is copied to a peer. What others have made is in their cores' caches until it is sent once.
  double copying_time(const Step& send, const Costs& costs) {
    const bool is_of_others = !is_reduction(shape_.operation) && send.source_buffer != Buffer::input;
    const bool is_known = send.source() == last_sent_;
    if (weight_ > 0) last_sent_ = send.source();
    return costs.byte_time + (is_of_others && !is_known ? costs.forwarding : 0);
  }

  double ready_at(Rank peer) const { return ready_.size() == 1 ? ready_.front() : ready_[peer]; }
  Way way_to(Rank receiver, const Path& path, std::uint64_t bytes) {
    return round_ == 0 && path.shares_memory ? readers_.way_to(receiver, bytes) : Way::sent;
  }
  bool is_copied_by_receiver(const Path& path, std::uint64_t bytes) const {
    return path.shares_memory && bytes > most_inline_bytes && receivers_read(shape_);
  }

  /// A broadcast's data have one place, and of others the executor combines straight from the copy's source.
  bool is_left_out(std::size_t copy) const {
    if (!is_identity_in_place(shape_, me_, steps_[copy])) return false;
    if (shape_.operation == Operation::broadcast) return true;
    const BlockRef made = steps_[copy].destination();
    return std::any_of(steps_.begin() + static_cast<std::ptrdiff_t>(copy) + 1, steps_.end(), [&](const Step& later) {
      return later.kind == StepKind::reduce && later.destination() == made;
    });
  }

  const Shape& shape_;
  Path between_;
  Path inside_;
  bool multicasts_;
  double pause_;
  HostWires wires_;
  Readers readers_;
  std::vector<double> ready_;  ///< when each rank is ready for the messages of this round; one for all if alike
  std::span<const Step> steps_;
  Rank me_ = 0;
  std::uint32_t round_ = 0;
  bool has_waited_ = false;
  BlockRef last_sent_;
  Row row_;
  double weight_ = 1;
  double busy_ = 0;
  double turns_ = 0;
};

/// What came out of following some or all ranks.
struct Walked {
  double path = 0;
  double busy = 0;
  double turns = 0;
  std::uint64_t messages = 0;
  std::uint64_t steps = 0;  ///< that were, or would be, taken for all ranks
  bool is_exact = true;
};

Walked walk_all(const Algorithm& algorithm, const Shape& shape, std::uint64_t bytes, const Placement& placement,
                const LinkCosts& costs, bool one_for_all) {
  ExecutorTiming timing(algorithm, shape, placement, costs, !one_for_all);
  Walk walk(algorithm, shape, bytes, timing, one_for_all);
  const std::uint32_t rounds = algorithm.rounds(shape);
  for (std::uint32_t round = 0; round < rounds; ++round) walk.walk_round(round);
  Walked walked;
  for (const Clock& clock : walk.clocks()) walked.path = std::max(walked.path, clock.now);
  const std::uint64_t stands_for = one_for_all ? shape.size : 1;
  walked.busy = timing.busy() * static_cast<double>(stands_for);
  walked.turns = timing.turns() * static_cast<double>(stands_for);
  walked.messages = walk.messages() * stands_for;
  return walked;
}

/// Follows a few ranks, all of which begin each round when the last of them is through with the one before.
class Sketch final : private Sink {
 public:
  Sketch(const Algorithm& algorithm, const Shape& shape, std::uint64_t bytes, const Placement& placement,
         const LinkCosts& costs)
      : algorithm_(algorithm),
        shape_(shape),
        lengths_(shape, bytes),
        timing_(algorithm, shape, placement, costs, false) {
    choose_ranks();
  }

  Walked run() {
    const std::uint32_t rounds = algorithm_.rounds(shape_);
    std::uint32_t busy_rounds = 0;
    for (std::uint32_t round = 0; round < rounds; ++round) {
      const double begin = now_;
      walk_round(round);
      busy_rounds += now_ > begin ? 1 : 0;
    }
    // What others do while none of these has anything to do, as in the middle of a chain, takes as long as their own.
    if (busy_rounds > 0) now_ *= static_cast<double>(rounds) / busy_rounds;
    Walked walked{.path = now_, .busy = timing_.busy(), .turns = timing_.turns(), .is_exact = false};
    walked.messages = static_cast<std::uint64_t>(messages_);
    walked.steps = static_cast<std::uint64_t>(all_steps_) + std::uint64_t{shape_.size} * rounds;
    return walked;
  }

 private:
  struct Followed {
    Rank rank;
    double stands_for;
  };

  // The root, rank 0 and the last one may differ from others; of those, some from all over, without a pattern: what a
  // rank of a tree has to do depends on the bits of its number. Those of the root's host share its wire.
  void choose_ranks() {
    constexpr Rank ordinary = 8;
    std::vector<Rank> special{shape_.root, 0, shape_.size - 1};
    if (shape_.hosts.are_known()) {
      constexpr std::size_t most_neighbours = 64;
      const std::span<const Rank> neighbours = shape_.hosts.members(shape_.hosts.of(shape_.root));
      const std::size_t count = std::min(neighbours.size(), most_neighbours);
      special.insert(special.end(), neighbours.begin(), neighbours.begin() + static_cast<std::ptrdiff_t>(count));
    }
    std::sort(special.begin(), special.end());
    special.erase(std::unique(special.begin(), special.end()), special.end());
    for (const Rank rank : special) ranks_.push_back({rank, 1});
    const std::size_t first = ranks_.size();
    for (Rank k = 0; k < ordinary; ++k) {
      const Rank stratum = std::max(shape_.size / ordinary, Rank{1});
      const auto rank = static_cast<Rank>(k * stratum + mix_64(k + 1) % stratum);
      if (rank < shape_.size && std::find(special.begin(), special.end(), rank) == special.end()) {
        ranks_.push_back({rank, 0});
      }
    }
    const auto others = static_cast<double>(shape_.size - first) / static_cast<double>(ranks_.size() - first);
    for (std::size_t i = first; i < ranks_.size(); ++i) ranks_[i].stands_for = others;
  }

  void emit(const Step& step) override { steps_.push_back(step); }

  void walk_round(std::uint32_t round) {
    const double begin = now_;
    const Clock start{begin, begin, begin};
    timing_.begin_round(round, {&start, 1});
    for (const Followed& each : ranks_) {
      steps_.clear();
      algorithm_.steps(shape_, each.rank, round, *this);
      timing_.begin_rank(each.rank, steps_);
      timing_.weigh(each.stands_for);
      Clock clock = start;
      for (std::size_t at = 0; at < steps_.size(); ++at) take(clock, start, each, at);
      all_steps_ += each.stands_for * static_cast<double>(steps_.size());
      now_ = std::max(now_, clock.now);
    }
  }

  void take(Clock& clock, const Clock& start, const Followed& who, std::size_t at) {
    const Step& step = steps_[at];
    switch (step.kind) {
      case StepKind::send: return send(clock, who, step);
      case StepKind::receive: return receive(clock, start, who, step);
      case StepKind::reduce: return timing_.reduce(clock, at, lengths_.of(step.destination()));
      case StepKind::copy: return timing_.copy(clock, at, lengths_.of(step.destination()));
    }
  }

  // Whoever gets it is through with the round later.
  void send(Clock& clock, const Followed& who, const Step& step) {
    const std::uint64_t bytes = lengths_.of(step.source());
    const double arrival = timing_.send(clock, step, bytes);
    messages_ += who.stands_for;
    Step its_receive = step;
    its_receive.peer = who.rank;
    Clock receiver;
    timing_.weigh(0);
    timing_.speak_of(step.peer);
    timing_.receive(receiver, its_receive, bytes, arrival);
    timing_.speak_of(who.rank);
    timing_.weigh(who.stands_for);
    now_ = std::max(now_, receiver.now);
  }

  // From a sender that began the round when this one did, with just this message.
  void receive(Clock& clock, const Clock& start, const Followed& who, const Step& step) {
    const std::uint64_t bytes = lengths_.of(step.destination());
    Step its_send = step;
    its_send.peer = who.rank;
    Clock sender = start;
    timing_.weigh(0);
    timing_.speak_of(step.peer);
    const double arrival = timing_.send(sender, its_send, bytes);
    timing_.speak_of(who.rank);
    timing_.weigh(who.stands_for);
    timing_.receive(clock, step, bytes, arrival);
  }

  const Algorithm& algorithm_;
  const Shape& shape_;
  BlockLengths lengths_;
  ExecutorTiming timing_;
  std::vector<Followed> ranks_;
  std::vector<Step> steps_;
  double now_ = 0;
  double messages_ = 0;
  double all_steps_ = 0;
};

Walked walk(const Algorithm& algorithm, const Shape& shape, std::uint64_t bytes, const Placement& placement,
            const LinkCosts& costs, Follow follow) {
  const bool one_for_all = follow == Follow::as_it_pays && !shape.hosts.are_known() &&
                           algorithm.rotation_symmetric(shape) && BlockLengths(shape, bytes).are_equal();
  const auto exactly = [&] { return walk_all(algorithm, shape, bytes, placement, costs, one_for_all); };
  if (one_for_all || follow == Follow::all) return exactly();
  if (follow == Follow::few) return Sketch(algorithm, shape, bytes, placement, costs).run();
  // All ranks' steps are fewer than this for any algorithm that sends a message to a peer a round.
  const std::uint64_t bound = std::uint64_t{shape.size} * shape.size * algorithm.rounds(shape) * 4;
  if (bound <= most_steps) return exactly();
  const Walked sketch = Sketch(algorithm, shape, bytes, placement, costs).run();
  return sketch.steps <= most_steps ? exactly() : sketch;
}

Price price_with(const Algorithm& algorithm, const Shape& shape, std::uint64_t bytes, const Placement& placement,
                 const LinkCosts& costs, Follow follow) {
  algorithm.require(shape);
  if (placement.meets && pays_jointly(shape, bytes)) {
    const double seconds = joint_seconds(algorithm, shape, bytes, costs.between);
    return {.seconds = seconds, .path = seconds, .work = seconds, .is_exact = true};
  }
  const Walked walked = walk(algorithm, shape, bytes, placement, costs, follow);
  Price price{.path = walked.path, .messages = walked.messages, .is_exact = walked.is_exact};
  if (is_crowded(shape, placement)) {
    const double share = static_cast<double>(ranks_of_machine(shape, placement)) / shape.size;  // of the group
    price.work = (walked.busy + walked.turns * costs.between.turn) * share / placement.cores_of_machine;
  }
  price.seconds = costs.between.call + std::max(price.path, price.work);
  return price;
}

}  // namespace

std::uint64_t most_exchanged_inline_bytes(const Placement& placement) noexcept {
  return placement.link == Link::host && placement.ranks_of_machine <= placement.cores_of_machine ? 256 : 1024;
}

Price price(const Algorithm& algorithm, const Shape& shape, std::uint64_t bytes, const Placement& placement,
            const CostTable& table, Follow follow) {
  return price_with(algorithm, shape, bytes, placement, {table.of(placement.link), table.of(placement.inside)}, follow);
}

Price price(const Algorithm& algorithm, const Shape& shape, std::uint64_t bytes, const Placement& placement,
            const Costs& costs, Follow follow) {
  return price_with(algorithm, shape, bytes, placement, {costs, costs}, follow);
}

}  // namespace stretto::schedule
