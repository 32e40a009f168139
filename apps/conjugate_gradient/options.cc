#include "conjugate_gradient/options.h"

#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "stretto/program/arguments.h"

namespace conjugate_gradient {
namespace {

using stretto::program::Arguments;
using stretto::program::refuse;
using stretto::program::refusing;

constexpr const char* description =
    "Solves A x = b for a symmetric positive definite matrix by conjugate gradients with Jacobi's preconditioner,\n"
    "its rows spread over all nodes.";

constexpr const char* footer =
    "The residual that must meet the tolerance, and that is reported, is the true one, b - A x.\n"
    "Exit status: 0 converged, 1 bad input or another error, 2 bad command line, 3 not converged.\n\n"
    "Examples:\n"
    "  conjugate_gradient --poisson 64 64 64 --compare --plot convergence.svg\n"
    "  conjugate_gradient matrix.mtx --rhs b.mtx --solution x.mtx --tolerance 1e-10\n"
    "  stretto run -n 2 conjugate_gradient matrix.mtx --method classic --json";

struct Raw {
  std::string matrix;
  std::vector<std::int64_t> poisson;
  std::optional<std::int64_t> max_iterations;
  Options options{};
};

void declare(Arguments& arguments, Raw& raw) {
  Options& options = raw.options;
  arguments
      .option("matrix", raw.matrix,
              "Matrix Market file: coordinate or array; real, integer or pattern; general or symmetric")
      .type_name("MATRIX");
  arguments.option("--poisson", raw.poisson, "instead of a file: HPCG's 27-point problem on a grid of NX x NY x NZ")
      .values(3)
      .type_name("NX NY NZ");
  arguments.option("--rhs", options.rhs, "right-hand side, a Matrix Market file with one column (default: all ones)")
      .type_name("B.mtx");
  arguments.option("--solution", options.solution, "write x here, as a Matrix Market array").type_name("X.mtx");
  arguments.option("--tolerance", options.solver.tolerance, "largest relative residual |b - A x| / |b|")
      .shows_default();
  arguments.option("--max-iterations", raw.max_iterations, "give up after so many (default: 10 per row, at least 1000)")
      .type_name("N");
  arguments.choice("--method", options.solver.method, {{"classic", Method::classic}, {"pipelined", Method::pipelined}},
                   "classic: two reductions per iteration; pipelined: one, which overlaps the product (default)");
  arguments.option("--history", options.history, "write the relative residual of each iteration here, one per line")
      .type_name("FILE");
  arguments.option("--plot", options.plot, "draw the relative residual of each iteration, an SVG picture")
      .type_name("FILE.svg");
  arguments.flag("--compare", options.compare, "solve by the other method too: both in the table and in the picture");
  arguments.flag("--json", options.json, "print one JSON object on the last line of stdout");
}

Options checked(Raw raw) {
  Options& options = raw.options;
  if (raw.matrix.empty() == raw.poisson.empty()) {
    refuse(raw.matrix.empty() ? "name a matrix file, or ask for --poisson NX NY NZ"
                              : "a matrix file and --poisson exclude each other: give one of them");
  }
  if (!(options.solver.tolerance > 0 && options.solver.tolerance < 1)) {
    refuse("--tolerance must lie between 0 and 1");
  }
  if (raw.max_iterations.value_or(1) < 1) refuse("--max-iterations must be at least 1");
  options.solver.max_iterations = static_cast<std::size_t>(raw.max_iterations.value_or(0));
  if (raw.poisson.empty()) {
    options.matrix = raw.matrix;
    return options;
  }
  for (const std::int64_t side : raw.poisson) {
    if (side < 1) refuse("--poisson: a grid has at least 1 point on each side, not " + std::to_string(side));
  }
  const auto side = [&](std::size_t i) { return static_cast<std::size_t>(raw.poisson[i]); };
  options.matrix = refusing([&] { return PoissonGrid(side(0), side(1), side(2)); });
  return options;
}

}  // namespace

std::variant<Options, Help> parse_options(int argc, const char* const* argv) {
  Arguments arguments("conjugate_gradient", description);
  arguments.footer(footer);
  Raw raw;
  declare(arguments, raw);
  if (auto help = arguments.parse(argc, argv)) return *std::move(help);
  return checked(std::move(raw));
}

}  // namespace conjugate_gradient
