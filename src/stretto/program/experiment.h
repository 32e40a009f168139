#pragma once

#include <cstdio>

#include "stretto/core/runtime.h"
#include "stretto/program/command_line.h"

// What programs share whose nodes run an experiment together. Each has, in its own namespace,
//
//     Task<Outcome> run_experiment(Node&, const Options&);                // every node calls it; node 0's is reported
//     std::string describe(const Outcome&, const Options&);               // for people
//     std::string to_json(const Outcome&, const Options&);                // one line without its end
//
// and Outcome::correct(), Options::json.

namespace stretto::program {

/// Prints the outcome, at last as JSON where that is asked for; returns the exit status.
template <class Outcome, class Options>
int report(const Outcome& outcome, const Options& options) {
  std::fputs(describe(outcome, options).c_str(), stdout);
  if (options.json) std::puts(to_json(outcome, options).c_str());
  return outcome.correct() ? 0 : exit_wrong;
}

/// Runs the experiment on all nodes of this process, as stretto::run does, and reports it where node 0 is among them;
/// returns the exit status.
template <class Options>
int run_program(const char* program, int argc, char** argv, const Options& options) {
  int status = 0;  // shared by the nodes of this process: only node 0 sets it
  const int failed = stretto::run(argc, argv, [&](Node& node) -> Task<> {
    const auto outcome = co_await run_experiment(node, options);
    if (node.id() == 0) status = report(outcome, options);
  });
  return printed(program, failed != 0 ? failed : status);
}

}  // namespace stretto::program
