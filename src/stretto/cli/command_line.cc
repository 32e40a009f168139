#include "stretto/cli/command_line.h"

#include <exception>
#include <iostream>

#include "stretto/base/error.h"
#include "stretto/cli/commands.h"
#include "stretto/program/arguments.h"

namespace stretto::cli {
namespace {

constexpr const char* footer =
    "`stretto COMMAND --help` explains a command. Settings come from environment variables; "
    "`stretto info --settings` lists them.";

}  // namespace

int run_command_line(int argc, const char* const* argv) {
  program::Arguments arguments("stretto", "Stretto: an asynchronous many-task runtime with first-class collectives.");
  arguments.version("stretto " STRETTO_VERSION);
  arguments.footer(footer);
  add_run_command(arguments);
  add_info_command(arguments);
  add_verify_command(arguments);
  add_simulate_command(arguments);
  add_tune_command(arguments);
  add_explain_command(arguments);
  add_draw_command(arguments);

  try {
    int status = 0;
    if (const auto help = arguments.parse(argc, argv)) {
      std::cout << help->text;
    } else {
      status = arguments.run_command();
    }
    return program::printed("stretto", status);
  } catch (const Error& error) {
    std::cerr << "stretto: " << error.message() << '\n';
    return program::status_of(error);
  } catch (const std::exception& error) {
    std::cerr << "stretto: internal error: " << error.what() << '\n';
  }
  return program::exit_failed;
}

}  // namespace stretto::cli
