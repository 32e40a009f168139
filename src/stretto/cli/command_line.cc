#include "stretto/cli/command_line.h"

#include <CLI/CLI.hpp>

#include <exception>
#include <iostream>

#include "stretto/base/error.h"
#include "stretto/cli/commands.h"

namespace stretto::cli {
namespace {

constexpr int failure = 1;
constexpr int usage_error = 2;

constexpr const char* footer =
    "`stretto COMMAND --help` explains a command. Settings come from environment variables; "
    "`stretto info --settings` lists them.";

int report(const CLI::ParseError& error, const CLI::App& app) {
  const bool asked_for_help = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success);
  const bool chose_its_status = dynamic_cast<const CLI::RuntimeError*>(&error) != nullptr;
  if (asked_for_help || chose_its_status) return app.exit(error);
  std::cerr << "stretto: " << error.what() << "; see --help\n";
  return usage_error;
}

}  // namespace

int run_command_line(int argc, const char* const* argv) {
  CLI::App app("Stretto: an asynchronous many-task runtime with first-class collectives.", "stretto");
  app.set_version_flag("--version", "stretto " STRETTO_VERSION);
  app.require_subcommand(1);
  app.footer(footer);
  add_run_command(app);
  add_info_command(app);
  add_verify_command(app);
  add_simulate_command(app);
  add_tune_command(app);
  add_explain_command(app);
  add_draw_command(app);

  try {
    app.parse(argc, argv);
    std::cout.flush();
    if (std::cout) return 0;
    std::cerr << "stretto: the output could not be written\n";
  } catch (const CLI::ParseError& error) {
    return report(error, app);
  } catch (const Error& error) {
    std::cerr << "stretto: " << error.message() << '\n';
  } catch (const std::exception& error) {
    std::cerr << "stretto: internal error: " << error.what() << '\n';
  }
  return failure;
}

}  // namespace stretto::cli
