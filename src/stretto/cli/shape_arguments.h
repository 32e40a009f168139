#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "stretto/schedule/algorithm.h"

namespace stretto::program {
class Arguments;
}

namespace stretto::cli {

/// The arguments by which commands are told who contributes to a general_reduce, and who receives.
struct RoleArguments {
  std::string contributors;     ///< empty: of a general_reduce all, otherwise 0
  std::string inner_receivers;  ///< empty: of a general_reduce all contributors, otherwise 0

  /// Adds --contributors and --inner-receivers. REQUIRES: this outlives the parsing.
  void add_to(program::Arguments& command);
  /// REQUIRES: the shape has its operation and, without auxiliaries, its size. Throws Error if a number has the wrong
  /// form.
  void apply_to(schedule::Shape& shape) const;
};

/// The arguments by which `simulate` and `draw` are told an algorithm and a shape.
struct ShapeArguments {
  std::string algorithm;
  std::string nodes;
  std::string hosts;  ///< empty: not known
  std::string root = "0";
  std::string blocks;  ///< empty: as few as the algorithm works with
  bool ordered = false;
  RoleArguments roles;
  std::string auxiliaries = "0";

  /// Adds ALGORITHM, --nodes, --hosts, --root, --blocks, --ordered, --auxiliaries and those of roles to `command`.
  /// REQUIRES: this outlives the parsing.
  void add_to(program::Arguments& command);
  /// Throws Error(invalid_argument) if there is no such algorithm.
  const schedule::Algorithm& chosen() const;
  /// Throws Error if a number has the wrong form or is larger than `most_nodes`, or the algorithm refuses the shape.
  schedule::Shape shape(schedule::Rank most_nodes) const;
};

/// `nodes` on as many hosts as the value of --hosts says. Throws Error(bad_input) if it has the wrong form.
schedule::Hosts parse_hosts(std::string_view text, schedule::Rank nodes);

/// `shape` with as many blocks as the value of --blocks says. Throws Error(bad_input) if it has the wrong form, or for
/// more than `most`.
schedule::Shape with_blocks(schedule::Shape shape, std::string_view blocks,
                            std::uint32_t most = std::numeric_limits<std::uint32_t>::max());

/// Throws Error(bad_input) if something is wrong with the shape whatever the algorithm.
void require_sound(const schedule::Shape& shape);

/// "algorithm", "operation", "source", "nodes", "hosts" (0: not known), "root", "blocks", "commutative",
/// "reproducible"; of a general_reduce also "contributors", "inner_receivers"; where there are some, "auxiliaries".
nlohmann::ordered_json json_of(const schedule::Algorithm& algorithm, const schedule::Shape& shape);

/// One line for each algorithm: its name, and what it is.
std::string list_of_algorithms();

}  // namespace stretto::cli
