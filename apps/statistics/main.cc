// Learns, derives and assesses statistics over a CSV file's columns on all nodes of the job.

#include <array>
#include <atomic>
#include <cstdio>
#include <optional>
#include <string>

#include "statistics/agreement.h"
#include "statistics/experiment.h"
#include "statistics/options.h"
#include "statistics/report.h"
#include "statistics/share.h"
#include "stretto/program/experiment.h"
#include "stretto/program/output_file.h"

namespace {

using namespace statistics;

std::optional<std::string> why_not_writable(const Options& options) {
  using stretto::program::NamedFile;
  const std::array<NamedFile, 1> read{{{"the CSV file", options.source.file}}};
  const std::array<NamedFile, 1> written{{{"--deviations", options.deviations}}};
  return stretto::program::why_not_writable(written, read);
}

// The nodes of a process share `status`.
stretto::Task<> run_node(stretto::Node& node, const Options& options, std::atomic<int>& status) {
  Share share = read_share(options.source, node.id(), node.size());
  if (node.id() == 0 && !share.complaint) {
    // Refused before the work, as it would fail after it.
    if (const auto reason = why_not_writable(options)) share.complaint = {*reason};
  }
  const Agreement agreement = co_await agree(node, options.source, share);
  if (agreement.complaint) {
    status = stretto::program::exit_failed;
    if (node.id() == 0) std::fprintf(stderr, "statistics: %s\n", agreement.complaint->c_str());
    co_return;
  }
  const NodeResult result = co_await run_experiment(node, options, share, agreement);
  if (!result.outcome.correct()) status = stretto::program::exit_wrong;
  if (node.id() != 0) co_return;
  if (!options.deviations.empty()) {
    stretto::program::write_file(options.deviations, deviations_csv(result.outcome.names, result.deviations));
  }
  stretto::program::report(result.outcome, options);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  const auto parse = [&] { return parse_options(argc, argv); };
  if (const auto ended = stretto::program::read_options("statistics", parse, options)) return *ended;
  std::atomic<int> status = 0;
  const int failed = stretto::run(argc, argv, [&](stretto::Node& node) { return run_node(node, options, status); });
  return stretto::program::printed("statistics", failed != 0 ? failed : status.load());
}
