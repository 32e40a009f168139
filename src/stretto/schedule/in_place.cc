#include "stretto/schedule/in_place.h"

#include <algorithm>

namespace stretto::schedule {
namespace {

bool overlap(const BlockRef& a, const BlockRef& b) {
  return a.buffer == b.buffer && a.first < b.first + b.count && b.first < a.first + a.count;
}

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
  leaves_alone_what_it_sends_ = !writes_what_it_sends(shape, rank);
}

std::size_t Round::find(StepKind kind, Rank peer, std::uint32_t ordinal) const {
  for (std::size_t at = 0; at < steps_.size(); ++at) {
    if (steps_[at].kind == kind && steps_[at].peer == peer && ordinal-- == 0) return at;
  }
  return none;
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

// The reduce by which the rank first touches what steps[at] receives into scratch.
std::size_t Round::first_reduce_of(std::size_t at) const {
  if (at == none || steps_[at].kind != StepKind::receive || steps_[at].count == 0) return none;
  const BlockRef landing = steps_[at].destination();
  if (landing.buffer != Buffer::scratch) return none;
  for (std::size_t next = at + 1; next < steps_.size(); ++next) {
    if (!touches(steps_[next], landing)) continue;
    const bool combines = steps_[next].kind == StepKind::reduce &&
                          (steps_[next].source() == landing || steps_[next].destination() == landing);
    return combines ? next : none;
  }
  return none;
}

}  // namespace stretto::schedule
