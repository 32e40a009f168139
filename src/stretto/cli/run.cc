#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/base/error.h"
#include "stretto/cli/commands.h"
#include "stretto/fabric/bootstrap/launcher.h"
#include "stretto/program/command_line.h"

namespace stretto::cli {
namespace {

struct RunArguments {
  fabric::LaunchOptions launch;
  std::string bind_address;
  std::string remote_program;
  double grace_seconds = 5;
  double patience_seconds = 15;
};

/// Agents such as ssh hand the command to a shell on the other host, which would take it apart.
void check_remote_program(const std::string& path) {
  const auto harmless = [](char c) {
    const auto within = [c](char first, char last) { return c >= first && c <= last; };
    return within('a', 'z') || within('A', 'Z') || within('0', '9') || std::string_view("/._+-").find(c) < 5;
  };
  if (!path.empty() && std::ranges::all_of(path, harmless)) return;
  throw Error(ErrorCode::invalid_argument, "the path \"" + path +
                                               "\" of stretto on the other hosts has characters that "
                                               "a shell would not leave alone: name another one by --remote-program");
}

void run_job(RunArguments arguments, std::vector<std::string> command) {
  if (!command.empty() && command.front().starts_with('-')) {
    throw Error(ErrorCode::invalid_argument,
                command.front() + " is no option of `stretto run`, whose --help lists them");
  }
  fabric::LaunchOptions& launch = arguments.launch;
  launch.command = std::move(command);
  const auto milliseconds = [](double seconds) {
    return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
  };
  launch.grace = milliseconds(arguments.grace_seconds);
  launch.patience = milliseconds(arguments.patience_seconds);
  if (!arguments.bind_address.empty()) launch.bind_address = arguments.bind_address;
  if (!launch.hosts.empty()) {
    if (arguments.bind_address.empty()) {
      throw Error(ErrorCode::invalid_argument,
                  "--hosts needs --bind ADDRESS: the address of this machine at which the "
                  "other hosts reach it");
    }
    if (arguments.remote_program.empty()) {
      arguments.remote_program = std::filesystem::read_symlink("/proc/self/exe").string();
    }
    check_remote_program(arguments.remote_program);
    launch.agent_command = {arguments.remote_program, "serve-ranks"};
  }
  const int code = fabric::launch(launch, fabric::process_environment());
  if (code != 0) throw CLI::RuntimeError(code);
}

void add_serve_ranks_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("serve-ranks", "The far end of `stretto run --hosts`; not for people");
  command->group("");  // not in --help
  command->callback([] {
    const int code = fabric::serve_as_agent(fabric::process_environment());
    if (code != 0) throw CLI::RuntimeError(code);
  });
}

}  // namespace

void add_run_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("run", "Starts a program as the N processes of one job");
  const auto arguments = std::make_shared<RunArguments>();
  fabric::LaunchOptions& launch = arguments->launch;
  command->footer(
      "Usage: stretto run -n N [OPTIONS] APP [ARGUMENTS]; everything from APP on belongs to the program. Examples:\n"
      "  stretto run -n 4 ./app --size 100\n"
      "  stretto run -n 8 --hosts alpha,beta --bind 10.0.0.1 ./app     ranks 0-3 on alpha, 4-7 on beta, by ssh\n"
      "The exit code is 0 if all ranks exit with 0, else that of the first that failed (128 + signal if one killed "
      "it).\n"
      "Standard input of the ranks is empty. Ctrl-C is passed on; a second one kills.");
  command->add_option("-n,--ranks", launch.ranks, "Number of processes")->required()->check(CLI::Range(1U, max_nodes));
  command->add_option("--hosts", launch.hosts, "Hosts to share the ranks, in blocks; default: this one")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_option("--agent", launch.agent, "Program that reaches a host, called as AGENT HOST COMMAND...")
      ->capture_default_str();
  command->add_option("--bind", arguments->bind_address,
                      "Address on which ranks find each other; default: 127.0.0.1, needed with --hosts");
  command->add_option("--remote-program", arguments->remote_program,
                      "Path of stretto on the other hosts; default: as here");
  command->add_option("--export", launch.exported, "Variables for remote ranks, besides STRETTO_*")
      ->delimiter(',')
      ->allow_extra_args(false);
  command
      ->add_option("--grace", arguments->grace_seconds,
                   "Seconds from a rank's failure to SIGTERM for the others, and from there to SIGKILL")
      ->capture_default_str()
      ->check(program::seconds_within(0, 1e6));
  command
      ->add_option("--patience", arguments->patience_seconds,
                   "Seconds after which to say which hosts and ranks have not come, and again after thrice that")
      ->capture_default_str()
      ->check(program::seconds_within(0.001, 1e6));
  command->add_flag("--keep-going", launch.keep_going, "Let the other ranks run on when one fails");
  command->add_flag("--tag", launch.tag, "Put [RANK] before each line of output");
  command->prefix_command();
  command->callback([command, arguments] { run_job(*arguments, command->remaining()); });
  add_serve_ranks_command(app);
}

}  // namespace stretto::cli
