#include "stretto/program/command_line.h"

namespace stretto::program {

Refusal::Refusal(std::string_view reason)
    : Error(ErrorCode::invalid_argument, std::string(reason) + " (--help explains the options)") {}

void refuse(std::string_view reason) { throw Refusal(reason); }

int status_of(const std::exception& problem) {
  return dynamic_cast<const Refusal*>(&problem) == nullptr ? exit_failed : exit_refused;
}

}  // namespace stretto::program
