#pragma once

#include <cstdint>

#include "stretto/schedule/algorithm.h"
#include "stretto/schedule/network.h"

namespace stretto::schedule {

/// What a collective costs on a network, as the LogGP model has it. Where nobody receives anything, as in an exscan of
/// one rank, all times are 0.
struct Prediction {
  double minimum = 0;           ///< seconds until the first receiver has its result
  double mean = 0;              ///< seconds, over receivers
  double maximum = 0;           ///< seconds until the last receiver has its result
  std::uint32_t rounds = 0;     ///< of the algorithm
  std::uint64_t messages = 0;   ///< of all ranks
  std::uint64_t bytes = 0;      ///< in all messages together; 2^64 - 1 if these are more
  bool used_one_clock = false;  ///< one rank was followed for all, by the algorithm's symmetry
};

enum class Clocks : std::uint8_t {
  fewest,         ///< one, where the algorithm is symmetric under rotation and all blocks are equally long
  one_each_rank,  ///< always follow every rank
};

/// Walks the algorithm's rounds with one clock a rank; all ranks begin at time 0.
///
/// A rank sends as soon as what it sends may go (Algorithm::lead), handles messages as they come, and combines them in
/// program order; the fabric `sim` does the same (decision 51). Local copies are taken to be free; a reduction costs
/// Network::reduction_time a byte. `bytes` is the length of the vector where one is cut, otherwise of each rank's
/// block. Takes time in proportion to all ranks' steps, but for sorting a round's messages where they come in another
/// order, and memory to the ranks, times the rounds that Algorithm::lead looks back, and to the messages of one round.
/// Throws Error(invalid_argument) if the algorithm refuses the shape, or a round has more than 2^25 messages.
Prediction simulate(const Algorithm& algorithm, const Shape& shape, std::uint64_t bytes, const Network& network,
                    Clocks clocks = Clocks::fewest);
/// The same with a clock for each rank of a shape whose hosts are known: `between` connects these, one link for all
/// ranks of a host, `inside` the ranks of each. How fast ranks combine is not up to a link: `between` says it for all
/// reductions, and what `inside` says of them is not used.
Prediction simulate(const Algorithm& algorithm, const Shape& shape, std::uint64_t bytes, const Network& between,
                    const Network& inside);

}  // namespace stretto::schedule
