#include "stencil_1d/options.h"

#include "stencil_1d/problem.h"
#include "stretto/base/units.h"
#include "stretto/program/arguments.h"

namespace stencil_1d {
namespace {

using stretto::program::Arguments;
using stretto::program::refuse;

constexpr std::uint64_t most_points = std::uint64_t{1} << 28U;
constexpr std::uint64_t most_iterations = 1'000'000;

constexpr const char* description =
    "Takes the derivative of a known function, one shard of the grid on each node, and adds up all shards' results in\n"
    "every iteration; the sum is needed by the next one. The mini-app of \"Scalable Collectives for Distributed\n"
    "Asynchronous Many-Task Runtimes\" (Legion), section II-D.";

constexpr const char* stretto_footer =
    "Methods:\n"
    "  native     the executor: allreduce()\n"
    "  tasks      the paper's construction: an update and a read task for each round of recursive doubling, ordered "
    "by\n"
    "             phase barriers\n"
    "  aggregate  many-to-one-to-many: a task on node 0 launches the shards' tasks of each iteration and adds up what\n"
    "             they return\n\n"
    "Exit status: 0 all went well, 1 bad input or another error, 2 bad command line, 3 the results are wrong.\n\n"
    "Examples:\n"
    "  STRETTO_FABRIC=local:4 stencil_1d --method tasks\n"
    "  STRETTO_FABRIC=sim:512,latency=1.5us,overhead=0.5us,gap=0.5us,bandwidth=5GB/s,task=1us stencil_1d --json";

constexpr const char* mpi_footer =
    "The rival: MPI_Sendrecv for the ghost zones, MPI_Allreduce for the sum.\n\n"
    "Example:\n"
    "  mpirun -n 4 stencil_1d_mpi --json";

struct Raw {
  std::string points;
  std::string iterations;
  std::string skip;
  std::string point_seconds;
  Options options;
};

void declare(Arguments& arguments, Raw& raw, Program program) {
  Options& options = raw.options;
  if (program == Program::stretto) {
    arguments.choice("--method", options.method,
                     {{"native", Method::native}, {"tasks", Method::tasks}, {"aggregate", Method::aggregate}},
                     "how the shards' results are added up (default: native)");
    arguments
        .option("--point-cost", raw.point_seconds,
                "what a point of an iteration costs in virtual time, on the fabric `sim` (default: 10ns)")
        .type_name("TIME");
  }
  arguments.option("--points", raw.points, "grid points of each shard (default: 1000)").type_name("N");
  arguments.option("--iterations", raw.iterations, "how many (default: 20)").type_name("N");
  arguments.option("--skip", raw.skip, "leave the first N out of the statistics (default: 5)").type_name("N");
  arguments.flag("!--no-verify", options.verify, "do not compare with a serial run, which takes its time on one node");
  arguments.flag("--json", options.json, "print one JSON object on the last line of stdout");
}

Options checked(const Raw& raw) {
  Options options = raw.options;
  stretto::program::refusing([&] {
    if (!raw.points.empty()) options.points = stretto::parse_count(raw.points, "--points", ghost_width, most_points);
    if (!raw.iterations.empty()) {
      options.iterations = stretto::parse_count(raw.iterations, "--iterations", 1, most_iterations);
    }
    if (!raw.skip.empty()) options.skip = stretto::parse_count(raw.skip, "--skip", 0, most_iterations);
    if (!raw.point_seconds.empty()) options.point_seconds = stretto::parse_duration(raw.point_seconds, "--point-cost");
  });
  if (options.skip >= options.iterations) {
    refuse("--skip " + std::to_string(options.skip) + " of --iterations " + std::to_string(options.iterations) +
           " leaves nothing to measure");
  }
  return options;
}

}  // namespace

std::string_view name_of(Method method) {
  switch (method) {
    case Method::native: return "native";
    case Method::tasks: return "tasks";
    case Method::aggregate: break;
  }
  return "aggregate";
}

std::variant<Options, Help> parse_options(int argc, const char* const* argv, Program program) {
  Arguments arguments(program == Program::stretto ? "stencil_1d" : "stencil_1d_mpi", description);
  arguments.footer(program == Program::stretto ? stretto_footer : mpi_footer);
  Raw raw;
  declare(arguments, raw, program);
  if (auto help = arguments.parse(argc, argv)) return *std::move(help);
  return checked(raw);
}

}  // namespace stencil_1d
