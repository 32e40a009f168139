#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "collective/operations.h"
#include "stretto/collective/collective.h"
#include "stretto/core/segment_array.h"

namespace collective_bench {

enum class Memory { segment, user };

/// Doubles in the node's segment or in memory of the user's own. Zero at first.
class Vector {
 public:
  Vector(stretto::Node& node, Memory memory, std::size_t size);
  std::span<double> values() noexcept { return values_; }

 private:
  stretto::SegmentArray<double> in_segment_;
  struct Free {
    void operator()(double* values) const noexcept { std::free(values); }
  };
  std::unique_ptr<double[], Free> of_user_;
  std::span<double> values_;
};

/// One collective operation at one size at one node: its buffers, and what has to come out. Lives in that node's main,
/// and outlives what it started.
class Call {
 public:
  /// `algorithm`: by name; empty: chosen.
  Call(stretto::Node& node, const stretto::Group& group, Operation operation, std::size_t bytes, Memory memory,
       const std::string& algorithm);
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  /// Gives the input the values that it has.
  void write_input();
  stretto::Event start();
  /// Makes the output what no call gives.
  void clear();
  /// Throws Error(invalid_state) if the output is not what every call has to give.
  void verify() const;
  /// Both, with a call in between. All nodes call it.
  stretto::Task<> check();

 private:
  stretto::Task<> check_barrier();
  [[noreturn]] void fail(const std::string& how) const;
  int rank() const { return static_cast<int>(node_.id()); }
  int ranks() const { return static_cast<int>(node_.size()); }

  stretto::Node& node_;
  const stretto::Group& group_;
  const Operation operation_;
  const std::size_t block_;  // elements
  const std::string algorithm_;
  const std::vector<std::size_t> given_;  // elements to each rank, where blocks are listed
  const std::vector<std::size_t> got_;    // from each
  Vector input_memory_;
  Vector output_memory_;
  const std::span<double> input_;
  const std::span<double> output_;
};

}  // namespace collective_bench
