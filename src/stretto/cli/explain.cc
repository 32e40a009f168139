#include <nlohmann/json.hpp>

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "stretto/base/affinity.h"
#include "stretto/base/edit_distance.h"
#include "stretto/base/error.h"
#include "stretto/base/units.h"
#include "stretto/cli/commands.h"
#include "stretto/cli/fit.h"
#include "stretto/cli/print_line.h"
#include "stretto/cli/shape_arguments.h"
#include "stretto/cli/trial.h"
#include "stretto/core/runtime.h"
#include "stretto/program/arguments.h"

namespace stretto::cli {
namespace {

using schedule::Candidate;
using schedule::Link;
using schedule::Operation;
using schedule::Request;

constexpr schedule::Rank most_nodes = schedule::Rank{1} << 20U;
constexpr std::uint64_t usual_bytes = 8;
constexpr double usual_seconds = 0.05;

struct ExplainArguments {
  std::string operation;
  std::string nodes;
  std::string hosts;
  std::string bytes;  ///< empty: usual_bytes
  std::string link;
  std::string cores;
  std::string root = "0";
  std::string auxiliaries = "0";
  RoleArguments roles;
  bool ordered = false;
  bool reproducible = false;
  bool measure = false;
  double seconds = 0;  ///< 0: usual_seconds
  bool as_json = false;
};

/// A request, what is to be expected of it, and what was found.
struct Explanation {
  Request request;
  std::uint64_t bytes = 0;  ///< that were asked for; the request has their size class
  std::string costs;        ///< where they come from
  std::vector<Candidate> candidates;
  std::vector<double> measured;  ///< seconds, by candidate; empty if not asked for
};

std::vector<std::string_view> names_of_operations() {
  std::vector<std::string_view> names;
  for (int each = 0; each <= static_cast<int>(Operation::general_reduce); ++each) {
    names.push_back(name_of(static_cast<Operation>(each)));
  }
  return names;
}

std::string list_of_operations() {
  std::string list;
  for (const std::string_view name : names_of_operations()) list += (list.empty() ? "" : ", ") + std::string(name);
  return list;
}

Operation parse_operation(const std::string& text) {
  const std::vector<std::string_view> names = names_of_operations();
  const auto found = std::find(names.begin(), names.end(), text);
  if (found != names.end()) return static_cast<Operation>(found - names.begin());
  const std::string_view nearest = nearest_name(text, names);
  throw Error(ErrorCode::bad_input,
              "there is no operation called '" + text + "'" +
                  (nearest.empty() ? std::string(".") : "; did you mean '" + std::string(nearest) + "'?") +
                  " Known are " + list_of_operations());
}

/// As they are asked for: what is served alike is the size class.
std::uint64_t bytes_of(const ExplainArguments& arguments, Operation operation) {
  if (operation == Operation::barrier) {
    if (arguments.bytes.empty()) return 0;
    throw Error(ErrorCode::bad_input, "--bytes is '" + arguments.bytes + "', but a barrier has none; leave it out");
  }
  return arguments.bytes.empty() ? usual_bytes : parse_bytes(arguments.bytes, "--bytes");
}

/// `job_is_reproducible`: as STRETTO_REPRODUCIBLE says.
bool is_reproducible(const ExplainArguments& arguments, Operation operation, bool job_is_reproducible) {
  if (is_reduction(operation)) return arguments.reproducible || job_is_reproducible;
  if (!arguments.reproducible) return false;
  throw Error(ErrorCode::bad_input,
              "--reproducible is for reductions, but " + std::string(name_of(operation)) + " is none; leave it out");
}

/// The placement is left open.
Request request_of(const ExplainArguments& arguments, schedule::Rank nodes, bool job_is_reproducible) {
  Request request;
  request.shape.operation = parse_operation(arguments.operation);
  request.shape.size = nodes;
  arguments.roles.apply_to(request.shape);
  request.shape.root = static_cast<schedule::Rank>(parse_count(arguments.root, "--root", 0, most_nodes - 1));
  request.shape.auxiliaries =
      static_cast<schedule::Rank>(parse_count(arguments.auxiliaries, "--auxiliaries", 0, most_nodes - nodes));
  request.shape.size += request.shape.auxiliaries;
  request.shape.reproducible = is_reproducible(arguments, request.shape.operation, job_is_reproducible);
  request.shape.commutative = !arguments.ordered && !request.shape.reproducible;
  request.bytes = schedule::size_class(bytes_of(arguments, request.shape.operation));
  require_sound(request.shape);
  return request;
}

std::string describe(const schedule::Shape& shape, const schedule::Placement& placement) {
  std::string text = "link " + std::string(name_of(placement.link));
  if (shape.hosts.are_known()) text += " between hosts, " + std::string(name_of(placement.inside)) + " inside them";
  if (placement.ranks_of_machine > placement.cores_of_machine) {
    text += ", " + std::to_string(placement.ranks_of_machine) + " ranks take turns on " +
            std::to_string(placement.cores_of_machine) + (placement.cores_of_machine == 1 ? " core" : " cores");
  }
  return text;
}

/// "ring_allreduce of 4 segments".
std::string described(const Candidate& candidate) {
  const std::string name(candidate.algorithm->name());
  return candidate.segments == 1 ? name : name + " of " + std::to_string(candidate.segments) + " segments";
}

void print_text(const Explanation& found) {
  const Request& request = found.request;
  const bool has_data = request.shape.operation != Operation::barrier;
  std::cout << describe(request.shape) << (has_data ? ", " + format_bytes(found.bytes) : "")
            << (has_data && !cuts_vector(request.shape.operation) ? " a block" : "")
            << (found.bytes != request.bytes ? ", taken as " + format_bytes(request.bytes) : "") << "; "
            << describe(request.shape, request.placement) << "; costs: " << found.costs << '\n';
  const auto row = [](const std::string& name, const std::string& segments, const std::string& predicted,
                      const std::string& measured) {
    std::cout << std::left << std::setw(36) << name << std::right << std::setw(9) << segments << std::setw(13)
              << predicted << std::setw(13) << measured << '\n';
  };
  row("  schedule", "segments", "predicted", found.measured.empty() ? "" : "measured");
  for (std::size_t i = 0; i < found.candidates.size(); ++i) {
    const Candidate& each = found.candidates[i];
    const schedule::Rank helping = each.shape.auxiliaries;
    row((i == 0 ? "> " : "  ") + std::string(each.algorithm->name()) +
            (helping == 0 ? "" : ", " + std::to_string(helping) + " auxiliary"),
        std::to_string(each.segments), format_duration(each.price.seconds) + (each.price.is_exact ? " " : "~"),
        found.measured.empty() ? "" : format_duration(found.measured[i]));
  }
  if (found.measured.empty()) return;
  const auto fastest = std::min_element(found.measured.begin(), found.measured.end());
  const Candidate& best = found.candidates[static_cast<std::size_t>(fastest - found.measured.begin())];
  const FitError error = error_of_predictions(predictions_of(found.candidates), found.measured);
  std::cout << "chosen: " << described(found.candidates.front()) << "; measured fastest: ";
  if (fastest == found.measured.begin()) {
    std::cout << "the same";
  } else {
    std::cout << described(best) << ", " << format_factor(found.measured.front() / *fastest) << " as fast";
  }
  std::cout << "\nprediction's error: median " << format_factor(error.median) << ", worst "
            << format_factor(error.worst) << '\n';
}

void print_json(const Explanation& found) {
  const Request& request = found.request;
  nlohmann::ordered_json object{{"operation", name_of(request.shape.operation)},
                                {"nodes", request.shape.size - request.shape.auxiliaries},
                                {"auxiliaries", request.shape.auxiliaries},
                                {"root", request.shape.root},
                                {"bytes", found.bytes},
                                {"size_class", request.bytes},
                                {"commutative", request.shape.commutative},
                                {"reproducible", request.shape.reproducible},
                                {"hosts", request.shape.hosts.are_known() ? request.shape.hosts.count() : 0},
                                {"link", name_of(request.placement.link)},
                                {"ranks_of_machine", request.placement.ranks_of_machine},
                                {"cores_of_machine", request.placement.cores_of_machine},
                                {"costs", found.costs}};
  if (request.shape.operation == Operation::general_reduce) {
    object["contributors"] = request.shape.contributors;
    object["inner_receivers"] = request.shape.inner_receivers;
  }
  object["candidates"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < found.candidates.size(); ++i) {
    const Candidate& each = found.candidates[i];
    nlohmann::ordered_json entry{{"algorithm", each.algorithm->name()}, {"segments", each.segments},
                                 {"blocks", each.shape.blocks},         {"predicted_seconds", each.price.seconds},
                                 {"is_exact", each.price.is_exact},     {"messages", each.price.messages}};
    if (each.shape.auxiliaries != 0) entry["auxiliaries"] = each.shape.auxiliaries;
    if (!found.measured.empty()) entry["measured_seconds"] = found.measured[i];
    object["candidates"].push_back(std::move(entry));
  }
  if (!found.measured.empty()) {
    const FitError error = error_of_predictions(predictions_of(found.candidates), found.measured);
    object["error_median"] = error.median;
    object["error_worst"] = error.worst;
  }
  print_line(object);
}

void print(const ExplainArguments& arguments, const Explanation& found) {
  (arguments.as_json ? print_json : print_text)(found);
}

/// Says also on which hosts the nodes are, where a job would go by them (see hosts_of).
void place(const ExplainArguments& arguments, Request& request) {
  const schedule::Rank nodes = request.shape.size;  // auxiliaries take cores, too
  const std::string cores = arguments.cores.empty() ? std::to_string(usable_cores()) : arguments.cores;
  request.placement.cores_of_machine = static_cast<std::uint32_t>(parse_count(cores, "--cores", 1, most_nodes));
  if (arguments.hosts.empty()) {
    request.placement.link = schedule::parse_link(arguments.link.empty() ? "local" : arguments.link, "--link");
    request.placement.ranks_of_machine = request.placement.link == Link::wire ? 1 : nodes;
    return;
  }
  const schedule::Hosts hosts = parse_hosts(arguments.hosts, nodes);
  const std::string usual = hosts.count() > 1 ? "wire" : "host";
  request.placement.link = schedule::parse_link(arguments.link.empty() ? usual : arguments.link, "--link");
  if (hosts.count() > 1 && request.placement.link != Link::wire) {
    throw Error(ErrorCode::bad_input, "--link " + arguments.link + " connects no hosts; leave out --hosts, or --link");
  }
  if (hosts.are_nested()) request.shape.hosts = hosts;
  request.placement.ranks_of_machine = hosts.most();
}

// Where no job says it.
schedule::Rank nodes_of(const ExplainArguments& arguments, schedule::Rank most) {
  if (arguments.nodes.empty()) {
    throw Error(
        ErrorCode::bad_input,
        "--nodes is required, as in --nodes 8; only a job of several nodes that measures (--measure) needs none");
  }
  return static_cast<schedule::Rank>(parse_count(arguments.nodes, "--nodes", 1, most));
}

Request request_without_job(const ExplainArguments& arguments, const RuntimeOptions& options) {
  if (arguments.seconds != 0) {
    throw Error(ErrorCode::bad_input, "--seconds is for what is measured; add --measure, or leave it out");
  }
  Request request = request_of(arguments, nodes_of(arguments, most_nodes), options.reproducible);
  place(arguments, request);
  // As placement_of has it.
  request.placement.multicasts = request.placement.link != Link::local;
  request.placement.meets = request.placement.link == Link::local;
  return request;
}

void explain_without_job(const ExplainArguments& arguments, const RuntimeOptions& options) {
  Explanation found;
  found.request = program::refusing([&] { return request_without_job(arguments, options); });
  found.bytes = bytes_of(arguments, found.request.shape.operation);
  Surroundings surroundings;
  surroundings.tuning = options.tuning;
  const schedule::CostTable table = costs_of(surroundings);
  found.costs = table.origin(found.request.placement.link);
  found.candidates = rank_candidates(found.request, table);
  print(arguments, found);
}

Task<> explain_on(Node& node, const ExplainArguments& arguments, const Request& request) {
  const Group all = Group::all(node);
  const schedule::CostTable table = costs_of(node.surroundings());
  Explanation found;
  found.request = request;
  found.bytes = bytes_of(arguments, request.shape.operation);
  found.request.shape.hosts = CollectiveService::of(node).hosts_of(all);
  found.request.placement = CollectiveService::of(node).placement_of(all);
  found.costs = table.origin(found.request.placement.link);
  found.candidates = rank_candidates(found.request, table);
  std::vector<Sample> samples;
  for (const Candidate& candidate : found.candidates) samples.push_back({candidate, found.request.bytes});
  const double seconds = arguments.seconds == 0 ? usual_seconds : arguments.seconds;
  co_await measure_in_turns(node, all, samples, seconds);
  for (const Sample& sample : samples) found.measured.push_back(sample.seconds);
  if (node.id() == 0) print(arguments, found);
}

/// The fabric where the environment names none: a job of the nodes that are asked for.
std::string fabric_of(const ExplainArguments& arguments, const RuntimeOptions& options) {
  if (arguments.auxiliaries != "0") {
    throw Error(ErrorCode::bad_input, "--auxiliaries is for predictions; leave out --measure");
  }
  if (!arguments.link.empty() || !arguments.cores.empty() || !arguments.hosts.empty()) {
    throw Error(ErrorCode::bad_input, "--hosts, --link and --cores are for predictions; what is measured has its own");
  }
  if (!is_fabric_open(options)) return options.fabric;
  return "local:" + std::to_string(nodes_of(arguments, max_nodes));
}

Request request_of_job(const ExplainArguments& arguments, std::uint32_t nodes, bool job_is_reproducible) {
  if (!arguments.nodes.empty() && parse_count(arguments.nodes, "--nodes") != nodes) {
    throw Error(ErrorCode::bad_input, "--nodes is " + arguments.nodes + ", but the job has " + std::to_string(nodes) +
                                          (nodes == 1 ? " node" : " nodes") + "; leave it out");
  }
  return request_of(arguments, nodes, job_is_reproducible);
}

void explain_in_job(const ExplainArguments& arguments, RuntimeOptions options) {
  options.fabric = program::refusing([&] { return fabric_of(arguments, options); });
  bind_workers(options);
  Runtime runtime(options);
  const Request request =
      program::refusing([&] { return request_of_job(arguments, runtime.fabric().size(), options.reproducible); });
  runtime.run([&](Node& node) { return explain_on(node, arguments, request); });
}

void run_explain(const ExplainArguments& arguments) {
  const RuntimeOptions options = RuntimeOptions::from_environment();
  if (arguments.measure) return explain_in_job(arguments, options);
  explain_without_job(arguments, options);
}

}  // namespace

void add_explain_command(program::Arguments& stretto) {
  const auto arguments = std::make_shared<ExplainArguments>();
  program::Arguments& command = stretto.command(
      "explain", "Show the schedules for a collective, what each should cost, and the choice", [arguments] {
        run_explain(*arguments);
        return 0;
      });
  command.option("OPERATION", arguments->operation, "One of " + list_of_operations()).required();
  command.option("-n,--nodes", arguments->nodes, "Nodes in the group; of a job that measures: all of them");
  command.option("--hosts", arguments->hosts,
                 "Hosts that the nodes are on, in order and as evenly as can be; default: one, or on wires one each");
  command.option("-b,--bytes", arguments->bytes,
                 "Length of the vector, or of each block where there is one for each node: 8, 64KiB, 1M; default: " +
                     std::to_string(usual_bytes));
  command.option("--link", arguments->link,
                 "What connects the nodes: local (one process), host (processes that share memory) or wire; "
                 "default: local, or with --hosts what they make it");
  command.option("--cores", arguments->cores, "Cores that they share; default: this machine's");
  command.option("--root", arguments->root, "Of a broadcast, reduce, gather or scatter").shows_default();
  command
      .option("--auxiliaries", arguments->auxiliaries,
              "Of an allreduce: idle nodes beside the others, which help where that is cheaper; for predictions")
      .shows_default();
  arguments->roles.add_to(command);
  command.flag("--ordered", arguments->ordered, "The operator does not commute");
  command.flag("--reproducible", arguments->reproducible,
               "Only schedules that combine in the canonical tree: the same bits by each of them");
  command.flag("--measure", arguments->measure,
               "Run each: on local:N, on the fabric of STRETTO_FABRIC, or under stretto run");
  command.option("--seconds", arguments->seconds, "About how long to measure each, three times; default: 0.05")
      .seconds_within(1e-4, 3600);
  command.flag("--json", arguments->as_json, "Print one JSON object, times in seconds");
  command.footer(
      "The first schedule is what a job chooses: where ranks share cores, one that takes a little longer than another, "
      "but\n"
      "with less work, may come before it. Costs are built in, or those of the file that STRETTO_TUNING names\n"
      "(`stretto tune` writes it). A predicted time with ~ comes from following some of the nodes. Sizes are\n"
      "rounded up, as jobs do, to multiples of an eighth of the power of two below. Examples:\n"
      "  stretto explain allreduce --nodes 8 --bytes 1M\n"
      "  stretto explain broadcast --nodes 64 --bytes 64KiB --link wire\n"
      "  stretto explain allreduce --nodes 16 --hosts 4 --bytes 1M\n"
      "  stretto explain general_reduce --nodes 11 --contributors 8 --inner-receivers 2\n"
      "  stretto explain allreduce --nodes 8 --bytes 1MiB --measure\n"
      "  stretto run -n 2 stretto explain allreduce --bytes 1MiB --measure");
}

}  // namespace stretto::cli
