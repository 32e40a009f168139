// Whatever STRETTO_FABRIC says: a fabric that can be, or an Error(bad_input).

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "stretto/base/fuzz.h"
#include "stretto/fabric/sim/timeline.h"
#include "stretto/fabric/spec.h"

namespace {

using namespace stretto;
using namespace stretto::fabric;

constexpr std::array values = {"2",   "0.5",      "900s",  "3us",     "5GB/s", "10KB/s",
                               "off", "segments", "reads", "2@1.5ms", "1#17",  "file"};

// Options of one kind, with values that some of them may have.
std::string text_of(fuzz::Input& input) {
  static constexpr std::array kinds = {Spec::Kind::sim, Spec::Kind::sim, Spec::Kind::local, Spec::Kind::cluster};
  static constexpr std::array beginnings = {"sim:4", "sim:1", "local:8", "cluster"};
  const std::size_t kind = input.below(kinds.size());
  const std::vector<OptionInfo> options = options_of(kinds.at(kind));
  fuzz::Input changes(input.bytes(input.below(8)));
  std::string text = changes.edited(beginnings.at(kind));
  while (!input.empty() && !options.empty()) {
    const OptionInfo& option = options[input.below(options.size())];
    const std::string value = values.at(input.below(values.size()));
    fuzz::Input further_changes(input.bytes(input.below(8)));
    text += ',' + std::string(option.name) + '=' + further_changes.edited(value);
  }
  return text;
}

void require_sound(const SimOptions& sim) {
  fuzz::require(1 <= sim.nodes && sim.nodes <= max_nodes && sim.hosts <= sim.nodes);
  fuzz::require(sim.reach != Reach::everything && (sim.record.empty() || sim.replay.empty()));
  for (const double probability : {sim.reorder, sim.delay_probability, sim.early}) {
    fuzz::require(0 <= probability && probability <= 1);
  }
  for (const double seconds : {sim.latency, sim.overhead, sim.gap, sim.jitter, sim.delay, sim.task, sim.detection,
                               sim.inside_latency, sim.inside_overhead}) {
    fuzz::require(0 <= seconds && seconds <= 1000);
  }
  for (const double seconds : {sim.seconds_per_byte, sim.inside_seconds_per_byte}) {
    fuzz::require(0 < seconds && seconds <= 1e-4);
  }
  for (const KillFault& kill : sim.kills) fuzz::require(kill.node < sim.nodes && kill.seconds <= last_second);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  fuzz::Input input(bytes, size);
  const std::string text = text_of(input);
  fuzz::takes([&] {
    const Spec spec = parse_spec(text);
    fuzz::require(1 <= spec.local.nodes && spec.local.nodes <= max_nodes);
    require_sound(spec.sim);
  });
  return 0;
}
