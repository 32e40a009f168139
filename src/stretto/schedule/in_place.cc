#include "stretto/schedule/in_place.h"

#include <algorithm>

#include "stretto/schedule/receivers_read.h"

namespace stretto::schedule {
namespace {

bool touches(const Step& step, const BlockRef& blocks) {
  return (step.kind != StepKind::receive && overlap(step.source(), blocks)) ||
         (step.kind != StepKind::send && overlap(step.destination(), blocks));
}

/// Blocks of a rank that have been marked. Where its input and output may be in place, they are the same blocks.
class MarkedBlocks {
 public:
  MarkedBlocks(const Shape& shape, Rank rank) {
    const std::uint32_t inputs = input_blocks(shape, rank);
    const std::uint32_t outputs = output_blocks(shape, rank);
    const bool one_axis = inputs != 0 && outputs != 0;
    const std::int64_t in_place = one_axis ? in_place_offset(shape, rank) : 0;
    input_begin_ = static_cast<std::size_t>(std::max<std::int64_t>(in_place, 0));
    output_begin_ = static_cast<std::size_t>(std::max<std::int64_t>(-in_place, 0));
    scratch_begin_ = std::max(input_begin_ + inputs, output_begin_ + outputs);
  }

  void mark(const BlockRef& blocks) {
    const std::size_t first = place_of(blocks);
    if (marks_.size() < first + blocks.count) marks_.resize(first + blocks.count, false);
    std::fill_n(marks_.begin() + static_cast<std::ptrdiff_t>(first), blocks.count, true);
  }
  bool any_of(const BlockRef& blocks) const {
    const auto at = [this](std::size_t place) {
      return marks_.begin() + static_cast<std::ptrdiff_t>(std::min(place, marks_.size()));
    };
    const std::size_t first = place_of(blocks);
    return std::find(at(first), at(first + blocks.count), true) != at(first + blocks.count);
  }

 private:
  std::size_t place_of(const BlockRef& blocks) const {
    switch (blocks.buffer) {
      case Buffer::input: return input_begin_ + blocks.first;
      case Buffer::output: return output_begin_ + blocks.first;
      case Buffer::scratch: break;
    }
    return scratch_begin_ + blocks.first;
  }

  std::size_t input_begin_ = 0;
  std::size_t output_begin_ = 0;
  std::size_t scratch_begin_ = 0;
  std::vector<bool> marks_;
};

}  // namespace

Round::Round(const Algorithm& algorithm, const Shape& shape, Rank rank, std::uint32_t round) {
  algorithm.steps(shape, rank, round, *this);
  const bool writes_over = writes_what_it_sends(shape, rank);
  lends_ = writes_over && sends_input_only();
  leaves_alone_what_it_sends_ = lends_ || !writes_over;
  lends_copies_ = is_exchange(shape) && shape.size <= most_who_lend_copies && sends_input_only() &&
                  sends_nothing_twice(shape, rank);
}

std::size_t Round::find(StepKind kind, Rank peer, std::uint32_t ordinal) const {
  for (std::size_t at = 0; at < steps_.size(); ++at) {
    if (steps_[at].kind == kind && steps_[at].peer == peer && ordinal-- == 0) return at;
  }
  return none;
}

// Nobody writes to the input but where it is the output, too.
bool Round::sends_input_only() const {
  return std::all_of(steps_.begin(), steps_.end(), [](const Step& step) {
    return step.kind != StepKind::send || step.source().buffer == Buffer::input;
  });
}

bool Round::sends_nothing_twice(const Shape& shape, Rank rank) const {
  MarkedBlocks sent(shape, rank);
  for (const Step& step : steps_) {
    if (step.kind != StepKind::send) continue;
    if (sent.any_of(step.source())) return false;
    sent.mark(step.source());
  }
  return true;
}

// Where it doesn't, none of its combinations waits for a peer to be through with what it was granted, and two ranks
// that grant each other something cannot wait for each other.
bool Round::writes_what_it_sends(const Shape& shape, Rank rank) const {
  MarkedBlocks sent(shape, rank);
  for (const Step& step : steps_) {
    if (step.kind == StepKind::send) sent.mark(step.source());
  }
  return std::any_of(steps_.begin(), steps_.end(),
                     [&](const Step& step) { return step.kind != StepKind::send && sent.any_of(step.destination()); });
}

// The reduce that alone reads what steps[at] receives into scratch; it may combine something into it there.
std::size_t Round::only_reader_of(std::size_t at) const {
  if (at == none || steps_[at].kind != StepKind::receive || steps_[at].count == 0) return none;
  const BlockRef landing = steps_[at].destination();
  if (landing.buffer != Buffer::scratch) return none;
  const auto touches_it = [&](const Step& step) { return touches(step, landing); };
  const auto first = std::find_if(steps_.begin() + static_cast<std::ptrdiff_t>(at) + 1, steps_.end(), touches_it);
  if (first == steps_.end() || first->kind != StepKind::reduce) return none;
  const bool is_combined_there = first->destination() == landing;
  if (!is_combined_there && first->source() != landing) return none;
  const auto next = std::find_if(first + 1, steps_.end(), touches_it);
  const bool is_read_again =
      next != steps_.end() && !(next->kind == StepKind::receive && next->destination() == landing);
  return is_combined_there || !is_read_again ? static_cast<std::size_t>(first - steps_.begin()) : none;
}

}  // namespace stretto::schedule
