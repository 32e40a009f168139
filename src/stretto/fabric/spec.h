#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "stretto/fabric/local/local_fabric.h"
#include "stretto/fabric/sim/sim_options.h"

namespace stretto::fabric {

/// Which fabric a program is to run on, as STRETTO_FABRIC says it.
struct Spec {
  enum class Kind : std::uint8_t { local, sim, cluster };
  Kind kind = Kind::local;
  LocalOptions local;
  SimOptions sim;
};

/// Reads `local:8`, `local:8,peer_pointer=off`, `sim:512,latency=1.5us,bandwidth=5GB/s,seed=7,...` or `cluster`. What
/// `sim` takes is in sim_options_help().
/// Throws Error(bad_input) for what it does not understand, naming the nearest option.
Spec parse_spec(std::string_view text);

/// The options of `sim`, a line each, for help and error texts.
std::string sim_options_help();

}  // namespace stretto::fabric
