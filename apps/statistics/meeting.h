#pragma once

#include <algorithm>
#include <span>

#include "statistics/aggregate.h"
#include "statistics/options.h"
#include "stretto/collective/collective.h"
#include "stretto/core/task.h"

namespace statistics {

/// How the nodes of the job combine what each has: by one of the methods, which is fixed for a meeting's life.
class Meeting {
 public:
  /// For Method::aggregate the node has its Aggregate attached, whose leader is at work.
  Meeting(stretto::Node& node, Method method) : node_(node), method_(method), group_(stretto::Group::all(node)) {}

  /// output[i] = input[i] of node 0 (+) input[i] of node 1 (+) ... at every node; returns the time at which it is
  /// there. One call at a time.
  template <stretto::Element T, class Op>
  stretto::Task<double> combine(std::span<const T> input, std::span<T> output, const Op& op) {
    const bool is_native = method_ == Method::native;
    const stretto::Event done =
        is_native ? allreduce(node_, group_, input, output, op)
                  : Aggregate::of(node_).start(std::as_bytes(input), sizeof(T), stretto::reduction_of<T, Op>,
                                               stretto::state_of_operator<T>(op));
    const stretto::Future<double> done_at = node_.time_of(done);
    co_await done;
    if (!is_native) {
      const stretto::ConstByteSpan result = Aggregate::of(node_).result();
      std::copy(result.begin(), result.end(), std::as_writable_bytes(output).begin());
    }
    co_return co_await done_at;
  }

  stretto::Node& node() noexcept { return node_; }

 private:
  stretto::Node& node_;
  Method method_;
  stretto::Group group_;
};

}  // namespace statistics
