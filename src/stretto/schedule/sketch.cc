#include "stretto/schedule/sketch.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "stretto/base/hash.h"
#include "stretto/schedule/block_lengths.h"
#include "stretto/schedule/clocks.h"

namespace stretto::schedule {

namespace {

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

}  // namespace

Walked walk_few(const Algorithm& algorithm, const Shape& shape, std::uint64_t bytes, const Placement& placement,
                const LinkCosts& costs) {
  return Sketch(algorithm, shape, bytes, placement, costs).run();
}

}  // namespace stretto::schedule
