// Transforms a three-dimensional array by Fourier on all nodes of the job.

#include "fft3d/experiment.h"
#include "fft3d/options.h"
#include "fft3d/report.h"
#include "stretto/program/experiment.h"

int main(int argc, char** argv) {
  fft3d::Options options;
  const auto parse = [&] { return fft3d::parse_options(argc, argv); };
  if (const auto status = stretto::program::read_options("fft3d", parse, options)) return *status;
  return stretto::program::run_program("fft3d", argc, argv, options);
}
