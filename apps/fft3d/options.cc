#include "fft3d/options.h"

#include "stretto/base/units.h"
#include "stretto/program/arguments.h"

namespace fft3d {
namespace {

using stretto::program::Arguments;
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
    "Exit status: 0 all went well, 1 bad input or another error, 2 bad command line, 3 the results are wrong.\n\n"
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
  Options options;
};

void declare(Arguments& arguments, Raw& raw, Program program) {
  Options& options = raw.options;
  arguments.option("--n", raw.n, "points along x, y and z (default: 64 64 64)").values(3).type_name("NX NY NZ");
  arguments.choice("--overlap", options.overlaps,
                   {{"on", {Overlap::on}}, {"off", {Overlap::off}}, {"both", {Overlap::on, Overlap::off}}},
                   "transform the next planes while others travel (default: both)");
  arguments.option("--planes-per-message", raw.planes_per_message, "planes whose data travel together (default: 1)")
      .type_name("N");
  arguments.option("--repeat", raw.repeat, "times that the forward transform is measured (default: 10)").type_name("N");
  if (program == Program::stretto) {
    arguments
        .option("--point-cost", raw.point_seconds,
                "what a point of one dimension's transform costs in virtual time, on `sim` (default: 10ns)")
        .type_name("TIME");
    arguments.flag("--check", options.check, "compare with FFTW's transform of the whole array, on node 0");
  }
  arguments.flag("--json", options.json, "print one JSON object on the last line of stdout");
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
  return options;
}

}  // namespace

std::string_view name_of(Overlap overlap) { return overlap == Overlap::on ? "on" : "off"; }

std::variant<Options, Help> parse_options(int argc, const char* const* argv, Program program) {
  Arguments arguments(program == Program::stretto ? "fft3d" : "fft3d_mpi", description);
  arguments.footer(program == Program::stretto ? stretto_footer : mpi_footer);
  Raw raw;
  declare(arguments, raw, program);
  if (auto help = arguments.parse(argc, argv)) return *std::move(help);
  return checked(raw);
}

}  // namespace fft3d
