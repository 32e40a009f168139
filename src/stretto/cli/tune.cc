#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "stretto/base/error.h"
#include "stretto/base/units.h"
#include "stretto/cli/commands.h"
#include "stretto/cli/fit.h"
#include "stretto/cli/trial.h"
#include "stretto/core/runtime.h"
#include "stretto/program/arguments.h"
#include "stretto/program/output_file.h"

namespace stretto::cli {
namespace {

using schedule::CostTable;
using schedule::Link;

struct TuneArguments {
  std::string output;
  double seconds = 0.03;
};

/// What is measured: schedules in which each of the costs matters somewhere.
struct Probe {
  std::string_view algorithm;
  std::array<std::uint64_t, 5> sizes;  ///< bytes as Request has them; 0: no further one
};

constexpr std::uint64_t kib = 1024;
constexpr std::uint64_t mib = 1024 * kib;
constexpr std::array probes{
    Probe{"dissemination_barrier", {8}},
    Probe{"linear_barrier", {8}},
    Probe{"binomial_broadcast", {8, 4 * kib, 64 * kib, mib}},
    Probe{"linear_broadcast", {8, 64 * kib}},
    Probe{"recursive_doubling", {8, kib, 4 * kib, 64 * kib, mib}},
    Probe{"linear_allreduce", {8, 4 * kib, 64 * kib}},
    Probe{"direct_allreduce", {8, kib, 16 * kib, 64 * kib, mib}},
    Probe{"ring_allreduce", {8, kib, 64 * kib, mib}},
    Probe{"halved_doubling", {8, kib, 64 * kib}},
    Probe{"recursive_doubling_allgather", {8, 64 * kib}},
    Probe{"linear_allgather", {8, 4 * kib, 64 * kib, 256 * kib}},
    Probe{"linear_all_to_all", {8, 64 * kib}},
    Probe{"direct_reduce", {64 * kib, mib}},
};

std::filesystem::path default_output() {
  const char* const config = std::getenv("XDG_CONFIG_HOME");
  const char* const home = std::getenv("HOME");
  if (config != nullptr && *config != '\0') return std::filesystem::path(config) / "stretto" / "tuning.json";
  if (home != nullptr && *home != '\0') return std::filesystem::path(home) / ".config" / "stretto" / "tuning.json";
  throw Error(ErrorCode::bad_input, "neither XDG_CONFIG_HOME nor HOME is set; say by --output where to write");
}

/// Where the costs go: those of a simulated machine not unasked to where real ones are.
std::filesystem::path output_of(const TuneArguments& arguments, const Node& node) {
  if (!arguments.output.empty()) return arguments.output;
  if (node.surroundings().simulated == nullptr) return default_output();
  throw Error(ErrorCode::bad_input,
              "STRETTO_FABRIC is a simulated machine, whose costs are not other jobs'; say by --output where they go");
}

Error no_output(const std::string& problem) {
  return Error(ErrorCode::io, problem + "; say by --output where to write");
}

/// The costs of the file that is about to be renewed, of which other links are kept, or the built-in ones. Refuses
/// before the work what would fail after it.
CostTable table_before(const std::filesystem::path& path) {
  std::error_code unknown;  // what is wrong shows when the file is opened
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), unknown);
  if (program::why_not_writable(path.string())) throw no_output("cannot write " + path.string());
  // A pipe or a device holds no costs, nor does a file that somebody has just made.
  const bool is_file = std::filesystem::is_regular_file(path, unknown);
  if (!is_file || std::filesystem::file_size(path, unknown) == 0) return schedule::built_in_costs();
  std::ifstream file(path, std::ios::binary);
  if (!file) throw no_output("cannot read " + path.string() + ", whose other links are to be kept");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  try {
    return schedule::parse_cost_table(text, path.string());
  } catch (const Error& error) {
    throw Error(
        error.code(),
        error.message() + ", but renews none that it cannot read: remove it, or say by --output where to write");
  }
}

void write(const std::filesystem::path& path, const CostTable& table) {
  try {
    program::replace_file(path.string(), to_json(table));
  } catch (const Error&) {
    throw no_output("cannot write " + path.string());
  }
}

/// Those between whom there is one kind of link: where hosts have several nodes, the first one of each.
Group nodes_to_measure(const Node& node) {
  const std::vector<std::uint32_t>& host_of = node.surroundings().hosts;
  if (host_of.empty()) return Group::all(node);
  const schedule::Hosts hosts(host_of);
  std::vector<NodeId> firsts;
  for (std::uint32_t host = 0; host < hosts.count(); ++host) firsts.push_back(hosts.members(host).front());
  return Group(firsts);
}

schedule::Placement placement_of_measured(Node& node) {
  const CollectiveService& service = CollectiveService::of(node);
  const Group all = Group::all(node);
  const schedule::Hosts hosts = service.hosts_of(all);
  return placement_of_firsts(service.placement_of(all), hosts.are_known() ? hosts.most() : 1);
}

/// What is to be measured of a group.
std::vector<Sample> samples_of(const Group& group) {
  std::vector<Sample> samples;
  for (const Probe& probe : probes) {
    const schedule::Algorithm& algorithm = schedule::find_algorithm(probe.algorithm);
    Sample sample;
    sample.candidate.algorithm = &algorithm;
    sample.candidate.shape.operation = algorithm.operation();
    sample.candidate.shape.size = group.size();
    sample.candidate.shape = algorithm.with_segments(sample.candidate.shape);
    for (const std::uint64_t bytes : probe.sizes) {
      if (bytes == 0) break;
      sample.bytes = bytes;
      samples.push_back(sample);
    }
  }
  return samples;
}

/// Adds what was measured of a group, at its nodes. All nodes call it.
Task<> measure_group(Node& node, const Group& group, double seconds, std::vector<Sample>& samples) {
  std::vector<Sample> measured = samples_of(group);
  co_await measure_in_turns(node, group, measured, seconds);
  samples.insert(samples.end(), measured.begin(), measured.end());
}

void report(const CostTable& table, Link link, const std::vector<Sample>& samples,
            const schedule::Placement& placement) {
  const schedule::Costs& costs = table.of(link);
  std::vector<double> measured;
  for (const Sample& sample : samples) measured.push_back(sample.seconds);
  const FitError error = error_of_predictions(predictions_of(samples, placement, costs), measured);
  std::cout << "link " << name_of(link) << ", from " << samples.size() << " measurements\n";
  for (const schedule::CostField& field : schedule::cost_fields) {
    std::cout << "  " << std::left << std::setw(16) << field.name << format_duration(costs.*field.value) << '\n';
  }
  std::cout << "predictions are off by " << format_factor(error.median) << " (median), " << format_factor(error.worst)
            << " (worst)\n";
}

Task<> tune_on(Node& node, const TuneArguments& arguments) {
  const Group all = Group::all(node);
  const Group measured = nodes_to_measure(node);
  if (measured.size() < 2) {
    throw Error(ErrorCode::invalid_argument,
                "a job of one node, or on one simulated host, has no fabric to be measured; give it two or more");
  }
  const bool writes = node.id() == 0;
  const std::filesystem::path path = writes ? output_of(arguments, node) : std::filesystem::path();
  CostTable table = writes ? table_before(path) : schedule::built_in_costs();  // if it is bad, known at once
  const Group pair({measured.node(0), measured.node(1)});
  std::vector<Sample> samples;
  co_await measure_group(node, pair, arguments.seconds, samples);
  if (measured.size() > 2) co_await measure_group(node, measured, arguments.seconds, samples);
  if (!writes) co_return;
  if (std::any_of(samples.begin(), samples.end(), [](const Sample& each) { return each.seconds <= 0; })) {
    throw Error(ErrorCode::invalid_argument,
                "some messages take no time on this fabric, and there are no costs to fit; give sim a latency");
  }
  const schedule::Placement placement = placement_of_measured(node);
  const Link link = placement.link;
  table.of(link) = fit_costs(samples, placement, schedule::built_in_costs().of(link));
  write(path, table);
  report(table, link, samples, placement);
  std::cout << "written to " << path.string() << "; jobs use it where STRETTO_TUNING names it" << std::endl;
}

void run_tune(const TuneArguments& arguments) {
  RuntimeOptions options = RuntimeOptions::untuned_from_environment();
  if (options.reproducible) {
    throw Error(ErrorCode::bad_input,
                "STRETTO_REPRODUCIBLE is 1: what costs are fitted to are the schedules of reductions that are not "
                "reproducible; unset it to tune, and set it for the job that uses the costs");
  }
  if (is_fabric_open(options)) options.fabric = "local:8";
  bind_workers(options);
  Runtime runtime(options);
  runtime.run([&arguments](Node& node) { return tune_on(node, arguments); });
}

}  // namespace

void add_tune_command(program::Arguments& stretto) {
  const auto arguments = std::make_shared<TuneArguments>();
  program::Arguments& command =
      stretto.command("tune", "Measure what messages and reductions cost, for the choice of schedules", [arguments] {
        run_tune(*arguments);
        return 0;
      });
  command.option("-o,--output", arguments->output,
                 "File to write, or to renew where it has other links; default: tuning.json in "
                 "$XDG_CONFIG_HOME/stretto or ~/.config/stretto; for a simulated machine there is none");
  command.option("--seconds", arguments->seconds, "About how long to measure each of some 80 cases, three times")
      .seconds_within(1e-4, 60)
      .shows_default();
  command.footer(
      "Measures the fabric it runs on, in a few seconds, while nothing else should run:\n"
      "  stretto tune                          8 nodes of one process, or what STRETTO_FABRIC says\n"
      "  stretto run -n 2 stretto tune         processes that share memory\n"
      "  stretto run -n 2 --hosts a,b --bind ADDRESS stretto tune\n"
      "Where hosts have several nodes, the first one of each measures the wire.\n"
      "Workers are bound to cores unless STRETTO_BIND says otherwise, as it must where hosts share cores.\n"
      "With more nodes than cores it also finds what a node's turn costs. Jobs use the file that STRETTO_TUNING\n"
      "names; all nodes of a job must have the same.");
}

}  // namespace stretto::cli
