#pragma once

namespace stretto::cli {

/// Everything that the program `stretto` does; returns its exit status: 0 for success, 1 with one line on standard
/// error for a failure, 2 with one for a command line that cannot be understood, or what the command chose.
int run_command_line(int argc, const char* const* argv);

}  // namespace stretto::cli
