// Stretto's collective operations, measured as mpi.c measures the rivals': one JSON object a line from node 0.
//
//   stretto run -n 2 build/release/bin/collective_bench --pin      processes
//   STRETTO_FABRIC=local:16 build/release/bin/collective_bench     nodes of one process
//
// A latency is the maximum over the nodes of one call, each call after a barrier; the median and the 99th percentile
// are over the iterations. back_to_back_seconds is the mean of calls without barriers. operations.h says what sizes
// mean, and what it is to rewrite the input.

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "collective/stretto_measurements.h"
#include "stretto/core/runtime.h"
#include "stretto/program/arguments.h"

namespace {

using collective_bench::Measurements;
using collective_bench::Memory;
using stretto::Node;
using stretto::Task;

struct Options {
  std::string measure = "latency";
  std::vector<std::string> operations{operation_names, operation_names + usual_operation_count};
  std::vector<std::size_t> sizes = {8, 1024, 65536, std::size_t{1} << 20U};
  double seconds = 0.1;
  bool pin = false;
  std::string memory = "segment";
  std::string input = "kept";
  std::string algorithm;
};

Task<> measure_latencies(Measurements& measurements, const Options& options) {
  for (const std::string& name : options.operations) {
    const auto operation =
        static_cast<Operation>(std::find(operation_names, operation_names + operation_count, name) - operation_names);
    if (operation == OPERATION_BARRIER) {
      co_await measurements.latency(operation, 0, options.seconds);
      continue;
    }
    for (const std::size_t bytes : options.sizes) co_await measurements.latency(operation, bytes, options.seconds);
  }
}

/// How many nodes share the host of `node`.
unsigned nodes_beside(const stretto::fabric::Fabric& fabric, stretto::NodeId node) {
  unsigned count = 0;
  for (stretto::NodeId other = 0; other < fabric.size(); ++other) {
    if (fabric.host_of(other) == fabric.host_of(node)) ++count;
  }
  return count;
}

int measure(const Options& options) {
  stretto::RuntimeOptions runtime_options = stretto::RuntimeOptions::from_environment();
  runtime_options.bind |= options.pin;
  stretto::Runtime runtime(runtime_options);
  const stretto::NodeId first = runtime.nodes().front()->id();
  const collective_bench::Setting setting{.fabric = runtime_options.fabric,
                                          .memory = options.memory == "user" ? Memory::user : Memory::segment,
                                          .rewrites_input = options.input == "rewritten",
                                          .nodes_on_host = nodes_beside(runtime.fabric(), first),
                                          .algorithm = options.algorithm};
  runtime.run([&options, &setting, first](Node& node) -> Task<> {
    Measurements measurements(node, setting, node.id() == first);
    if (options.measure == "latency") {
      co_await measure_latencies(measurements, options);
    } else if (options.measure == "overlap") {
      co_await measurements.overlap();
    } else {
      co_await measurements.idle();
    }
  });
  return 0;
}

void add_options(stretto::program::Arguments& arguments, Options& options) {
  arguments
      .option("--measure", options.measure,
              "What: latency, overlap (of an all-reduce with a computation), idle (cpu of waiting nodes)")
      .one_of({"latency", "overlap", "idle"})
      .shows_default();
  arguments.option("--operations", options.operations, "latency: which operations")
      .comma_separated()
      .one_of({operation_names, operation_names + operation_count})
      .shows_default();
  arguments.option("--sizes", options.sizes, "latency: bytes of a vector or of a rank's block, multiples of 8")
      .comma_separated()
      .whole_doubles()
      .shows_default();
  arguments.option("--seconds", options.seconds, "latency: about how long to measure each operation and size")
      .measured_seconds()
      .shows_default();
  arguments
      .option("--memory", options.memory, "Where the vectors lie: in the node's segment, or in the user's own memory")
      .one_of({"segment", "user"})
      .shows_default();
  arguments
      .option("--input", options.input, "latency: whether the input is written anew before each call that is timed")
      .one_of({"kept", "rewritten"})
      .shows_default();
  arguments.option("--algorithm", options.algorithm, "Of the operations, by name; default: chosen");
  arguments.flag("--pin", options.pin, "Keep each worker on one core, its own where there are enough");
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  stretto::program::Arguments arguments(
      "collective_bench",
      "Measures Stretto's collective operations on doubles, on the fabric of the environment; JSON lines to stdout.");
  add_options(arguments, options);
  return arguments.run(argc, argv, [&] { return measure(options); });
}
