#include "stretto/schedule/network.h"

#include <array>
#include <vector>

#include "stretto/base/edit_distance.h"
#include "stretto/base/error.h"
#include "stretto/base/units.h"

namespace stretto::schedule {
namespace {

/// One core combining doubles that lie in its caches.
constexpr double usual_reduction_time = 0.1e-9;

const std::array<Network, 5> known_networks = {{
    {.name = "titan",
     .latency = 1.5e-6,
     .overhead = 0.5e-6,
     .gap = 0.5e-6,
     .byte_time = 0.2e-9,
     .reduction_time = usual_reduction_time,
     .origin = "Cray XK7 with Gemini; L and G are usual figures for it, o and g assumed"},
    {.name = "infiniband_hdr",
     .latency = 0.9e-6,
     .overhead = 0.2e-6,
     .gap = 0.1e-6,
     .byte_time = 0.04e-9,
     .reduction_time = usual_reduction_time,
     .origin = "200 Gbit/s and one switch; typical, assumed"},
    {.name = "ethernet_10g",
     .latency = 10e-6,
     .overhead = 2e-6,
     .gap = 2e-6,
     .byte_time = 0.8e-9,
     .reduction_time = usual_reduction_time,
     .origin = "TCP over 10 Gbit/s and one switch; typical, assumed"},
    {.name = "ethernet_1g",
     .latency = 25e-6,
     .overhead = 5e-6,
     .gap = 5e-6,
     .byte_time = 8e-9,
     .reduction_time = usual_reduction_time,
     .origin = "TCP over 1 Gbit/s and one switch; typical, assumed"},
    {.name = "shared_memory",
     .latency = 0.1e-6,
     .overhead = 0.025e-6,
     .gap = 0.025e-6,
     .byte_time = 0.1e-9,
     .reduction_time = usual_reduction_time,
     .origin = "cores of one socket, cache line to cache line; typical, assumed"},
}};

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

double parse_byte_time(std::string_view text, std::string_view name) {
  if (text.ends_with("/s")) return 1 / parse_bandwidth(text, name);
  try {
    return parse_duration(text, name);
  } catch (const Error&) {
    throw Error(ErrorCode::bad_input, std::string(name) + " is '" + std::string(text) +
                                          "', but must be a bandwidth such as 5GB/s, or the duration of a byte such as "
                                          "0.2ns");
  }
}

[[noreturn]] void refuse_name(std::string_view text) {
  std::vector<std::string_view> names;
  std::string list;
  for (const Network& network : known_networks) {
    names.push_back(network.name);
    list += (list.empty() ? "" : ", ") + network.name;
  }
  const std::string_view nearest = nearest_name(text, names);
  throw Error(ErrorCode::bad_input,
              "there is no network called '" + std::string(text) + "'" +
                  (nearest.empty() ? std::string(".") : "; did you mean '" + std::string(nearest) + "'?") +
                  " Known are " + list + "; or give numbers as L,o,g,G such as 1.5us,0.5us,0.5us,5GB/s");
}

}  // namespace

std::span<const Network> networks() { return known_networks; }

Network parse_network(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, ',');
  if (parts.size() == 1) {
    for (const Network& network : known_networks) {
      if (network.name == trimmed(text)) return network;
    }
    refuse_name(trimmed(text));
  }
  if (parts.size() != 4 && parts.size() != 5) {
    throw Error(ErrorCode::bad_input, "network '" + std::string(text) + "' has " + std::to_string(parts.size()) +
                                          " numbers, but must be L,o,g,G or L,o,g,G,R such as "
                                          "1.5us,0.5us,0.5us,5GB/s");
  }
  Network network;
  network.name = "custom";
  network.origin = "given";
  network.latency = parse_duration(trimmed(parts[0]), "L (latency)");
  network.overhead = parse_duration(trimmed(parts[1]), "o (overhead)");
  network.gap = parse_duration(trimmed(parts[2]), "g (gap)");
  network.byte_time = parse_byte_time(trimmed(parts[3]), "G (time of a byte)");
  network.reduction_time =
      parts.size() == 5 ? parse_byte_time(trimmed(parts[4]), "R (reduction)") : usual_reduction_time;
  return network;
}

std::string describe(const Network& network) {
  const auto speed = [](double byte_time) { return byte_time > 0 ? format_bandwidth(1 / byte_time) : "no cost"; };
  return "L " + format_duration(network.latency) + ", o " + format_duration(network.overhead) + ", g " +
         format_duration(network.gap) + ", G " + speed(network.byte_time) + ", reductions " +
         speed(network.reduction_time);
}

}  // namespace stretto::schedule
