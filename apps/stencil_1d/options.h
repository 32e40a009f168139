#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <variant>

#include "stretto/program/command_line.h"

namespace stencil_1d {

/// How the results of all shards come together, and back.
enum class Method : std::uint8_t {
  native,     ///< Stretto's executor
  tasks,      ///< the Legion paper's own construction, of tasks and phase barriers
  aggregate,  ///< through a top-level task that launches every shard's work anew
};
/// "native", "tasks", "aggregate".
std::string_view name_of(Method method);

/// What the command line asks for.
struct Options {
  Options() {}

  Method method = Method::native;
  std::size_t points = 1000;  ///< of each shard
  std::size_t iterations = 20;
  std::size_t skip = 5;          ///< first iterations, left out of the statistics
  double point_seconds = 10e-9;  ///< what a point of an iteration costs, in virtual time
  bool verify = true;            ///< compare with a serial run
  bool json = false;
};

using stretto::program::Help;

/// Which program is asked: the one with three methods, or the rival, whose method is MPI's.
enum class Program : std::uint8_t { stretto, mpi };

/// Throws Error(invalid_argument), one line, when the command line is wrong.
std::variant<Options, Help> parse_options(int argc, const char* const* argv, Program program = Program::stretto);

}  // namespace stencil_1d
