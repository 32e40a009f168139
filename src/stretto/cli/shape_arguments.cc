#include "stretto/cli/shape_arguments.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "stretto/base/units.h"

namespace stretto::cli {

void ShapeArguments::add_to(CLI::App& command) {
  command.add_option("ALGORITHM", algorithm, "One of those listed below")->required();
  command.add_option("-n,--nodes", nodes, "Nodes in the group")->required();
  command.add_option("--root", root, "The node that a broadcast starts from or a reduce ends at")
      ->capture_default_str();
  command.add_flag("--ordered", ordered, "The operator does not commute: keep its terms in rank order");
}

const schedule::Algorithm& ShapeArguments::chosen() const { return schedule::find_algorithm(algorithm); }

schedule::Shape ShapeArguments::shape(schedule::Rank most_nodes) const {
  const schedule::Shape shape{.operation = chosen().operation(),
                              .size = static_cast<schedule::Rank>(parse_count(nodes, "--nodes", 1, most_nodes)),
                              .root = static_cast<schedule::Rank>(parse_count(root, "--root", 0, most_nodes - 1)),
                              .commutative = !ordered};
  chosen().require(shape);
  return shape;
}

nlohmann::ordered_json json_of(const schedule::Algorithm& algorithm, const schedule::Shape& shape) {
  return {{"algorithm", algorithm.name()},
          {"operation", schedule::name_of(shape.operation)},
          {"source", algorithm.source()},
          {"nodes", shape.size},
          {"root", shape.root},
          {"commutative", shape.commutative}};
}

std::string list_of_algorithms() {
  std::size_t width = 0;
  for (const schedule::Algorithm* algorithm : schedule::algorithms()) width = std::max(width, algorithm->name().size());
  std::string list = "Algorithms:\n";
  for (const schedule::Algorithm* algorithm : schedule::algorithms()) {
    const std::string name(algorithm->name());
    list += "  " + name + std::string(width + 2 - name.size(), ' ') +
            std::string(schedule::name_of(algorithm->operation())) + '\n';
  }
  return list;
}

}  // namespace stretto::cli
