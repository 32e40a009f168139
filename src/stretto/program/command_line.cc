#include "stretto/program/command_line.h"

#include <iostream>

namespace stretto::program {

Refusal::Refusal(std::string_view reason)
    : Error(ErrorCode::invalid_argument, std::string(reason) + " (--help explains the options)") {}

void refuse(std::string_view reason) { throw Refusal(reason); }

int status_of(const std::exception& problem) {
  return dynamic_cast<const Refusal*>(&problem) == nullptr ? exit_failed : exit_refused;
}

int printed(const char* program, int status) {
  const bool is_whole = std::cout.flush() && std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (is_whole) return status;
  std::fprintf(stderr, "%s: the output could not be written\n", program);
  return status == 0 ? exit_failed : status;
}

}  // namespace stretto::program
