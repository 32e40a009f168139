#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <string>
#include <vector>

#include "collective/operations.h"
#include "collective/stretto_call.h"
#include "stretto/collective/collective.h"
#include "stretto/program/overlap.h"

namespace collective_bench {

/// What holds for all measurements of a process.
struct Setting {
  std::string fabric;
  Memory memory = Memory::segment;
  bool rewrites_input = false;  ///< before each call whose latency is measured
  unsigned nodes_on_host = 1;   ///< on the host of this process
  std::string algorithm;        ///< of all operations, by name; empty: chosen
};

/// One node's part of the measurements, each of which all nodes call and node 0 prints as one JSON object; times are in
/// seconds. Lives in that node's main.
class Measurements {
 public:
  /// `first_of_process`: this node accounts for its process's cpu time.
  Measurements(stretto::Node& node, const Setting& setting, bool first_of_process);

  /// One operation at one size, for about `seconds`.
  stretto::Task<> latency(Operation operation, std::size_t bytes, double seconds);
  /// An all-reduce issued before a computation that makes no calls and fills every processor: how much of its time is
  /// exposed, and what it costs the computation.
  stretto::Task<> overlap();
  /// The processor time that waiting nodes take.
  stretto::Task<> idle();

 private:
  stretto::Task<std::vector<double>> timed_calls(Call& call, std::size_t count, bool rewrites_input);
  stretto::Task<double> back_to_back(Call& call, std::size_t count);
  stretto::Task<double> after_barriers(Call& call, std::size_t count);
  stretto::Task<std::size_t> iterations_that_fit(Call& call, double budget);
  std::vector<stretto::Event> compute_elsewhere(std::size_t steps);
  stretto::Task<double> computation_alone(std::size_t steps);
  stretto::Task<stretto::program::Overlapped> overlapped_call(Call& call, std::size_t steps);
  nlohmann::ordered_json row(const char* operation) const;
  void print(const nlohmann::ordered_json& row) const;

  stretto::Node& node_;
  const Setting& setting_;
  const stretto::Group all_;
  const bool first_of_process_;
};

}  // namespace collective_bench
