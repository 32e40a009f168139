#include "collective/stretto_call.h"

#include <algorithm>
#include <chrono>
#include <new>

namespace collective_bench {

using stretto::Error;
using stretto::ErrorCode;
using stretto::Event;
using stretto::Task;

Vector::Vector(stretto::Node& node, Memory memory, std::size_t size) {
  if (size == 0) return;
  if (memory == Memory::segment) {
    in_segment_ = stretto::SegmentArray<double>(node, size);
    values_ = in_segment_;
  } else {
    const std::size_t lines = (size * sizeof(double) + buffer_alignment - 1) / buffer_alignment;
    of_user_.reset(static_cast<double*>(std::aligned_alloc(buffer_alignment, lines * buffer_alignment)));
    if (of_user_ == nullptr) throw std::bad_alloc();
    values_ = {of_user_.get(), size};
    std::fill(values_.begin(), values_.end(), 0.0);
  }
}

namespace {

/// What `rank` gives to each.
std::vector<std::size_t> given_blocks(Operation operation, std::size_t block, int rank, int ranks) {
  if (!has_listed_blocks(operation)) return {};
  return std::vector<std::size_t>(std::size_t(ranks), block_of(operation, block, rank, ranks));
}

/// What any rank gets from each.
std::vector<std::size_t> got_blocks(Operation operation, std::size_t block, int ranks) {
  std::vector<std::size_t> blocks;
  for (int rank = 0; has_listed_blocks(operation) && rank < ranks; ++rank) {
    blocks.push_back(block_of(operation, block, rank, ranks));
  }
  return blocks;
}

}  // namespace

Call::Call(stretto::Node& node, const stretto::Group& group, Operation operation, std::size_t bytes, Memory memory,
           const std::string& algorithm)
    : node_(node),
      group_(group),
      operation_(operation),
      block_(bytes / sizeof(double)),
      algorithm_(algorithm),
      given_(given_blocks(operation, block_, rank(), ranks())),
      got_(got_blocks(operation, block_, ranks())),
      input_memory_(node, memory, input_size(operation, block_, rank(), ranks())),
      output_memory_(node, memory, output_size(operation, block_, rank(), ranks())),
      input_(input_memory_.values()),
      output_(output_memory_.values()) {
  write_input();
}

void Call::write_input() {
  const std::span<double> input = gives_output(operation_, rank()) ? output_ : input_;
  for (std::size_t i = 0; i < input.size(); ++i) input[i] = input_value(rank(), i);
}

Event Call::start() {
  using stretto::sum;
  const stretto::CollectiveOptions options = stretto::CollectiveOptions().algorithm(algorithm_);
  switch (operation_) {
    case OPERATION_BARRIER: return barrier(node_, group_, options);
    case OPERATION_BROADCAST: return broadcast(node_, group_, output_, 0, options);
    case OPERATION_REDUCE: return reduce(node_, group_, input_, output_, sum, 0, options);
    case OPERATION_ALLREDUCE: return allreduce(node_, group_, input_, output_, sum, options);
    case OPERATION_ALLGATHER: return allgather(node_, group_, input_, output_, options);
    case OPERATION_GATHER: return gather(node_, group_, input_, output_, 0, options);
    case OPERATION_SCATTER: return scatter(node_, group_, input_, output_, 0, options);
    case OPERATION_REDUCE_SCATTER: return reduce_scatter(node_, group_, input_, output_, sum, options);
    case OPERATION_ALL_TO_ALL: return all_to_all(node_, group_, input_, output_, options);
    case OPERATION_SCAN: return scan(node_, group_, input_, output_, sum, options);
    case OPERATION_EXSCAN: return exscan(node_, group_, input_, output_, sum, options);
    case OPERATION_ALLGATHERV: return allgather(node_, group_, input_, output_, got_, options);
    case OPERATION_ALL_TO_ALLV: return all_to_all(node_, group_, input_, given_, output_, got_, options);
  }
  return Event();
}

Task<> Call::check() {
  if (operation_ == OPERATION_BARRIER) {
    co_await check_barrier();
    co_return;
  }
  clear();
  co_await start();
  verify();
}

void Call::clear() {
  for (std::size_t i = 0; i < output_.size(); ++i) output_[i] = value_before(operation_, rank(), i);
}

void Call::verify() const {
  for (std::size_t i = 0; i < output_.size(); ++i) {
    const double expected = expected_output(operation_, rank(), ranks(), block_, i);
    if (output_[i] != expected) {
      fail("element " + std::to_string(i) + " is " + std::to_string(output_[i]) + ", not " + std::to_string(expected));
    }
  }
}

// Nobody leaves a barrier before all have come. All ranks of the job have one clock.
Task<> Call::check_barrier() {
  using Clock = std::chrono::steady_clock;
  const auto seconds = [] { return std::chrono::duration<double>(Clock::now().time_since_epoch()).count(); };
  const double came = seconds();
  co_await start();
  const double left = seconds();
  const double last = co_await allreduce(node_, group_, came, stretto::maximum);
  if (left < last) fail("a rank left " + std::to_string(last - left) + " s too early");
}

void Call::fail(const std::string& how) const {
  throw Error(ErrorCode::invalid_state, std::string(operation_names[operation_]) + " of " +
                                            std::to_string(block_ * sizeof(double)) + " bytes, rank " +
                                            std::to_string(rank()) + " of " + std::to_string(ranks()) + ": " + how);
}

}  // namespace collective_bench
