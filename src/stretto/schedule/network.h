#pragma once

#include <span>
#include <string>
#include <string_view>

namespace stretto::schedule {

/// A uniform network in the LogGP model, and the speed of its nodes' reductions.
///
/// Source: Alexandrov, Ionescu, Schauser and Scheiman, "LogGP: incorporating long messages into the LogP model", SPAA
/// 1995. A message of n bytes costs its sender's processor o, arrives o + (n - 1) G + L after the send began, and costs
/// its receiver's o; consecutive messages leave a node, and likewise come to it, at least g + (n - 1) G apart, which
/// does not keep the processor from other work. Where hosts are known that is so of a host; inside it a message's bytes
/// take its sender's processor, and g plays no part.
struct Network {
  std::string name;           ///< "titan"; "custom" if it came from numbers
  double latency = 0;         ///< L, seconds
  double overhead = 0;        ///< o, seconds of a node's time for each message sent and for each received
  double gap = 0;             ///< g, seconds
  double byte_time = 0;       ///< G, seconds a byte after the first
  double reduction_time = 0;  ///< seconds to combine one byte with another
  std::string origin;         ///< where the numbers come from, for people
};

/// The networks that have a name, in a fixed order.
std::span<const Network> networks();

/// A network by name, or from numbers: "L,o,g,G" or "L,o,g,G,R", for example "1.5us,0.5us,0.5us,5GB/s". L, o and g are
/// durations; G is a bandwidth or the duration of a byte ("0.2ns"); so is R, the speed of reductions, which is 10 GB/s
/// if not given. Throws Error(bad_input), naming the part, its value and what it must be.
Network parse_network(std::string_view text);

/// "L 1.5 us, o 500 ns, g 500 ns, G 5 GB/s, reductions 10 GB/s".
std::string describe(const Network& network);

}  // namespace stretto::schedule
