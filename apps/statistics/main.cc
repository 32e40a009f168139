// Learns, derives and assesses statistics over a CSV file's columns on all nodes of the job.

#include <atomic>
#include <cstdio>
#include <exception>
#include <fstream>
#include <string>
#include <variant>

#include "statistics/agreement.h"
#include "statistics/experiment.h"
#include "statistics/options.h"
#include "statistics/report.h"
#include "statistics/share.h"
#include "stretto/base/error.h"
#include "stretto/core/runtime.h"

namespace {

using namespace statistics;

constexpr int exit_bad = 1;
constexpr int exit_wrong = 2;

/// Refuses before the work what would fail after it.
void require_writable(const std::string& path, Share& share) {
  if (path.empty() || share.complaint || std::ofstream(path, std::ios::app)) return;
  share.complaint = {path + " cannot be written: name a file in a folder that exists and is yours"};
}

void write_deviations(const std::string& path, const NodeResult& result) {
  std::ofstream out(path, std::ios::binary);
  if (!(out << deviations_csv(result.outcome.names, result.deviations)).flush()) {
    throw stretto::Error(stretto::ErrorCode::io, path + " could not be written whole");
  }
}

// The nodes of a process share `status`.
stretto::Task<> run_node(stretto::Node& node, const Options& options, std::atomic<int>& status) {
  Share share = read_share(options.source, node.id(), node.size());
  if (node.id() == 0) require_writable(options.deviations, share);
  const Agreement agreement = co_await agree(node, options.source, share);
  if (agreement.complaint) {
    status = exit_bad;
    if (node.id() == 0) std::fprintf(stderr, "statistics: %s\n", agreement.complaint->c_str());
    co_return;
  }
  const NodeResult result = co_await run_experiment(node, options, share, agreement);
  if (!result.outcome.correct()) status = exit_wrong;
  if (node.id() != 0) co_return;
  if (!options.deviations.empty()) write_deviations(options.deviations, result);
  std::fputs(describe(result.outcome, options).c_str(), stdout);
  if (options.json) std::puts(to_json(result.outcome, options).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  try {
    const auto parsed = parse_options(argc, argv);
    if (const auto* const help = std::get_if<Help>(&parsed)) {
      std::fputs(help->text.c_str(), stdout);
      return 0;
    }
    options = std::get<Options>(parsed);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "statistics: %s\n", error.what());
    return exit_bad;
  }
  std::atomic<int> status = 0;
  const int failed = stretto::run(argc, argv, [&](stretto::Node& node) { return run_node(node, options, status); });
  return failed != 0 ? failed : status.load();
}
