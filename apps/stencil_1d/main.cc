#include <cstdio>
#include <exception>
#include <variant>

#include "stencil_1d/experiment.h"
#include "stencil_1d/options.h"
#include "stencil_1d/report.h"
#include "stretto/core/runtime.h"

namespace {

constexpr int exit_wrong = 2;

// The nodes of a process share `is_wrong`, which only node 0 sets.
stretto::Task<> run_node(stretto::Node& node, const stencil_1d::Options& options, bool& is_wrong) {
  const stencil_1d::Outcome outcome = co_await run_experiment(node, options);
  if (node.id() != 0) co_return;
  std::fputs(describe(outcome, options).c_str(), stdout);
  if (options.json) std::puts(to_json(outcome, options).c_str());
  is_wrong = !outcome.correct();
}

}  // namespace

int main(int argc, char** argv) {
  stencil_1d::Options options;
  try {
    const auto parsed = stencil_1d::parse_options(argc, argv);
    if (const auto* const help = std::get_if<stencil_1d::Help>(&parsed)) {
      std::fputs(help->text.c_str(), stdout);
      return 0;
    }
    options = std::get<stencil_1d::Options>(parsed);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "stencil_1d: %s\n", error.what());
    return 1;
  }
  bool is_wrong = false;
  const int failed = stretto::run(argc, argv, [&](stretto::Node& node) { return run_node(node, options, is_wrong); });
  return failed != 0 ? failed : is_wrong ? exit_wrong : 0;
}
