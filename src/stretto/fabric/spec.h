#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

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

/// Reads `local:8`, `local:8,peer_pointer=off`, `sim:512,latency=1.5us,bandwidth=5GB/s,seed=7,...` or `cluster`.
/// Throws Error(bad_input) for what it does not understand, naming the nearest option.
Spec parse_spec(std::string_view text);

/// An option of a fabric: `name=value`.
struct OptionInfo {
  std::string_view name;
  std::string_view meaning;  ///< with the default, in brackets, where there is one
};

/// The options of a kind of fabric, for help; `cluster` has none.
std::vector<OptionInfo> options_of(Spec::Kind kind);

}  // namespace stretto::fabric
