#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "stretto/base/random.h"
#include "stretto/collective/program_runs.h"
#include "stretto/core/runtime.h"
#include "stretto/core/test_support.h"
#include "stretto/fabric/sim/sim_fabric.h"

/// For tests: random programs on simulated machines that delay, reorder and kill.
namespace stretto::test {

/// What came of it.
struct Result {
  std::string complaints;
  std::uint64_t trace_hash = 0;
  std::uint64_t messages = 0;
  double seconds = 0;  ///< virtual
  std::size_t clean = 0;
  std::size_t lost = 0;
};

/// Runs `program` on a simulated machine with further `options`. `saboteur` is the node that does the sabotage.
inline Result simulate(const Program& program, const std::string& options, Sabotage sabotage = Sabotage::none,
                       NodeId saboteur = 0) {
  Result result;
  RuntimeOptions runtime_options = options_for("sim:" + std::to_string(program.nodes) + options);
  runtime_options.staging_bytes = std::size_t{8} << (10 + program.salt % 8);
  runtime_options.check_calls = program.salt % 5 == 0;  // all call in one place
  Runtime runtime(runtime_options);
  auto& fabric = static_cast<fabric::SimFabric&>(runtime.fabric());
  const bool deaths = options.find("kill=") != std::string::npos;
  ProgramRuns runs(program, runtime, sabotage, saboteur);
  try {
    runtime.run([&](Node& node) -> Task<> {
      const std::string complaints = co_await runs.of(node.id()).run(deaths);
      if (fabric.alive(node.id())) result.complaints += complaints;
    });
  } catch (const Error& error) {
    result.complaints += std::string("the run ended with ") + error.what() + "\n";
  }
  for (const auto& node : runtime.nodes()) {
    if (!fabric.alive(node->id())) continue;
    result.clean += runs.of(node->id()).clean();
    result.lost += runs.of(node->id()).lost();
  }
  result.trace_hash = fabric.timeline().trace_hash();
  result.messages = fabric.messages();
  result.seconds = fabric::to_seconds(fabric.timeline().now());
  return result;
}

/// A machine whose disorder also follows from the seed. Where it is told how many nodes there are, they may share
/// hosts.
inline std::string disorder(std::uint64_t seed, std::uint32_t nodes = 1) {
  Random random(seed * 31 + 7);
  std::string options = ",seed=" + std::to_string(seed);
  if (random.below(4) != 0) options += ",jitter=" + std::to_string(random.below(5000)) + "ns";
  if (random.below(3) != 0) options += ",reorder=0." + std::to_string(random.below(9));
  if (random.below(3) != 0) options += ",delay=50us,delay_probability=0.0" + std::to_string(random.below(10));
  if (random.below(2) != 0) options += ",gap=400ns,task=300ns";
  if (random.below(2) != 0) options += random.below(2) == 0 ? ",early=0.01" : ",early=0.5";
  if (random.below(2) != 0) options += ",peer_pointer=segments";
  if (nodes > 1 && random.below(2) != 0) options += ",hosts=" + std::to_string(1 + random.below(nodes - 1));
  return options;
}

}  // namespace stretto::test
