#pragma once

#include <cstdint>
#include <vector>

#include "stretto/schedule/algorithm.h"
#include "stretto/schedule/schedule.h"

namespace stretto {

/// What the executor may do with less copying than a schedule says, where ranks share memory (decision 15).
///
/// A pass over a schedule, never part of an algorithm. Pure: both ends of a message come to the same conclusion, each
/// from the text of the algorithm.
struct Lowering {
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  /// By step. Of a message: what its receiver does first with it, out of scratch, is to combine it. So it may as well
  /// combine it from where it lies at the sender: the sender *grants* its memory, and nothing is sent. Only in the
  /// first round, and only where the receiver then writes nothing that it sends, or only lends that: so no two ranks
  /// wait for each other's grants.
  std::vector<bool> in_place;
  /// By step. Of such a message, or of one of the first round of an exchange (schedule::is_exchange), whose receiver
  /// copies it: its sender is done with it when it is granted, not when it has been read. Its data are of the input,
  /// which the schedule writes over only where input and output are the same memory; then a copy is granted.
  std::vector<bool> lent;
  /// By step. Of such a receive: the reduce that takes it from there. Of a reduce: the receives that its source and
  /// what it adds that to come by, if they are such.
  std::vector<std::uint32_t> reader;
  std::vector<std::uint32_t> source_from;
  std::vector<std::uint32_t> base_from;
  /// By step. Of a reduce: the copy that made its destination, which only this reduce reads: the two are one
  /// combination into a third place. Of such a copy: the reduce.
  std::vector<std::uint32_t> copy_before;
  /// By step. Of a send: the last reduce into just what it sends, which it may follow piece by piece.
  std::vector<std::uint32_t> follows;
  /// A receive whose sender combines what this rank grants it by another step before it sends the result. So the
  /// sender may be told at once where to put it, although input and output may be the same memory.
  struct Answer {
    std::uint32_t receive;
    std::uint32_t granted;
  };
  std::vector<Answer> answers;
};

/// REQUIRES: `schedule` is `algorithm`'s.
Lowering lower(const schedule::Algorithm& algorithm, const schedule::Schedule& schedule);

}  // namespace stretto
