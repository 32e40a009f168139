#include "stretto/fabric/spec.h"

#include <array>
#include <functional>
#include <set>
#include <span>
#include <string>

#include "stretto/base/edit_distance.h"
#include "stretto/base/error.h"
#include "stretto/base/units.h"
#include "stretto/fabric/sim/timeline.h"

namespace stretto::fabric {

namespace {

struct Option {
  std::string_view name;
  std::string_view meaning;
  std::function<void(Spec&, std::string_view)> read;
  bool repeats = false;
};

double parse_probability(std::string_view text, std::string_view name) { return parse_number(text, name, 0, 1); }

// "2@1.5ms" (at a virtual time) or "2#17" (when the job's message 17 is sent).
KillFault parse_kill(std::string_view text) {
  const std::size_t mark = text.find_first_of("@#");
  if (mark == std::string_view::npos) {
    throw Error(ErrorCode::bad_input,
                "kill=" + std::string(text) + ": write NODE@TIME or NODE#MESSAGE, such as 2@1.5ms");
  }
  KillFault fault;
  fault.node = static_cast<NodeId>(parse_count(text.substr(0, mark), "kill", 0, max_nodes - 1));
  const std::string_view when = text.substr(mark + 1);
  if (text[mark] == '@') {
    fault.seconds = parse_duration(when, "kill");
  } else {
    fault.message = parse_count(when, "kill");
  }
  return fault;
}

std::string parse_file_name(std::string_view text, std::string_view name) {
  if (!text.empty()) return std::string(text);
  throw Error(ErrorCode::bad_input, std::string(name) + "= names no file; write " + std::string(name) + "=FILE");
}

Reach parse_reach(std::string_view text, std::string_view name) {
  if (text == "on") return Reach::everything;
  if (text == "off") return Reach::messages;
  if (text == "segments") return Reach::segments;
  if (text == "reads") return Reach::reads;
  throw Error(ErrorCode::bad_input, std::string(name) + "=" + std::string(text) + ": write on, off, segments or reads");
}

Reach parse_simulated_reach(std::string_view text, std::string_view name) {
  if (text == "off" || text == "segments" || text == "reads") return parse_reach(text, name);
  throw Error(ErrorCode::bad_input, std::string(name) + "=" + std::string(text) + ": write off, segments or reads");
}

std::span<const Option> local_options() {
  static const std::array<Option, 1> options{{
      {"peer_pointer",
       "on: nodes reach each other's memory directly; off: everything goes as messages; segments: nodes reach only "
       "each other's segments directly, as processes of a host do; reads: the same, and they read all other memory, as "
       "processes do that may",
       [](Spec& spec, std::string_view value) { spec.local.reach = parse_reach(value, "peer_pointer"); }},
  }};
  return options;
}

std::span<const Option> sim_options() {
  static const std::vector<Option> options{
      {"seed", "of everything random (1)", [](Spec& s, std::string_view v) { s.sim.seed = parse_count(v, "seed"); }},
      {"hosts", "how many hosts the nodes are on, in order and as evenly as can be (each node its own)",
       [](Spec& s, std::string_view v) {
         s.sim.hosts = static_cast<std::uint32_t>(parse_count(v, "hosts", 1, max_nodes));
       }},
      {"latency", "L of LogGP: time on the wire (1us)",
       [](Spec& s, std::string_view v) { s.sim.latency = parse_duration(v, "latency"); }},
      {"overhead", "o of LogGP: cpu time of each message, at its sender and at its receiver (0.2us)",
       [](Spec& s, std::string_view v) { s.sim.overhead = parse_duration(v, "overhead"); }},
      {"gap", "g of LogGP: least time between two sends of a node (0)",
       [](Spec& s, std::string_view v) { s.sim.gap = parse_duration(v, "gap"); }},
      {"bandwidth", "1/G of LogGP: bytes a second (10GB/s)",
       [](Spec& s, std::string_view v) { s.sim.seconds_per_byte = 1 / parse_bandwidth(v, "bandwidth"); }},
      {"inside_latency", "L between nodes of one host (0.1us)",
       [](Spec& s, std::string_view v) { s.sim.inside_latency = parse_duration(v, "inside_latency"); }},
      {"inside_overhead", "o between nodes of one host (0.05us)",
       [](Spec& s, std::string_view v) { s.sim.inside_overhead = parse_duration(v, "inside_overhead"); }},
      {"inside_bandwidth", "1/G between nodes of one host (10GB/s)",
       [](Spec& s, std::string_view v) { s.sim.inside_seconds_per_byte = 1 / parse_bandwidth(v, "inside_bandwidth"); }},
      {"jitter", "added to each latency, uniform up to this (0)",
       [](Spec& s, std::string_view v) { s.sim.jitter = parse_duration(v, "jitter"); }},
      {"reorder", "probability that a message is overtaken by later ones (0)",
       [](Spec& s, std::string_view v) { s.sim.reorder = parse_probability(v, "reorder"); }},
      {"delay", "how long a delayed message is late (0)",
       [](Spec& s, std::string_view v) { s.sim.delay = parse_duration(v, "delay"); }},
      {"delay_probability", "probability that a message is delayed (0)",
       [](Spec& s, std::string_view v) { s.sim.delay_probability = parse_probability(v, "delay_probability"); }},
      {"early", "probability that a look for one peer's messages finds one that is still under way (0)",
       [](Spec& s, std::string_view v) { s.sim.early = parse_probability(v, "early"); }},
      {"peer_pointer",
       "segments: nodes reach each other's segments directly, which takes no time, messages do; reads: the same, and "
       "they read all other memory; off: everything goes as messages (off)",
       [](Spec& s, std::string_view v) { s.sim.reach = parse_simulated_reach(v, "peer_pointer"); }},
      {"task", "cost of launching a task (0)",
       [](Spec& s, std::string_view v) { s.sim.task = parse_duration(v, "task"); }},
      {"record", "file that is to hold how long each slice of a task ran, measured; tasks then take that time",
       [](Spec& s, std::string_view v) { s.sim.record = parse_file_name(v, "record"); }},
      {"replay", "file that record has written: tasks take the times in it",
       [](Spec& s, std::string_view v) { s.sim.replay = parse_file_name(v, "replay"); }},
      {"detection", "from a node's death until its peers know (20us)",
       [](Spec& s, std::string_view v) { s.sim.detection = parse_duration(v, "detection"); }},
      {"kill", "NODE@TIME or NODE#MESSAGE: a node that dies; may be repeated",
       [](Spec& s, std::string_view v) { s.sim.kills.push_back(parse_kill(v)); }, true},
  };
  return options;
}

std::span<const Option> table_of(Spec::Kind kind) {
  switch (kind) {
    case Spec::Kind::local: return local_options();
    case Spec::Kind::sim: return sim_options();
    case Spec::Kind::cluster: break;
  }
  return {};
}

void read_options(Spec& spec, std::string_view rest, std::string_view fabric) {
  const std::span<const Option> options = table_of(spec.kind);
  std::vector<std::string_view> names;
  for (const Option& option : options) names.push_back(option.name);
  std::set<std::string_view> seen;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    const std::string_view item = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    const std::size_t equals = item.find('=');
    const std::string_view name = item.substr(0, equals);
    const auto* found = static_cast<const Option*>(nullptr);
    for (const Option& option : options) {
      if (option.name == name) found = &option;
    }
    if (found == nullptr || equals == std::string_view::npos) {
      std::string message = "STRETTO_FABRIC: " + std::string(fabric) + " has no option \"" + std::string(item) + "\"";
      const std::string_view near = nearest_name(name, names);
      message += near.empty() ? "; `stretto info --fabrics` lists what it has"
                              : "; did you mean " + std::string(near) + "=...?";
      throw Error(ErrorCode::bad_input, message);
    }
    if (!found->repeats && !seen.insert(name).second) {
      throw Error(ErrorCode::bad_input, "STRETTO_FABRIC: " + std::string(fabric) + " has two values of " +
                                            std::string(name) + "; which one is meant?");
    }
    found->read(spec, item.substr(equals + 1));
  }
}

std::uint32_t read_nodes(std::string_view& rest) {
  if (rest.empty()) return 1;
  rest.remove_prefix(1);  // the colon
  const std::size_t comma = rest.find(',');
  const auto nodes = static_cast<std::uint32_t>(parse_count(rest.substr(0, comma), "number of nodes", 1, max_nodes));
  rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  return nodes;
}

// Virtual time has 63 bits: what follows from one message must fit behind all that came before.
constexpr double longest_seconds = 1000;
constexpr double least_bandwidth = 10e3;

void check_times(const SimOptions& sim) {
  struct Time {
    const char* name;
    double SimOptions::* seconds;
  };
  for (const auto& [name, seconds] :
       {Time{"latency", &SimOptions::latency}, Time{"overhead", &SimOptions::overhead}, Time{"gap", &SimOptions::gap},
        Time{"jitter", &SimOptions::jitter}, Time{"inside_latency", &SimOptions::inside_latency},
        Time{"inside_overhead", &SimOptions::inside_overhead}, Time{"delay", &SimOptions::delay},
        Time{"task", &SimOptions::task}, Time{"detection", &SimOptions::detection}}) {
    if (sim.*seconds <= longest_seconds) continue;
    throw Error(ErrorCode::bad_input,
                std::string(name) + " is " + format_duration(sim.*seconds) + "; at most 1000s can be simulated");
  }
  for (const auto& [name, seconds] : {Time{"bandwidth", &SimOptions::seconds_per_byte},
                                      Time{"inside_bandwidth", &SimOptions::inside_seconds_per_byte}}) {
    if (sim.*seconds <= 1 / least_bandwidth) continue;
    throw Error(ErrorCode::bad_input, std::string(name) + " is " + format_bandwidth(1 / (sim.*seconds)) +
                                          "; at least 10KB/s can be simulated");
  }
}

// What no option can see alone.
void check(const SimOptions& sim) {
  if (sim.hosts > sim.nodes) {
    throw Error(ErrorCode::bad_input, "hosts=" + std::to_string(sim.hosts) + ", but the job has only " +
                                          std::to_string(sim.nodes) + " nodes; a host has one at least");
  }
  for (const KillFault& fault : sim.kills) {
    if (fault.node >= sim.nodes) {
      throw Error(ErrorCode::bad_input, "kill names node " + std::to_string(fault.node) + " of a job of " +
                                            std::to_string(sim.nodes) + " nodes");
    }
    if (fault.seconds > last_second) {
      throw Error(ErrorCode::bad_input, "kill names a time of " + format_duration(fault.seconds) +
                                            "; virtual time ends after " + format_duration(last_second));
    }
  }
  if (!sim.record.empty() && !sim.replay.empty()) {
    throw Error(ErrorCode::bad_input, "record=" + sim.record + " and replay=" + sim.replay +
                                          " exclude each other: durations are measured or replayed; leave one out");
  }
}

}  // namespace

Spec parse_spec(std::string_view text) {
  Spec spec;
  const std::size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  std::string_view rest = colon == std::string_view::npos ? std::string_view() : text.substr(colon);
  if (kind == "local") {
    spec.local.nodes = read_nodes(rest);
    read_options(spec, rest, kind);
  } else if (kind == "sim") {
    spec.kind = Spec::Kind::sim;
    spec.sim.nodes = read_nodes(rest);
    read_options(spec, rest, kind);
    check_times(spec.sim);
    check(spec.sim);
  } else if (kind == "cluster" && rest.empty()) {
    spec.kind = Spec::Kind::cluster;
  } else {
    throw Error(ErrorCode::bad_input, "STRETTO_FABRIC is \"" + std::string(text) +
                                          "\"; write local:NODES, sim:NODES,OPTION=VALUE,... or cluster");
  }
  return spec;
}

std::vector<OptionInfo> options_of(Spec::Kind kind) {
  std::vector<OptionInfo> infos;
  for (const Option& option : table_of(kind)) infos.push_back({option.name, option.meaning});
  return infos;
}

}  // namespace stretto::fabric
