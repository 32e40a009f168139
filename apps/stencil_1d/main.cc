#include "stencil_1d/experiment.h"
#include "stencil_1d/options.h"
#include "stencil_1d/report.h"
#include "stretto/program/experiment.h"

int main(int argc, char** argv) {
  stencil_1d::Options options;
  const auto parse = [&] { return stencil_1d::parse_options(argc, argv); };
  if (const auto status = stretto::program::read_options("stencil_1d", parse, options)) return *status;
  return stretto::program::run_program("stencil_1d", argc, argv, options);
}
