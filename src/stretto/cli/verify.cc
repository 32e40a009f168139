#include "stretto/schedule/verify.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>
#include <iomanip>
#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/base/error.h"
#include "stretto/base/units.h"
#include "stretto/cli/commands.h"
#include "stretto/cli/print_line.h"
#include "stretto/cli/shape_arguments.h"
#include "stretto/program/arguments.h"

namespace stretto::cli {
namespace {

using Json = nlohmann::ordered_json;
using schedule::Algorithm;
using schedule::Hosts;
using schedule::Rank;
using schedule::Shape;

/// Verification follows every step of every node: the all-reduce of a ring of this many takes some 700 MB.
constexpr Rank most_nodes = 1024;
constexpr std::uint32_t most_blocks = 4096;
/// Twice as many steps take four times as long.
constexpr Rank most_nodes_cut_twice = 64;

struct VerifyArguments {
  std::string algorithm;
  std::string nodes = "1-64";
  std::string roots = "first";
  std::string blocks;
  bool as_json = false;
};

/// "1-16,32" as 1, 2, ..., 16, 32.
std::vector<Rank> parse_sizes(std::string_view text) {
  std::vector<Rank> sizes;
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    const std::size_t dash = part.find('-');
    const auto least = static_cast<Rank>(parse_count(part.substr(0, dash), "--nodes", 1, most_nodes));
    const auto most = dash == std::string_view::npos
                          ? least
                          : static_cast<Rank>(parse_count(part.substr(dash + 1), "--nodes", 1, most_nodes));
    if (most < least) {
      throw Error(ErrorCode::bad_input, "--nodes is '" + std::string(part) + "', but a range begins with its least");
    }
    for (Rank size = least; size <= most; ++size) sizes.push_back(size);
    if (comma == std::string_view::npos) return sizes;
    text.remove_prefix(comma + 1);
  }
}

/// What came out for one algorithm; it stops at the first shape for which it is wrong.
struct Outcome {
  const Algorithm* algorithm = nullptr;
  std::uint64_t shapes = 0;
  std::optional<Shape> wrong_shape;
  std::optional<schedule::Violation> violation;
};

/// Who contributes to and who receives of a general_reduce: all choices there are, or a few. Of these, all, half, a
/// third or one contribute, and all, half or none of them receive, so that who only receives may be more than who
/// contributes.
std::vector<Shape> with_roles(const Shape& shape, bool all) {
  if (shape.operation != schedule::Operation::general_reduce) return {shape};
  std::vector<Shape> shapes;
  const std::set<Rank> few{1, (shape.size + 2) / 3, (shape.size + 1) / 2, shape.size};
  for (Rank contributors = 1; contributors <= shape.size; ++contributors) {
    const std::set<Rank> few_inner{0, contributors / 2, contributors};
    for (Rank inner = 0; inner <= contributors; ++inner) {
      if (!all && !(few.contains(contributors) && few_inner.contains(inner))) continue;
      shapes.push_back(shape);
      shapes.back().contributors = contributors;
      shapes.back().inner_receivers = inner;
    }
  }
  return shapes;
}

/// Without auxiliaries and, where the algorithm has a use for them, with one and with as many as make a power of two.
std::vector<Shape> with_auxiliaries(const Algorithm& algorithm, const Shape& shape) {
  std::vector<Shape> shapes{shape};
  if (!algorithm.uses_auxiliaries()) return shapes;
  for (const Rank auxiliaries : std::set<Rank>{1, std::bit_ceil(shape.size) - shape.size}) {
    if (auxiliaries == 0) continue;
    shapes.push_back(shape);
    shapes.back().size += auxiliaries;
    shapes.back().auxiliaries = auxiliaries;
  }
  return shapes;
}

/// With as many blocks as is asked for, or as few as the algorithm works with and, if it can and nodes are few, twice
/// as many.
std::vector<Shape> cuts_of(const Algorithm& algorithm, const Shape& shape, const VerifyArguments& arguments) {
  if (!arguments.blocks.empty()) return {with_blocks(shape, arguments.blocks, most_blocks)};
  std::vector<Shape> shapes{algorithm.with_segments(shape)};
  if (shape.size <= most_nodes_cut_twice && algorithm.blocking(shape).most_segments > 1) {
    shapes.push_back(algorithm.with_segments(shape, 2));
  }
  return shapes;
}

/// Where `size` nodes may be, for algorithms that go by it: in order, four to a host; some more on the first hosts; in
/// turn on three hosts; all on one; each on its own.
std::vector<Hosts> placements(const Algorithm& algorithm, Rank size) {
  if (!algorithm.needs_hosts()) return {Hosts()};
  std::vector<std::uint32_t> uneven;
  for (std::uint32_t host = 0; uneven.size() < size; ++host) uneven.insert(uneven.end(), 5 / (host + 1) + 1, host);
  uneven.resize(size);
  std::vector<std::uint32_t> in_turn;
  for (Rank rank = 0; rank < size; ++rank) in_turn.push_back(rank % 3);
  return {Hosts::even(size, (size + 3) / 4), Hosts(uneven), Hosts(in_turn), Hosts::even(size, 1),
          Hosts::even(size, size)};
}

/// Adds those that come of one whose blocks are free, if nothing is wrong with it.
void add_shapes(const Algorithm& algorithm, const Shape& uncut, const VerifyArguments& arguments,
                std::vector<Shape>& shapes) {
  if (!schedule::defect_of(uncut).empty()) return;
  for (const Shape& helped : with_auxiliaries(algorithm, uncut)) {
    for (const Shape& cut : cuts_of(algorithm, helped, arguments)) shapes.push_back(cut);
  }
}

/// The shapes of `size` nodes that are asked for, whether the algorithm supports them or not.
std::vector<Shape> shapes_of(const Algorithm& algorithm, Rank size, const VerifyArguments& arguments) {
  const bool all = arguments.roots == "all";
  const std::vector<Hosts> everywhere = placements(algorithm, size);
  std::vector<Shape> shapes;
  for (Rank root = 0; root < (all && has_root(algorithm.operation()) ? size : 1); ++root) {
    const Shape any{.operation = algorithm.operation(), .size = size, .root = root};
    for (Shape plain : with_operators(any)) {
      for (const Hosts& hosts : everywhere) {
        plain.hosts = hosts;
        for (const Shape& uncut : with_roles(plain, all)) add_shapes(algorithm, uncut, arguments, shapes);
      }
    }
  }
  return shapes;
}

Outcome verify_all(const Algorithm& algorithm, const std::vector<Rank>& sizes, const VerifyArguments& arguments) {
  Outcome outcome{.algorithm = &algorithm, .wrong_shape = {}, .violation = {}};
  for (const Rank size : sizes) {
    for (const Shape& shape : shapes_of(algorithm, size, arguments)) {
      if (!algorithm.supports(shape)) continue;
      ++outcome.shapes;
      outcome.violation = schedule::verify(algorithm, shape);
      if (!outcome.violation) continue;
      outcome.wrong_shape = shape;
      return outcome;
    }
  }
  // Who asks for one algorithm and nothing that it can do wants to know why.
  if (outcome.shapes == 0 && !arguments.algorithm.empty()) {
    algorithm.require(shapes_of(algorithm, sizes.front(), arguments).front());
  }
  return outcome;
}

/// For people.
const char* verdict_of(const Outcome& outcome) {
  if (outcome.shapes == 0) return "not tried";
  return outcome.violation ? "WRONG" : "right";
}

void print_json(const std::vector<Outcome>& outcomes, bool all_right) {
  Json list = Json::array();
  for (const Outcome& outcome : outcomes) {
    Json entry{{"algorithm", outcome.algorithm->name()},
               {"operation", schedule::name_of(outcome.algorithm->operation())},
               {"source", outcome.algorithm->source()},
               {"shapes", outcome.shapes},
               {"right", outcome.shapes == 0 ? Json() : Json(!outcome.violation)}};
    if (outcome.violation) {
      entry["violation"] = json_of(*outcome.algorithm, *outcome.wrong_shape);
      entry["violation"]["rank"] = outcome.violation->rank;
      if (outcome.violation->step) entry["violation"]["step"] = *outcome.violation->step;
      entry["violation"]["reason"] = outcome.violation->reason;
    }
    list.push_back(std::move(entry));
  }
  print_line({{"right", all_right}, {"algorithms", list}});
}

void print_text(const std::vector<Outcome>& outcomes) {
  for (const Outcome& outcome : outcomes) {
    std::cout << std::left << std::setw(33) << outcome.algorithm->name() << std::setw(15)
              << schedule::name_of(outcome.algorithm->operation()) << std::right << std::setw(6) << outcome.shapes
              << (outcome.shapes == 1 ? " shape   " : " shapes  ") << verdict_of(outcome) << '\n';
    if (outcome.violation)
      std::cout << "  " << describe(*outcome.wrong_shape) << ": " << outcome.violation->text << '\n';
  }
}

/// What came out for each algorithm that is asked for. An Error is about the arguments.
std::vector<Outcome> outcomes_of(const VerifyArguments& arguments) {
  const std::vector<Rank> sizes = parse_sizes(arguments.nodes);
  if (arguments.roots != "all" && arguments.roots != "first") {
    throw Error(ErrorCode::bad_input, "--roots is '" + arguments.roots + "', but must be first or all");
  }
  std::vector<const Algorithm*> chosen(schedule::algorithms().begin(), schedule::algorithms().end());
  if (!arguments.algorithm.empty()) chosen = {&schedule::find_algorithm(arguments.algorithm)};
  std::vector<Outcome> outcomes;
  for (const Algorithm* algorithm : chosen) outcomes.push_back(verify_all(*algorithm, sizes, arguments));
  return outcomes;
}

/// Returns the exit status.
int run_verify(const VerifyArguments& arguments) {
  const std::vector<Outcome> outcomes = program::refusing([&] { return outcomes_of(arguments); });
  const bool all_right =
      std::none_of(outcomes.begin(), outcomes.end(), [](const Outcome& o) { return o.violation.has_value(); });
  if (arguments.as_json) {
    print_json(outcomes, all_right);
  } else {
    print_text(outcomes);
  }
  return all_right ? 0 : program::exit_failed;
}

}  // namespace

void add_verify_command(program::Arguments& stretto) {
  const auto arguments = std::make_shared<VerifyArguments>();
  program::Arguments& command =
      stretto.command("verify", "Prove collective algorithms right", [arguments] { return run_verify(*arguments); });
  command.option("ALGORITHM", arguments->algorithm, "One of those listed below; default: all");
  command.option("-n,--nodes", arguments->nodes, "Group sizes up to " + std::to_string(most_nodes)).shows_default();
  command
      .option("--roots", arguments->roots,
              "Roots, or of a general_reduce contributors and receivers: first (or a few), or all")
      .shows_default();
  command.option("--blocks", arguments->blocks,
                 "Pieces of the vector, up to " + std::to_string(most_blocks) +
                     "; sizes for which an algorithm does not work with so many are left out; default: as few as it "
                     "works with and, of up to " +
                     std::to_string(most_nodes_cut_twice) + " nodes, twice as many");
  command.flag("--json", arguments->as_json, "Print one JSON object");
  command.footer(
      list_of_algorithms() +
      "Runs the programs of all nodes symbolically: every message has its two ends, nothing deadlocks,\n"
      "every receiver ends with every contribution exactly once, in rank order where the operator needs\n"
      "it, whatever the order of delivery. Algorithms that go by hosts are tried with nodes placed on them in\n"
      "several ways, those that auxiliaries help with a few beside the nodes. What fits no shape that is asked for\n"
      "is not tried (in the JSON, \"right\" is null). Exit status 1 if an algorithm is wrong. Examples:\n"
      "  stretto verify\n"
      "  stretto verify binomial_reduce --nodes 1-16 --roots all\n"
      "  stretto verify aspen_general_reduce --nodes 1-16 --roots all\n"
      "  stretto verify ring_allreduce --nodes 2-16 --blocks 32\n"
      "  stretto verify recursive_doubling --nodes 1-64,100,1000 --json");
}

}  // namespace stretto::cli
