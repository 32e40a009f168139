#include "stretto/schedule/algorithm/aspen_general_reduce.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "stretto/schedule/builder.h"

namespace stretto::schedule {
namespace {

/// Who sends to whom, round by round.
class Flow {
 public:
  struct Link {
    std::optional<Rank> to;
    std::optional<Rank> from;
    bool is_delivery = false;  ///< of the result
  };

  explicit Flow(const Shape& shape)
      : size_(shape.size),
        participants_(shape.contributors),
        core_(std::bit_floor(shape.contributors)),
        inner_(std::min(shape.inner_receivers, core_)),
        folded_receivers_(shape.inner_receivers - inner_),
        outer_(folded_receivers_ + size_ - participants_) {
    const std::uint64_t wanted = std::max(inner_, outer_);
    butterfly_ = core_;
    while (butterfly_ >= 2 * wanted) butterfly_ /= 2;
    holders_ = static_cast<Rank>(std::min<std::uint64_t>(wanted, butterfly_));
    while ((std::uint64_t{holders_} << deliveries_) < std::uint64_t{holders_} + outer_) ++deliveries_;
  }

  std::uint32_t rounds() const { return folds() + doublings(core_) + deliveries_; }
  /// Whether `me` takes part in steps 2 and 3.
  bool is_core(Rank me) const { return me < core_; }

  Link link(Rank me, std::uint32_t round) const {
    if (round < folds()) return fold(me);
    round -= folds();
    const std::uint32_t halvings = doublings(core_ / butterfly_);
    if (round < halvings) return halve(me, core_ >> (round + 1));
    round -= halvings;
    if (round < doublings(butterfly_)) return exchange(me, Rank{1} << round);
    return deliver(me, round - doublings(butterfly_));
  }
  bool has_taken_before(Rank me, std::uint32_t round) const {
    while (round-- > 0) {
      if (link(me, round).from) return true;
    }
    return false;
  }

 private:
  std::uint32_t folds() const { return participants_ > core_ ? 1 : 0; }

  Link fold(Rank me) const {
    if (me < participants_ - core_) return {.to = {}, .from = me + core_};
    if (me >= core_ && me < participants_) return {.to = me - core_, .from = {}};
    return {};
  }

  static Link halve(Rank me, Rank rest) {
    if (me < rest) return {.to = {}, .from = me + rest};
    if (me < 2 * rest) return {.to = me - rest, .from = {}};
    return {};
  }

  Link exchange(Rank me, Rank distance) const {
    if (me >= butterfly_) return {};
    const Rank partner = me ^ distance;
    const Rank served = 2 * distance == butterfly_ ? holders_ : butterfly_;
    return {.to = partner < served ? std::optional(partner) : std::nullopt,
            .from = me < served ? std::optional(partner) : std::nullopt};
  }

  /// Those who have the result are counted: the holders, then Rnp as it is served. Their number doubles each round.
  Link deliver(Rank me, std::uint32_t round) const {
    const std::optional<std::uint64_t> number = number_of(me);
    const std::uint64_t served = std::uint64_t{holders_} << round;
    Link link{.to = {}, .from = {}, .is_delivery = true};
    if (!number) return link;
    if (*number < served && served + *number < std::uint64_t{holders_} + outer_) link.to = rank_of(served + *number);
    if (*number >= served && *number < 2 * served) link.from = rank_of(*number - served);
    return link;
  }

  std::optional<std::uint64_t> number_of(Rank me) const {
    if (me < holders_) return me;
    if (me >= core_ && me - core_ < folded_receivers_) return std::uint64_t{holders_} + (me - core_);
    if (me >= participants_) return std::uint64_t{holders_} + folded_receivers_ + (me - participants_);
    return {};
  }
  Rank rank_of(std::uint64_t number) const {
    if (number < holders_) return static_cast<Rank>(number);
    const auto outer = static_cast<Rank>(number - holders_);
    return outer < folded_receivers_ ? core_ + outer : participants_ + (outer - folded_receivers_);
  }

  Rank size_;
  Rank participants_;
  Rank core_;              ///< participants after step 1
  Rank inner_;             ///< |Rp| after step 1
  Rank folded_receivers_;  ///< who went from Rp to Rnp in step 1
  Rank outer_;             ///< |Rnp| after step 1
  Rank butterfly_ = 0;     ///< participants of step 3
  Rank holders_ = 0;
  std::uint32_t deliveries_ = 0;  ///< rounds of step 4
};

}  // namespace

std::string_view AspenGeneralReduce::source() const noexcept {
  return "Ali, Pai and Midkiff, \"Advanced collective communication in Aspen\", ICS 2008, section 3.2";
}

std::uint32_t AspenGeneralReduce::rounds(const Shape& shape) const {
  return std::max(Flow(shape).rounds(), 1U);  // a rank that is alone still has its copy to make
}

void AspenGeneralReduce::steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const {
  const Flow flow(shape);
  const Flow::Link link = flow.link(me, round);
  const bool receives = is_receiver(shape, me);
  // Receivers of the core gather their partial result in the output. Others have none before they take something.
  const bool has_partial = (receives && flow.is_core(me)) || flow.has_taken_before(me, round);
  const BlockRef partial = receives ? output() : scratch();

  if (round == 0 && receives && flow.is_core(me)) sink.copy(input(), output());
  if (link.to) sink.send(*link.to, has_partial ? partial : input());
  if (!link.from) return;
  if (link.is_delivery) {
    sink.receive(*link.from, output());
  } else if (has_partial) {
    accumulate(sink, me, *link.from, scratch(1 + round % 2), partial);
  } else {
    accumulate_own(sink, me, *link.from, partial, input());
  }
}

std::uint32_t AspenGeneralReduce::scratch_blocks(const Shape& shape, Rank me) const {
  return shape.contributors > 1 && Flow(shape).is_core(me) ? 3 : 0;
}

}  // namespace stretto::schedule
