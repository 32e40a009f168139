#include "stretto/schedule/simulate.h"

#include <nlohmann/json.hpp>

#include <iostream>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "stretto/base/error.h"
#include "stretto/base/units.h"
#include "stretto/cli/commands.h"
#include "stretto/cli/print_line.h"
#include "stretto/cli/shape_arguments.h"
#include "stretto/program/arguments.h"

namespace stretto::cli {
namespace {

using schedule::Network;
using schedule::Prediction;
using schedule::Shape;

/// Clocks and messages of a group this large take two or three gigabytes.
constexpr schedule::Rank most_nodes = schedule::Rank{1} << 24U;

struct SimulateArguments {
  ShapeArguments shape;
  std::string bytes = "8";
  std::string network = "titan";
  std::string inside;  ///< empty: shared_memory
  bool as_json = false;
};

/// What a prediction is for. Inside the hosts, if these are known, there is another network.
struct Question {
  const schedule::Algorithm& algorithm;
  Shape shape;
  std::uint64_t bytes;
  Network network;
  std::optional<Network> inside;
};

Prediction answer(const Question& question) {
  const auto& [algorithm, shape, bytes, network, inside] = question;
  if (inside) return schedule::simulate(algorithm, shape, bytes, network, *inside);
  return schedule::simulate(algorithm, shape, bytes, network);
}

nlohmann::ordered_json numbers_of(const Network& network) {
  return {{"name", network.name},
          {"origin", network.origin},
          {"latency_seconds", network.latency},
          {"overhead_seconds", network.overhead},
          {"gap_seconds", network.gap},
          {"seconds_per_byte", network.byte_time},
          {"reduction_seconds_per_byte", network.reduction_time}};
}

/// Whether all messages together have more bytes than can be counted: then that count is the least they may have.
bool has_more_than_counted(const Prediction& prediction) {
  return prediction.bytes == std::numeric_limits<std::uint64_t>::max();
}

void print_json(const Question& question, const Prediction& prediction) {
  nlohmann::ordered_json object = json_of(question.algorithm, question.shape);
  object["bytes"] = question.bytes;
  object["network"] = numbers_of(question.network);
  if (question.inside) object["inside"] = numbers_of(*question.inside);
  object["rounds"] = prediction.rounds;
  object["messages"] = prediction.messages;
  object["bytes_sent"] = prediction.bytes;
  object["bytes_sent_is_least"] = has_more_than_counted(prediction);
  object["seconds_min"] = prediction.minimum;
  object["seconds_mean"] = prediction.mean;
  object["seconds_max"] = prediction.maximum;
  object["used_one_clock"] = prediction.used_one_clock;
  print_line(object);
}

std::string describe_bytes(const Prediction& prediction) {
  return (has_more_than_counted(prediction) ? "at least " : "") + format_bytes(prediction.bytes);
}

void print_network(const char* label, const Network& network) {
  std::cout << label << network.name << ": " << describe(network) << "\n             (" << network.origin << ")\n";
}

void print_text(const Question& question, const Prediction& prediction) {
  const Shape& shape = question.shape;
  const bool has_data = shape.operation != schedule::Operation::barrier;
  std::cout << question.algorithm.name() << ": " << describe(shape)
            << (has_data ? ", " + format_bytes(question.bytes) : "")
            << (has_data && !cuts_vector(shape.operation) ? " a block\n" : "\n");
  print_network("  network    ", question.network);
  if (question.inside) print_network("  inside     ", *question.inside);
  std::cout << "  rounds     " << prediction.rounds << "\n"
            << "  messages   " << prediction.messages << ", " << describe_bytes(prediction) << " in all\n"
            << "  last done  " << format_duration(prediction.maximum) << "\n"
            << "  mean       " << format_duration(prediction.mean) << "\n"
            << "  first      " << format_duration(prediction.minimum) << "\n";
}

Question question_of(const SimulateArguments& arguments) {
  Question question{.algorithm = arguments.shape.chosen(),
                    .shape = arguments.shape.shape(most_nodes),
                    .bytes = parse_bytes(arguments.bytes, "--bytes"),
                    .network = schedule::parse_network(arguments.network),
                    .inside = {}};
  if (question.shape.hosts.are_known()) {
    question.inside = schedule::parse_network(arguments.inside.empty() ? "shared_memory" : arguments.inside);
  } else if (!arguments.inside.empty()) {
    throw Error(ErrorCode::bad_input,
                "--inside is '" + arguments.inside + "', a network inside hosts; say how many these are by --hosts");
  }
  return question;
}

/// What is asked, and the answer. An Error is about the arguments.
std::pair<Question, Prediction> answered(const SimulateArguments& arguments) {
  try {
    const Question question = question_of(arguments);
    return {question, answer(question)};
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::out_of_resources, arguments.shape.algorithm + " of " + arguments.shape.nodes +
                                                 " nodes: too many to be held in this memory; ask about fewer");
  }
}

void run_simulate(const SimulateArguments& arguments) {
  const auto [question, prediction] = program::refusing([&] { return answered(arguments); });
  const auto print = arguments.as_json ? print_json : print_text;
  print(question, prediction);
}

std::string list_of_networks() {
  std::string list = "Networks:\n";
  for (const Network& network : schedule::networks()) {
    list += "  " + network.name + ": " + describe(network) + "\n      " + network.origin + '\n';
  }
  return list;
}

}  // namespace

void add_simulate_command(program::Arguments& stretto) {
  const auto arguments = std::make_shared<SimulateArguments>();
  program::Arguments& command =
      stretto.command("simulate", "Predict what a collective costs on a network (LogGP)", [arguments] {
        run_simulate(*arguments);
        return 0;
      });
  arguments->shape.add_to(command);
  command
      .option("-b,--bytes", arguments->bytes,
              "Length of the vector, or of each block where there is one for each node: 8, 64KiB, 1MB")
      .shows_default();
  command.option("--network", arguments->network, "A name from below, or L,o,g,G[,R]").shows_default();
  command.option("--inside", arguments->inside,
                 "The network inside the hosts that --hosts says, default: shared_memory; reductions there go by the R "
                 "of --network, too");
  command.flag("--json", arguments->as_json, "Print one JSON object, times in seconds");
  command.footer(
      list_of_algorithms() + list_of_networks() +
      "--bytes is the length of the vector that a broadcast, reduce, allreduce, scan or exscan works on; of an\n"
      "allgather, gather, scatter, reduce_scatter or all_to_all it is that of each node's block.\n"
      "L is the latency, o a node's time for each message it sends or receives, g the gap between\n"
      "messages, G the bandwidth (or the time of a byte), R the speed of reductions. Examples:\n"
      "  stretto simulate recursive_doubling --nodes 131072 --bytes 8\n"
      "  stretto simulate ring_allgather --nodes 64 --bytes 1MiB --network ethernet_10g\n"
      "  stretto simulate ring_allreduce --nodes 16 --bytes 8MiB --blocks 128\n"
      "  stretto simulate sliced_ring_allreduce --nodes 16 --hosts 4 --bytes 8MiB\n"
      "  stretto simulate aspen_general_reduce --nodes 11 --contributors 8 --inner-receivers 2\n"
      "  stretto simulate binomial_reduce --nodes 1000 --bytes 4KiB --network 2us,0.4us,0.4us,12GB/s --json");
}

}  // namespace stretto::cli
