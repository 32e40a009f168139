#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "stretto/program/command_line.h"

namespace statistics {

/// How what the nodes have found comes together, and back to all of them.
enum class Method : std::uint8_t {
  native,     ///< Stretto's all-reduce, with an operator on structs
  aggregate,  ///< many-to-one-to-many, through node 0
};
/// "native", "aggregate".
std::string_view name_of(Method method);

/// Whether the file's first line names the columns.
enum class Header : std::uint8_t {
  automatic,  ///< if it holds text, and no number
  yes,
  no,
};

/// Which columns of which file are read.
struct Source {
  Source() {}

  std::string file;
  std::string columns;  ///< names or numbers from 1, as one line of CSV; empty: all that begin with a number
  Header header = Header::automatic;
};

/// What the command line asks for.
struct Options {
  Options() {}

  Source source;
  std::size_t bins = 10;
  double threshold = 3;  ///< standard deviations
  std::vector<Method> methods{Method::native};
  std::size_t repeat = 10;  ///< times that the collective is measured
  std::string deviations;   ///< the file to write each row's deviations to; empty: none
  bool json = false;
};

using stretto::program::Help;

/// Throws Error(invalid_argument), one line, when the command line is wrong.
std::variant<Options, Help> parse_options(int argc, const char* const* argv);

}  // namespace statistics
