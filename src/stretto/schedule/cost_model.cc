#include "stretto/schedule/cost_model.h"

#include <algorithm>
#include <vector>

#include "stretto/base/hash.h"
#include "stretto/schedule/in_place.h"
#include "stretto/schedule/joint.h"
#include "stretto/schedule/reduces_together.h"
#include "stretto/schedule/walk.h"

namespace stretto::schedule {
namespace {

/// Steps, of all ranks, that are walked for an exact price; and that are looked at to tell ranks of hosts apart.
constexpr std::uint64_t most_steps = 30'000;

/// Where all send to several and receive from several at once over wires, they fall out of step, and wires stand idle
/// (decision 50).
constexpr double delay_of_crossing = 1.1;

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
        lead_(algorithm.lead(shape)),
        between_{costs.between, placement.link == Link::wire, placement.maps && placement.link != Link::wire,
                 shape.hosts.are_known()},
        inside_{costs.inside, placement.inside == Link::wire, placement.maps && placement.inside != Link::wire, false},
        multicasts_(placement.multicasts),
        pause_(pause_of(shape, placement, costs.between)),
        wires_(shape.hosts),
        readers_(algorithm, shape, most_exchanged_inline_bytes(placement), all),
        takes_in_turn_(shape.size, false),
        crosses_(shape.size, false) {}

  /// How many ranks each further step stands for, in sums.
  void weigh(double weight) { weight_ = weight; }

  void begin_round(std::uint32_t round, const History& history) {
    round_ = round;
    history_ = &history;
  }
  /// What connects hosts is free, for those who follow few and count rounds by themselves.
  void free_wires(double time) { wires_.all_free_at(time); }
  /// When a rank's wire is, at the latest.
  double wire_free_at(Rank rank, const Clock& clock) {
    const Clock& wire = wires_.are_known() ? wires_.of(rank) : clock;
    return std::max(wire.next_send, wire.next_receive);
  }
  /// Which rank's clock the next calls are about, for those who follow few.
  void speak_of(Rank me) { me_ = me; }
  void begin_rank(Rank me, std::span<const Step> steps) {
    me_ = me;
    steps_ = steps;
    has_waited_ = false;
    last_sent_.count = 0;
    end_row();
    takes_in_turn_[me] = reuses_a_place();
    crosses_[me] = !is_reduction(shape_.operation) && shape_.size > 2 &&
                   (lead_.sends == Lead::all || (has_several(StepKind::send) && has_several(StepKind::receive)));
  }
  /// Where there is no room for everything at once, what is large comes when it is asked for.
  bool takes_in_turn() const { return takes_in_turn_[me_]; }

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
    const double may_go = is_large ? ready_at(step.peer) + costs.announcement + costs.latency : 0;
    if (!path.is_wire) {
      if (is_large) {
        clock.now = std::max(clock.now, may_go);
        work(clock, costs.announcement);
      }
      const double byte_time = path.shares_memory && !is_large ? costs.inline_time : copying_time(step, costs);
      work(clock, static_cast<double>(bytes) * byte_time + costs.overhead);
      if (weight_ > 0) row_ = {step.source(), &path, clock.now + costs.latency};
      return clock.now + costs.latency;
    }
    // Whoever waits for a receiver or for the wire is free for something else.
    const double handling = costs.overhead + (is_large ? costs.announcement : 0);
    work(clock, handling);
    const double earliest = std::max(clock.now, is_large ? may_go + handling : 0);
    const double occupied = costs.gap + static_cast<double>(bytes) * costs.byte_time;
    return take_wire(wire_of(me_, path, clock).next_send, earliest, occupied) + costs.latency;
  }

  double land(Clock& of_receiver, const Message& message) {
    const Path& path = path_between(message.from, message.to);
    if (!path.is_wire || comes_in_turn(message.to, path, message.bytes)) return message.arrival;
    const bool is_delayed = crosses_[message.to] && !is_packed(message.to, path, message.bytes);
    return come_in(wire_of(message.to, path, of_receiver), path, message.bytes, message.arrival,
                   is_delayed ? delay_of_crossing : 1);
  }

  void await(Clock& clock, const Step& step, std::uint64_t bytes) {
    const Path& path = path_to(step.peer);
    if (!comes_in_turn(me_, path, bytes)) ask(clock, path, bytes);
  }

  void receive(Clock& clock, const Step& step, std::uint64_t bytes, double landed) {
    const Path& path = path_to(step.peer);
    const Costs& costs = path.costs;
    const Way way = way_to(me_, path, bytes);
    const bool packed = is_packed(me_, path, bytes);
    if (weight_ > 0) end_row();
    const bool in_turn = comes_in_turn(me_, path, bytes);
    if (in_turn) ask(clock, path, bytes);
    clock.now = std::max(clock.now, landed);
    if (in_turn) clock.now = come_in(wire_of(me_, path, clock), path, bytes, clock.now);
    if (!has_waited_) {
      turns_ += weight_;
      clock.now += pause_;
    }
    has_waited_ = has_waited_ || weight_ > 0;
    if (way == Way::lent) work(clock, costs.overhead);  // to say that it was read
    const double copied = is_copied_by_receiver(path, bytes) ? costs.byte_time : 0;
    work(clock, costs.overhead + static_cast<double>(bytes) * (packed ? costs.inline_time : copied));
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
    clock.work(seconds);
    busy_ += weight_ * seconds;
  }

  /// What a message goes by.
  struct Path {
    const Costs& costs;
    bool is_wire;
    bool shares_memory;
    bool leaves_the_host;
  };
  const Path& path_between(Rank a, Rank b) const { return wires_.are_inside(a, b) ? inside_ : between_; }
  const Path& path_to(Rank peer) const { return path_between(me_, peer); }
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
  Clock& wire_of(Rank rank, const Path& path, Clock& clock) {
    return weight_ > 0 && path.leaves_the_host ? wires_.of(rank) : clock;
  }

  /// What is large is asked for.
  void ask(Clock& clock, const Path& path, std::uint64_t bytes) {
    if (is_packed(me_, path, bytes) || way_to(me_, path, bytes) == Way::lent) return;
    work(clock, path.costs.announcement);
    if (path.is_wire) wire_of(me_, path, clock).next_send += path.costs.gap;
  }
  /// Whether it is asked for when there is room for it.
  bool comes_in_turn(Rank receiver, const Path& path, std::uint64_t bytes) {
    return takes_in_turn_[receiver] && !path.shares_memory && !is_packed(receiver, path, bytes);
  }
  /// When all of a message is there that begins to come in, one after another. Where there is no wire, its sender's
  /// time has brought it.
  static double come_in(Clock& wire, const Path& path, std::uint64_t bytes, double now, double delay = 1) {
    const double streaming = static_cast<double>(bytes) * path.costs.byte_time * delay;
    const double begin = take_wire(wire.next_receive, now, path.costs.gap + streaming);
    return path.is_wire ? begin + streaming : begin;
  }
  /// Whether there are several peers of such steps.
  bool has_several(StepKind kind) const {
    const auto first = std::find_if(steps_.begin(), steps_.end(), [&](const Step& step) { return step.kind == kind; });
    return std::any_of(first, steps_.end(),
                       [&](const Step& step) { return step.kind == kind && step.peer != first->peer; });
  }
  /// Whether this rank receives several messages of the round to one place.
  bool reuses_a_place() {
    places_.clear();
    for (const Step& step : steps_) {
      if (step.kind == StepKind::receive) places_.push_back(step.destination());
    }
    if (!is_reduction(shape_.operation) || places_.size() < 2) return false;
    const auto key = [](const BlockRef& place) { return std::pair(place.buffer, place.first); };
    std::sort(places_.begin(), places_.end(), [&](const BlockRef& a, const BlockRef& b) { return key(a) < key(b); });
    return std::adjacent_find(places_.begin(), places_.end(), [](const BlockRef& a, const BlockRef& b) {
             return a.buffer == b.buffer && b.first - a.first < a.count;
           }) != places_.end();
  }

  /// Of a byte that is copied to a peer. What others have made is in their cores' caches until it is sent once.
  double copying_time(const Step& send, const Costs& costs) {
    const bool is_of_others = !is_reduction(shape_.operation) && send.source_buffer != Buffer::input;
    const bool is_known = send.source() == last_sent_;
    if (weight_ > 0) last_sent_ = send.source();
    return costs.byte_time + (is_of_others && !is_known ? costs.forwarding : 0);
  }

  double ready_at(Rank peer) const { return history_->end_of(lead_.receives, peer); }
  bool is_packed(Rank receiver, const Path& path, std::uint64_t bytes) {
    return bytes <= most_inline_bytes && way_to(receiver, path, bytes) == Way::sent;
  }
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
  Lead lead_;
  Path between_;
  Path inside_;
  bool multicasts_;
  double pause_;
  HostWires wires_;
  Readers readers_;
  const History* history_ = nullptr;
  // By rank, in this round:
  std::vector<bool> takes_in_turn_;
  std::vector<bool> crosses_;  ///< sends to several and receives from several, and combines nothing
  std::vector<BlockRef> places_;
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

/// Until the last rank is through.
template <class Walk>
double walk_all_rounds(Walk& walk, std::uint32_t rounds) {
  for (std::uint32_t round = 0; round < rounds; ++round) walk.walk_round(round);
  double last = 0;
  for (const Clock& clock : walk.clocks()) last = std::max(last, clock.now);
  return last;
}

Walked walk_all(const Algorithm& algorithm, const Shape& shape, std::uint64_t bytes, const Placement& placement,
                const LinkCosts& costs, bool one_for_all) {
  ExecutorTiming timing(algorithm, shape, placement, costs, !one_for_all);
  const BlockLengths lengths(shape, bytes);
  Walk walk(algorithm, shape, lengths, timing, one_for_all);
  Walked walked{.path = walk_all_rounds(walk, algorithm.rounds(shape))};
  const std::uint64_t stands_for = one_for_all ? shape.size : 1;
  walked.busy = timing.busy() * static_cast<double>(stands_for);
  walked.turns = timing.turns() * static_cast<double>(stands_for);
  walked.messages = walk.messages() * stands_for;
  return walked;
}

/// Follows a few ranks, all of which begin each round when the last of them is through with the one that it waits for.
class Sketch final : private Sink {
 public:
  Sketch(const Algorithm& algorithm, const Shape& shape, std::uint64_t bytes, const Placement& placement,
         const LinkCosts& costs)
      : algorithm_(algorithm),
        shape_(shape),
        lengths_(shape, bytes),
        lead_(algorithm.lead(shape)),
        history_(lead_.rounds_to_keep()),
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
    const double begin = lead_.sends == 1 ? now_ : std::max(history_.end_of(lead_.sends, 0), free_);
    const Clock start{.now = begin, .next_send = begin, .next_receive = begin};
    timing_.begin_round(round, history_);
    timing_.free_wires(begin);
    for (const Followed& each : ranks_) {
      steps_.clear();
      algorithm_.steps(shape_, each.rank, round, *this);
      timing_.begin_rank(each.rank, steps_);
      timing_.weigh(each.stands_for);
      Clock clock = start;
      for (std::size_t at = 0; at < steps_.size(); ++at) take(clock, start, each, at);
      all_steps_ += each.stands_for * static_cast<double>(steps_.size());
      now_ = std::max(now_, clock.now);
      free_ = std::max({free_, begin + clock.busy, timing_.wire_free_at(each.rank, clock)});
    }
    const Clock end{.now = now_};
    history_.end_round({&end, 1});
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

  // Whoever gets it is through with the round later. Of whether it takes messages in turn is known what was found in a
  // round in which it was followed.
  void send(Clock& clock, const Followed& who, const Step& step) {
    const std::uint64_t bytes = lengths_.of(step.source());
    const double arrival = timing_.send(clock, step, bytes);
    messages_ += who.stands_for;
    Step its_receive = step;
    its_receive.peer = who.rank;
    Clock receiver;
    timing_.weigh(0);
    timing_.speak_of(step.peer);
    const double landed = timing_.land(receiver, {who.rank, step.peer, arrival, bytes});
    timing_.await(receiver, its_receive, bytes);
    timing_.receive(receiver, its_receive, bytes, landed);
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
    timing_.await(clock, step, bytes);
    timing_.receive(clock, step, bytes, timing_.land(clock, {step.peer, who.rank, arrival, bytes}));
  }

  const Algorithm& algorithm_;
  const Shape& shape_;
  BlockLengths lengths_;
  Lead lead_;
  History history_;
  ExecutorTiming timing_;
  std::vector<Followed> ranks_;
  std::vector<Step> steps_;
  double now_ = 0;
  double free_ = 0;  ///< when the ranks and their wires are free for another round that waits for nothing else
  double messages_ = 0;
  double all_steps_ = 0;
};

/// All ranks' steps are fewer for any algorithm that sends a message to a peer a round.
std::uint64_t most_steps_of(const Algorithm& algorithm, const Shape& shape) {
  return std::uint64_t{shape.size} * shape.size * algorithm.rounds(shape) * 4;
}

Walked walk(const Algorithm& algorithm, const Shape& shape, std::uint64_t bytes, const Placement& placement,
            const LinkCosts& costs, Follow follow) {
  const bool one_for_all = follow == Follow::as_it_pays && !shape.hosts.are_known() &&
                           algorithm.rotation_symmetric(shape) && BlockLengths(shape, bytes).are_equal();
  const auto exactly = [&] { return walk_all(algorithm, shape, bytes, placement, costs, one_for_all); };
  if (one_for_all || follow == Follow::all) return exactly();
  if (follow == Follow::few) return Sketch(algorithm, shape, bytes, placement, costs).run();
  if (most_steps_of(algorithm, shape) <= most_steps) return exactly();
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

std::optional<double> seconds_together(std::span<const PlacedReduce> reduces, const Placement& placement,
                                       const CostTable& table) {
  if (reduces.size() > ReducesTogether::most_reduces) return std::nullopt;
  const ReducesTogether all(reduces);
  const Shape shape = all.shape();
  if (most_steps_of(all, shape) * reduces.size() > most_steps) return std::nullopt;
  ExecutorTiming timing(all, shape, placement, {table.of(placement.link), table.of(placement.inside)}, true);
  Walk walk(all, shape, all, timing, false);
  return walk_all_rounds(walk, all.rounds(shape));
}

}  // namespace stretto::schedule
