#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "stretto/collective/collective.h"
#include "stretto/core/segment_array.h"

namespace ping_pong_bench {

/// The ways in which Stretto's users may give bytes to one other node.
enum class Variant {
  broadcast,  ///< in a group of two
  reduce,     ///< the general one, from one participant to one receiver
  task,       ///< as the argument of a remote task, and back as its result
};
inline constexpr Variant variants[] = {Variant::broadcast, Variant::reduce, Variant::task};

const char* name_of(Variant variant) noexcept;

/// The tests of problem.h at one size at one node: its buffers, in the node's segment, and what has to come out. Both
/// nodes call the same. Lives in that node's main.
class Courier {
 public:
  Courier(stretto::Node& node, Variant variant, std::size_t bytes);
  Courier(const Courier&) = delete;
  Courier& operator=(const Courier&) = delete;

  stretto::Task<> round_trip();
  stretto::Task<> give_window();
  /// Throws Error(invalid_state) if one of the first `messages` that came to this node is not what was sent.
  void check(std::size_t messages) const;
  std::size_t window() const noexcept { return window_; }

 private:
  /// The first node of the pair gives the second one a message, from its outgoing buffer or, when it answers, from what
  /// came last, into a slot.
  stretto::Event give(bool answers, std::size_t slot);
  std::span<double> slot(std::size_t index) noexcept { return {incoming_.data() + index * count_, count_}; }

  stretto::Node& node_;
  const Variant variant_;
  const std::size_t count_;  // doubles
  const std::size_t window_;
  const bool first_;  // node 0
  const stretto::Group pair_{0, 1};
  const stretto::ReduceGroups there_{stretto::Group{0}, stretto::Group{1}};
  const stretto::ReduceGroups back_{stretto::Group{1}, stretto::Group{0}};
  stretto::SegmentArray<double> outgoing_;
  stretto::SegmentArray<double> incoming_;
  std::vector<double> argument_;
  std::vector<double> result_;
};

}  // namespace ping_pong_bench
