#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/cli/commands.h"
#include "stretto/fabric/bootstrap/launcher.h"
#include "stretto/program/arguments.h"

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
  program::refuse(
      "the path \"" + path +
      "\" of stretto on the other hosts has characters that a shell would not leave alone: name another one "
      "by --remote-program");
}

/// Returns the exit status.
int run_job(RunArguments arguments) {
  fabric::LaunchOptions& launch = arguments.launch;
  if (launch.command.empty()) program::refuse("no program to run: give it and its arguments last");
  if (launch.command.front().starts_with('-')) {
    program::refuse(launch.command.front() + " is no option of `stretto run`");
  }
  const auto milliseconds = [](double seconds) {
    return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
  };
  launch.grace = milliseconds(arguments.grace_seconds);
  launch.patience = milliseconds(arguments.patience_seconds);
  if (!arguments.bind_address.empty()) launch.bind_address = arguments.bind_address;
  if (!launch.hosts.empty()) {
    if (arguments.bind_address.empty()) {
      program::refuse("--hosts needs --bind ADDRESS: the address of this machine at which the other hosts reach it");
    }
    if (arguments.remote_program.empty()) {
      arguments.remote_program = std::filesystem::read_symlink("/proc/self/exe").string();
    }
    check_remote_program(arguments.remote_program);
    launch.agent_command = {arguments.remote_program, "serve-ranks"};
  }
  return fabric::launch(launch, fabric::process_environment());
}

void add_serve_ranks_command(program::Arguments& stretto) {
  stretto
      .command("serve-ranks", "The far end of `stretto run --hosts`; not for people",
               [] { return fabric::serve_as_agent(fabric::process_environment()); })
      .hide();
}

}  // namespace

void add_run_command(program::Arguments& stretto) {
  const auto arguments = std::make_shared<RunArguments>();
  program::Arguments& command = stretto.command("run", "Starts a program as the N processes of one job",
                                                [arguments] { return run_job(*arguments); });
  fabric::LaunchOptions& launch = arguments->launch;
  command.footer(
      "Usage: stretto run -n N [OPTIONS] APP [ARGUMENTS]; everything from APP on belongs to the program. Examples:\n"
      "  stretto run -n 4 ./app --size 100\n"
      "  stretto run -n 8 --hosts alpha,beta --bind 10.0.0.1 ./app     ranks 0-3 on alpha, 4-7 on beta, by ssh\n"
      "The exit code is 0 if all ranks exit with 0, else that of the first that failed (128 + signal if one killed "
      "it).\n"
      "Standard input of the ranks is empty. Ctrl-C is passed on; a second one kills.");
  command.option("-n,--ranks", launch.ranks, "Number of processes").required().between(1U, max_nodes);
  command.option("--hosts", launch.hosts, "Hosts to share the ranks, in blocks; default: this one").comma_separated();
  command.option("--agent", launch.agent, "Program that reaches a host, called as AGENT HOST COMMAND...")
      .shows_default();
  command.option("--bind", arguments->bind_address,
                 "Address on which ranks find each other; default: 127.0.0.1, needed with --hosts");
  command.option("--remote-program", arguments->remote_program, "Path of stretto on the other hosts; default: as here");
  command.option("--export", launch.exported, "Variables for remote ranks, besides STRETTO_*").comma_separated();
  command
      .option("--grace", arguments->grace_seconds,
              "Seconds from a rank's failure to SIGTERM for the others, and from there to SIGKILL")
      .shows_default()
      .seconds_within(0, 1e6);
  command
      .option("--patience", arguments->patience_seconds,
              "Seconds after which to say which hosts and ranks have not come, and again after thrice that")
      .shows_default()
      .seconds_within(0.001, 1e6);
  command.flag("--keep-going", launch.keep_going, "Let the other ranks run on when one fails");
  command.flag("--tag", launch.tag, "Put [RANK] before each line of output");
  command.leave_rest(launch.command);
  add_serve_ranks_command(stretto);
}

}  // namespace stretto::cli
