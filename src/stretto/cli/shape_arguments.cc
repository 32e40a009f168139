#include "stretto/cli/shape_arguments.h"

#include <nlohmann/json.hpp>

#include <algorithm>

#include "stretto/base/error.h"
#include "stretto/base/units.h"
#include "stretto/program/arguments.h"

namespace stretto::cli {

void RoleArguments::add_to(program::Arguments& command) {
  command.option("--contributors", contributors,
                 "Of a general_reduce: how many nodes, the first ones, contribute; default: all");
  command.option("--inner-receivers", inner_receivers,
                 "Of a general_reduce: how many contributors, the first ones, receive, as do all nodes that do "
                 "not contribute; default: all");
}

void RoleArguments::apply_to(schedule::Shape& shape) const {
  if (shape.operation == schedule::Operation::general_reduce) shape.contributors = shape.inner_receivers = shape.size;
  if (!contributors.empty()) {
    shape.contributors =
        static_cast<schedule::Rank>(parse_count(contributors, "--contributors", 1, schedule::max_size));
    shape.inner_receivers = shape.contributors;
  }
  if (!inner_receivers.empty()) {
    shape.inner_receivers =
        static_cast<schedule::Rank>(parse_count(inner_receivers, "--inner-receivers", 0, schedule::max_size));
  }
}

void ShapeArguments::add_to(program::Arguments& command) {
  command.option("ALGORITHM", algorithm, "One of those listed below").required();
  command.option("-n,--nodes", nodes, "Nodes in the group").required();
  command.option("--hosts", hosts,
                 "Hosts that they are on, in order and as evenly as can be, for algorithms that go by it");
  command.option("--root", root, "The node that a broadcast or scatter starts from, or a reduce or gather ends at")
      .shows_default();
  command.option("--blocks", blocks, "Pieces of the vector; default: as few as the algorithm works with");
  command.flag("--ordered", ordered, "The operator does not commute: keep its terms in rank order");
  roles.add_to(command);
  command.option("--auxiliaries", auxiliaries, "Of an allreduce: idle nodes, beside the others, that may help")
      .shows_default();
}

const schedule::Algorithm& ShapeArguments::chosen() const { return schedule::find_algorithm(algorithm); }

schedule::Shape ShapeArguments::shape(schedule::Rank most_nodes) const {
  schedule::Shape shape{.operation = chosen().operation(),
                        .size = static_cast<schedule::Rank>(parse_count(nodes, "--nodes", 1, most_nodes)),
                        .root = static_cast<schedule::Rank>(parse_count(root, "--root", 0, most_nodes - 1)),
                        .commutative = !ordered};
  roles.apply_to(shape);
  shape.auxiliaries =
      static_cast<schedule::Rank>(parse_count(auxiliaries, "--auxiliaries", 0, most_nodes - shape.size));
  shape.size += shape.auxiliaries;
  if (!hosts.empty()) {
    shape.hosts = parse_hosts(hosts, shape.size);
  } else if (chosen().needs_hosts()) {
    throw Error(ErrorCode::bad_input, algorithm + " goes by the hosts that nodes are on; say how many by --hosts");
  }
  require_sound(shape);
  shape = blocks.empty() ? chosen().with_segments(shape) : with_blocks(shape, blocks);
  chosen().require(shape);
  return shape;
}

schedule::Hosts parse_hosts(std::string_view text, schedule::Rank nodes) {
  return schedule::Hosts::even(nodes, static_cast<schedule::Rank>(parse_count(text, "--hosts", 1, nodes)));
}

schedule::Shape with_blocks(schedule::Shape shape, std::string_view blocks, std::uint32_t most) {
  shape.blocks = static_cast<std::uint32_t>(parse_count(blocks, "--blocks", 1, most));
  return shape;
}

void require_sound(const schedule::Shape& shape) {
  const std::string defect = schedule::defect_of(shape);
  if (!defect.empty()) throw Error(ErrorCode::bad_input, describe(shape) + ": " + defect);
}

nlohmann::ordered_json json_of(const schedule::Algorithm& algorithm, const schedule::Shape& shape) {
  nlohmann::ordered_json object{{"algorithm", algorithm.name()},
                                {"operation", schedule::name_of(shape.operation)},
                                {"source", algorithm.source()},
                                {"nodes", shape.size - shape.auxiliaries},
                                {"hosts", shape.hosts.are_known() ? shape.hosts.count() : 0},
                                {"root", shape.root},
                                {"blocks", shape.blocks},
                                {"commutative", shape.commutative},
                                {"reproducible", shape.reproducible}};
  if (shape.operation == schedule::Operation::general_reduce) {
    object["contributors"] = shape.contributors;
    object["inner_receivers"] = shape.inner_receivers;
  }
  if (shape.auxiliaries != 0) object["auxiliaries"] = shape.auxiliaries;
  return object;
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
