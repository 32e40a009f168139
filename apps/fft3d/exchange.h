#pragma once

#include "fft3d/options.h"
#include "fft3d/slabs.h"
#include "stretto/collective/group.h"
#include "stretto/core/node.h"
#include "stretto/core/segment_array.h"
#include "stretto/core/task.h"

namespace fft3d {

/// Takes a node's slabs one way or the other, with one all-to-all for each round of planes. With overlap, all rounds
/// are under way at once: a round starts when its planes are transformed, the next ones are transformed meanwhile, and
/// what comes is put in its place by a task of its own. Without, each round is waited for before the next begins.
class Exchange {
 public:
  /// `point_seconds`: what a point costs in one dimension's transform, in virtual time.
  Exchange(stretto::Node& node, Slabs& slabs, double point_seconds);

  /// One call at a time, on all nodes in the same order.
  stretto::Task<> run(Slabs::Way& way, Overlap overlap);

 private:
  stretto::Event start_round(Slabs::Way& way, std::size_t round);
  void charge(std::size_t points, int dimensions);

  stretto::Node& node_;
  stretto::Group group_;
  double point_seconds_;
  // Where peers reach it, of all rounds together: none waits for another one's memory.
  stretto::SegmentArray<Complex> given_;
  stretto::SegmentArray<Complex> got_;
};

}  // namespace fft3d
