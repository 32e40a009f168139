#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace stretto::schedule {

/// What lies between the ranks of a group. Where their hosts are not known, the slowest of it stands for all.
enum class Link : std::uint8_t {
  local,  ///< nodes of one process
  host,   ///< processes that map each other's memory
  wire,   ///< anything else: messages are carried by others than the ranks' own cores
};
inline constexpr std::size_t link_count = 3;

std::string_view name_of(Link link) noexcept;
/// Throws Error(bad_input), listing the names.
Link parse_link(std::string_view text, std::string_view name);

/// Larger messages are announced, and go only when their receiver is ready for them (operation.h keeps to it).
inline constexpr std::uint64_t most_inline_bytes = 4096;

/// What the steps of a collective cost on one kind of link, in seconds: LogGP's parameters (see network.h), and what
/// the executor does that LogGP does not know. cost_model.h says how they are put together.
struct Costs {
  double call = 0;            ///< of a collective, whatever its schedule: from the call to its first step, and its end
  double latency = 0;         ///< L
  double overhead = 0;        ///< o: a node's time for each message, at either end
  double announcement = 0;    ///< a node's time for what goes before and after a large message, at either end
  double gap = 0;             ///< g: on a wire
  double byte_time = 0;       ///< G: a byte of a large message; in shared memory a core copies it, on a wire none
  double inline_time = 0;     ///< a byte of a small one, at either end: it is packed and unpacked
  double forwarding = 0;      ///< a byte more to send, in shared memory, where it is what another rank has just written
  double copy_time = 0;       ///< a byte copied within a node
  double reduction_time = 0;  ///< a byte combined with another
  double meeting = 0;         ///< of a collective that one node does for all: each node's, from its call to its end
  double turn = 0;  ///< where ranks outnumber cores: for a rank that waits to give up its core and get it back

  friend bool operator==(const Costs&, const Costs&) = default;
};

/// One number of Costs by its name, for all who read, write or fit them.
struct CostField {
  std::string_view name;
  double Costs::* value;
};
inline constexpr std::array<CostField, 12> cost_fields{{{"call", &Costs::call},
                                                        {"latency", &Costs::latency},
                                                        {"overhead", &Costs::overhead},
                                                        {"announcement", &Costs::announcement},
                                                        {"gap", &Costs::gap},
                                                        {"byte_time", &Costs::byte_time},
                                                        {"inline_time", &Costs::inline_time},
                                                        {"forwarding", &Costs::forwarding},
                                                        {"copy_time", &Costs::copy_time},
                                                        {"reduction_time", &Costs::reduction_time},
                                                        {"meeting", &Costs::meeting},
                                                        {"turn", &Costs::turn}}};

/// No cost is more. A second for a byte or a message is no network; it would only overflow sums.
inline constexpr double most_cost = 1;

/// The nearest costs from 0 to most_cost; for what is no number, 0.
Costs bounded(Costs costs) noexcept;

/// What select() goes by. All nodes of a job must use the same.
struct CostTable {
  std::array<Costs, link_count> links;
  std::array<std::string, link_count> origins;  ///< where the numbers come from, for people

  const Costs& of(Link link) const noexcept { return links[static_cast<std::size_t>(link)]; }
  Costs& of(Link link) noexcept { return links[static_cast<std::size_t>(link)]; }
  std::string& origin(Link link) noexcept { return origins[static_cast<std::size_t>(link)]; }
  const std::string& origin(Link link) const noexcept { return origins[static_cast<std::size_t>(link)]; }
};

/// For jobs that nobody has tuned.
const CostTable& built_in_costs();

/// A table as `stretto tune` writes it: an object with an object of seconds, from 0 to most_cost, by the names of
/// `cost_fields`, for any of "local", "host" and "wire"; links that it does not have are as in `built_in_costs`. Throws
/// Error(bad_input), naming `origin` and the place, for everything else.
CostTable parse_cost_table(std::string_view json, std::string_view origin);
/// What parse_cost_table reads, with a line's end: the links whose costs are not the built-in ones. Costs that it would
/// refuse are written as bounded() has them.
std::string to_json(const CostTable& table);

}  // namespace stretto::schedule
