#pragma once

namespace stretto::program {
class Arguments;
}

namespace stretto::cli {

// Each adds one command of `stretto`, which prints its result to standard output and throws stretto::Error when it
// fails.

/// `info`: what this machine and this build offer, and the settings.
void add_info_command(program::Arguments& stretto);

/// `run`: starts a program as the processes of one job. Also the hidden `serve-ranks`, its far end on other hosts.
void add_run_command(program::Arguments& stretto);

/// `verify`: proves collective algorithms right for the sizes asked for.
void add_verify_command(program::Arguments& stretto);

/// `simulate`: what an algorithm costs on a network, by the LogGP model.
void add_simulate_command(program::Arguments& stretto);

/// `explain`: the schedules for a collective, what they should cost, and what they do.
void add_explain_command(program::Arguments& stretto);

/// `tune`: measures the costs by which schedules are chosen.
void add_tune_command(program::Arguments& stretto);

/// `draw`: a picture of an algorithm's rounds.
void add_draw_command(program::Arguments& stretto);

}  // namespace stretto::cli
