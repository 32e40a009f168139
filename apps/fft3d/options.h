#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "stretto/program/command_line.h"

namespace fft3d {

/// Whether the planes that come next are transformed while those before travel.
enum class Overlap : std::uint8_t { on, off };
/// "on", "off".
std::string_view name_of(Overlap overlap);

/// What the command line asks for.
struct Options {
  Options() {}

  std::array<std::size_t, 3> n{64, 64, 64};  ///< NX, NY, NZ
  std::vector<Overlap> overlaps{Overlap::on, Overlap::off};
  std::size_t planes_per_message = 1;
  std::size_t repeat = 10;
  double point_seconds = 10e-9;  ///< what a point costs in one dimension's transform, in virtual time
  bool check = false;            ///< compare with a serial transform
  bool json = false;
};

using stretto::program::Help;

/// Which program is asked: Stretto's, or the rival.
enum class Program : std::uint8_t { stretto, mpi };

/// Throws Error(invalid_argument), one line, when the command line is wrong.
std::variant<Options, Help> parse_options(int argc, const char* const* argv, Program program = Program::stretto);

}  // namespace fft3d
