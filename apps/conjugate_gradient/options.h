#pragma once

#include <string>
#include <variant>

#include "conjugate_gradient/poisson.h"
#include "conjugate_gradient/solver.h"
#include "stretto/program/command_line.h"

namespace conjugate_gradient {

/// What the command line asks for.
struct Options {
  std::variant<std::string, PoissonGrid> matrix;  ///< a Matrix Market file, or the model problem
  std::string rhs;                                ///< empty: all ones
  std::string solution;                           ///< empty: not written
  std::string history;                            ///< empty: not written
  std::string plot;                               ///< empty: not drawn
  SolverOptions solver;
  bool compare = false;  ///< solve by the other method, too
  bool json = false;
};

using stretto::program::Help;

/// Throws Error(invalid_argument), one line, when the command line is wrong.
std::variant<Options, Help> parse_options(int argc, const char* const* argv);

}  // namespace conjugate_gradient
