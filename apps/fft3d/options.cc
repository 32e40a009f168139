#include "fft3d/options.h"

#include <CLI/CLI.hpp>

#include "stretto/base/units.h"

namespace fft3d {
namespace {

using stretto::program::refuse;

constexpr std::uint64_t most_side = 65'536;
constexpr std::uint64_t most_points = std::uint64_t{1} << 31U;
constexpr std::uint64_t most_repeats = 1'000'000;

constexpr const char* description =
    "Transforms a three-dimensional complex array by Fourier, forward and back, spread over all nodes in slabs of "
    "planes\n"
    "of constant x: each plane in two dimensions, then an all-to-all, then along x. With overlap, a plane's "
    "all-to-all\n"
    "starts when the plane is transformed, and the next planes are transformed meanwhile (the Aspen paper, section "
    "3.3).";

constexpr const char* stretto_footer =
    "Any number of nodes, also one that does not divide the sides. Within a node FFTW transforms.\n"
    "Exit status: 0 all went well, 1 bad input or another error, 2 the results are wrong.\n\n"
    "Examples:\n"
    "  STRETTO_FABRIC=local:4 fft3d --n 64 64 64 --check\n"
    "  stretto run -n 2 fft3d --n 128 128 64 --planes-per-message 4 --json\n"
    "  STRETTO_FABRIC=sim:32,latency=1.5us,overhead=0.5us,bandwidth=5GB/s fft3d --n 128 128 128";

constexpr const char* mpi_footer =
    "The rival: MPI_Ialltoallv, tested for between planes, with overlap; MPI_Alltoallv without.\n\n"
    "Example:\n"
    "  mpirun -n 4 fft3d_mpi --n 64 64 64 --json";

struct Raw {
  std::vector<std::string> n;
  std::string planes_per_message;
  std::string repeat;
  std::string point_seconds;
  std::string overlap = "both";
  Options options;
};

void declare(CLI::App& app, Raw& raw, Program program) {
  Options& options = raw.options;
  app.add_option("--n", raw.n, "points along x, y and z (default: 64 64 64)")->expected(3)->type_name("NX NY NZ");
  app.add_option("--overlap", raw.overlap, "transform the next planes while others travel (default: both)")
      ->check(CLI::IsMember({"on", "off", "both"}).description(""))
      ->type_name("on|off|both");
  app.add_option("--planes-per-message", raw.planes_per_message, "planes whose data travel together (default: 1)")
      ->type_name("N");
  app.add_option("--repeat", raw.repeat, "times that the forward transform is measured (default: 10)")->type_name("N");
  if (program == Program::stretto) {
    app.add_option("--point-cost", raw.point_seconds,
                   "what a point of one dimension's transform costs in virtual time, on `sim` (default: 10ns)")
        ->type_name("TIME");
    app.add_flag("--check", options.check, "compare with FFTW's transform of the whole array, on node 0");
  }
  app.add_flag("--json", options.json, "print one JSON object on the last line of stdout");
}

Options checked(const Raw& raw) {
  Options options = raw.options;
  stretto::program::refusing([&] {
    for (std::size_t i = 0; i < raw.n.size(); ++i) options.n[i] = stretto::parse_count(raw.n[i], "--n", 1, most_side);
    if (!raw.planes_per_message.empty()) {
      options.planes_per_message = stretto::parse_count(raw.planes_per_message, "--planes-per-message", 1, most_side);
    }
    if (!raw.repeat.empty()) options.repeat = stretto::parse_count(raw.repeat, "--repeat", 1, most_repeats);
    if (!raw.point_seconds.empty()) options.point_seconds = stretto::parse_duration(raw.point_seconds, "--point-cost");
  });
  if (options.n[0] * options.n[1] * options.n[2] > most_points) refuse("--n: more than 2^31 points");
  if (raw.overlap == "on") options.overlaps = {Overlap::on};
  if (raw.overlap == "off") options.overlaps = {Overlap::off};
  return options;
}

}  // namespace

std::string_view name_of(Overlap overlap) { return overlap == Overlap::on ? "on" : "off"; }

std::variant<Options, Help> parse_options(int argc, const char* const* argv, Program program) {
  CLI::App app(description, program == Program::stretto ? "fft3d" : "fft3d_mpi");
  app.footer(program == Program::stretto ? stretto_footer : mpi_footer);
  Raw raw;
  declare(app, raw, program);
  if (auto help = stretto::program::parse(app, argc, argv)) return *std::move(help);
  return checked(raw);
}

}  // namespace fft3d
