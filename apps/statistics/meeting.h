#pragma once

#include <span>
#include <utility>

#include "statistics/aggregate.h"
#include "statistics/options.h"
#include "stretto/collective/collective.h"

namespace statistics {

/// How the nodes of the job combine what each has: by one of the methods, which is fixed for a meeting's life.
class Meeting {
 public:
  /// For Method::aggregate the node has its Aggregate attached, whose leader is at work.
  Meeting(stretto::Node& node, Method method) : node_(node), method_(method), group_(stretto::Group::all(node)) {}

  /// output[i] = input[i] of node 0 (+) input[i] of node 1 (+) ... at every node. One call at a time.
  template <stretto::Element T, class Op>
  stretto::Event combine(std::span<const T> input, std::span<T> output, const Op& op) {
    if (method_ == Method::native) return allreduce(node_, group_, input, output, op);
    return Aggregate::of(node_).start(std::as_bytes(input), std::as_writable_bytes(output), sizeof(T),
                                      stretto::make_reduction<T>(op));
  }

  stretto::Node& node() noexcept { return node_; }

 private:
  stretto::Node& node_;
  Method method_;
  stretto::Group group_;
};

}  // namespace statistics
