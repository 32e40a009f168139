#pragma once

namespace CLI {
class App;
}

namespace stretto::cli {

// Each adds one subcommand of `stretto`. It runs while the command line is parsed, prints its result to standard
// output, throws stretto::Error when it fails, and throws CLI::RuntimeError(status) to end with a status of its own
// choice.

/// `info`: what this machine and this build offer, and the settings.
void add_info_command(CLI::App& app);

/// `run`: starts a program as the processes of one job. Also the hidden `serve-ranks`, its far end on other hosts.
void add_run_command(CLI::App& app);

/// `verify`: proves collective algorithms right for the sizes asked for.
void add_verify_command(CLI::App& app);

/// `simulate`: what an algorithm costs on a network, by the LogGP model.
void add_simulate_command(CLI::App& app);

/// `explain`: the schedules for a collective, what they should cost, and what they do.
void add_explain_command(CLI::App& app);

/// `tune`: measures the costs by which schedules are chosen.
void add_tune_command(CLI::App& app);

/// `draw`: a picture of an algorithm's rounds.
void add_draw_command(CLI::App& app);

}  // namespace stretto::cli
