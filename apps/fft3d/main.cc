// Transforms a three-dimensional array by Fourier on all nodes of the job.

#include <cstdio>
#include <exception>
#include <variant>

#include "fft3d/experiment.h"
#include "fft3d/options.h"
#include "fft3d/report.h"
#include "stretto/core/runtime.h"

namespace {

constexpr int exit_wrong = 2;

// The nodes of a process share `is_wrong`, which only node 0 sets.
stretto::Task<> run_node(stretto::Node& node, const fft3d::Options& options, bool& is_wrong) {
  const fft3d::Outcome outcome = co_await run_experiment(node, options);
  if (node.id() != 0) co_return;
  std::fputs(describe(outcome, options).c_str(), stdout);
  if (options.json) std::puts(to_json(outcome, options).c_str());
  is_wrong = !outcome.correct();
}

}  // namespace

int main(int argc, char** argv) {
  fft3d::Options options;
  try {
    const auto parsed = fft3d::parse_options(argc, argv);
    if (const auto* const help = std::get_if<fft3d::Help>(&parsed)) {
      std::fputs(help->text.c_str(), stdout);
      return 0;
    }
    options = std::get<fft3d::Options>(parsed);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fft3d: %s\n", error.what());
    return 1;
  }
  bool is_wrong = false;
  const int failed = stretto::run(argc, argv, [&](stretto::Node& node) { return run_node(node, options, is_wrong); });
  return failed != 0 ? failed : is_wrong ? exit_wrong : 0;
}
