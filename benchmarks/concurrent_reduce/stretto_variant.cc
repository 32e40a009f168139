#include "concurrent_reduce/stretto_variant.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "concurrent_reduce/problem.h"

namespace concurrent_reduce_bench {

using stretto::Error;
using stretto::ErrorCode;
using stretto::Event;
using stretto::Group;
using stretto::Task;
using stretto::Together;

const char* name_of(Variant variant) noexcept {
  switch (variant) {
    case Variant::mpi_style: return "mpi style";
    case Variant::parallel: return "parallel";
    case Variant::balanced: return "balanced";
  }
  return "unknown";
}

Program::Program(stretto::Node& node, std::size_t bytes, bool listed_well, std::string algorithm)
    : node_(node),
      count_(bytes / sizeof(double)),
      algorithm_(std::move(algorithm)),
      all_(Group::all(node)),
      pair_(listed_well ? Group{1, 2} : Group{2, 1}),
      r1_(all_, Group{0, 2}),
      r2_(pair_, Group{3}),
      first_(node, count_),
      second_(node, count_),
      sum_(node, count_),
      product_(node, count_) {
  for (std::size_t i = 0; i < count_; ++i) {
    first_[i] = first_value(int(node.id()), i);
    second_[i] = second_value(int(node.id()), i);
  }
}

Task<> Program::run(Variant variant) {
  switch (variant) {
    case Variant::mpi_style: return run_mpi_style();
    case Variant::parallel: return run_together(Together::as_given);
    case Variant::balanced: break;
  }
  return run_together(Together::balanced_and_fused);
}

Task<> Program::run_mpi_style() {
  const stretto::NodeId me = node_.id();
  co_await reduce(node_, all_, first_, sum_, stretto::sum);
  const Group receivers{0, 2};
  if (receivers.contains(me)) co_await broadcast(node_, receivers, sum_);
  const Group pair{1, 2};
  if (pair.contains(me)) {
    co_await reduce(node_, pair, second_, product_, stretto::product);
  }
  const Group last{1, 3};
  if (last.contains(me)) co_await broadcast(node_, last, product_);
}

Task<> Program::run_together(Together together) {
  const std::vector<Event> done = concurrent(node_,
                                             {reduce_call(r1_, count_, first_, sum_, stretto::sum),
                                              reduce_call(r2_, count_, second_, product_, stretto::product)},
                                             stretto::CollectiveOptions().algorithm(algorithm_), together);
  for (const Event each : done) co_await each;
}

Task<> Program::check(Variant variant) {
  std::fill(sum_.begin(), sum_.end(), -1.0);
  std::fill(product_.begin(), product_.end(), -1.0);
  co_await run(variant);
  const stretto::NodeId me = node_.id();
  for (std::size_t i = 0; i < count_; ++i) {
    const bool sum_is_right = !r1_.receives(me) || sum_[i] == expected_sum(i);
    const bool product_is_right = !r2_.receives(me) || product_[i] == expected_product(i);
    if (sum_is_right && product_is_right) continue;
    throw Error(ErrorCode::invalid_state, std::string(name_of(variant)) + ": element " + std::to_string(i) +
                                              " is wrong at node " + std::to_string(me));
  }
}

}  // namespace concurrent_reduce_bench
