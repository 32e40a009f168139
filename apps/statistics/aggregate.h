#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "stretto/base/bytes.h"
#include "stretto/collective/reduction.h"
#include "stretto/core/node.h"
#include "stretto/core/phase_barrier.h"
#include "stretto/core/task.h"

namespace statistics {

/// Many-to-one-to-many, as with aggregation regions (the Legion paper's section III-D and Fig. 7): a top-level task on
/// node 0 launches a task on every node, which brings it the result of the collective before and returns what the node
/// gives to the next one; the top-level task combines that, in the order of the nodes, and launches anew.
///
/// A part of its node; used by one task, one call at a time, in the same order on all nodes.
class Aggregate {
 public:
  explicit Aggregate(stretto::Node& node);
  /// Makes the part of `node`. All nodes must have made theirs before `lead` begins.
  static Aggregate& attach(stretto::Node& node);
  static Aggregate& of(stretto::Node& node);

  /// Combines the inputs of all nodes, of elements of `element_bytes`, by an operator with that state; triggers when
  /// result() is there. Copies the input: where a call fails, the leader's task may still ask for it.
  stretto::Event start(stretto::ConstByteSpan input, std::size_t element_bytes, const stretto::Reduction& reduction,
                       std::shared_ptr<const void> operator_state);
  /// Of the last call. Valid until the next one.
  stretto::ConstByteSpan result() const { return result_; }
  /// The last call, on all nodes.
  void stop();
  /// The top-level task, on node 0, until all have stopped. Where it fails, node 0's pending call does.
  stretto::Task<> lead();

  /// For the tasks that `lead` launches: ends the call before this, if there is one, and waits for the next, whose
  /// input it returns; nothing where that is `stop`.
  stretto::Task<std::vector<std::byte>> advance(std::vector<std::byte> result);

 private:
  stretto::Task<> go_round();

  stretto::Node& node_;
  std::vector<std::byte> input_;
  std::vector<std::byte> result_;
  std::size_t element_bytes_ = 0;
  stretto::Reduction reduction_;
  std::shared_ptr<const void> operator_state_;
  bool is_stopped_ = false;
  bool in_call_ = false;  // its input has been fetched, its result has not come
  // The coming phases of two barriers, each at both of its sides: a call was made here, whose data are above; its
  // result has come.
  stretto::PhaseBarrier called_;
  stretto::PhaseBarrier awaited_call_;
  stretto::PhaseBarrier finished_;
  stretto::PhaseBarrier arriving_finish_;
};

}  // namespace statistics
