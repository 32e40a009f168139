#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "stretto/schedule/algorithm.h"
#include "stretto/schedule/concurrent.h"
#include "stretto/schedule/cost_table.h"

namespace stretto::schedule {

/// How the ranks of a group reach each other, and how crowded the machines of their job are, as far as it matters for
/// the time of a collective. The same at all of them.
struct Placement {
  Link link = Link::local;  ///< between any two; of shapes whose hosts are known, between ranks of different hosts
  /// Of the job's machine that has the most nodes for its cores, whether the group has some of them or not: how many
  /// nodes there are, and how many cores they share. A group is priced as if so many of its ranks were there, or all if
  /// it has fewer. Hosts that are containers of one machine share its cores.
  Rank ranks_of_machine = 1;
  std::uint32_t cores_of_machine = 1;
  Link inside = Link::host;  ///< of shapes whose hosts are known, between ranks of one host
  /// Whether ranks reach each other's memory where there is no wire between them.
  bool maps = true;
  /// Whether a small message that a rank sends to several others goes to all of them at once, where they share memory
  /// (decision 48): so it does between processes, not in one process.
  bool multicasts = false;
  /// Whether the rank that comes last does small collectives for all, where none ends before all have begun
  /// (decision 49): so it is with nodes of one process.
  bool meets = false;

  friend bool operator==(const Placement&, const Placement&) = default;
};

/// What a collective is expected to cost.
struct Price {
  /// Until the last rank is through: the sum of `call` and the larger one of the next two; of what is done by one rank
  /// for all, the same as each of these, without messages.
  double seconds = 0;
  double path = 0;             ///< along the longest chain of messages, if every rank had a core
  double work = 0;             ///< of a machine's cores, if they never stood idle; 0 where every rank has one
  std::uint64_t messages = 0;  ///< of all ranks; an estimate unless `is_exact`
  bool is_exact = false;       ///< every rank was followed, or one that stands for all

  /// What schedules are compared by: of two that take about as long, the one that leaves the cores to others for longer
  /// is better, and where ranks take turns proves faster, too (decision 16).
  double cost() const noexcept { return seconds + share_of_work * work; }
  static constexpr double share_of_work = 0.35;
};

/// Which ranks are followed.
enum class Follow : std::uint8_t {
  as_it_pays,  ///< one for all where they are alike, all where that takes 30,000 steps or less, otherwise a few
  all,
  few,
};

/// The time of one collective as the executor runs it, from the text of the algorithm alone. A pure function.
///
/// LogGP (see network.h) with the executor's rules; rounds overlap where they may (see Walk). A message of at most
/// most_inline_bytes costs o at either end; one that is like the one before it in the round costs its sender nothing
/// more where both go at once. Larger ones also cost an announcement at either end, and go when their receiver has said
/// that it is ready. In shared memory cores carry the bytes: of what is large the sender copies it, for more if it is
/// what another rank has just written, for less if one of two has combined it for both (decision 70), or the receiver
/// (receivers_read); both copy what is inline; and what a receiver only combines in the first round is read where it
/// lies (in_place.h), which costs the reduction and no copy; where it is lent, a message takes the place of
/// announcements, and one back where no receipt is given (lending_limits.h); what is lent to be copied costs its
/// receiver that. On a wire a large message's bytes cost nobody's time but the link's.
/// Where there is no wire and memory is not reached (Placement::maps), every byte costs its sender's time, and nothing
/// is read where it lies. Large messages that a rank combines from one place come one after another. Over wires, what
/// all send to all takes a tenth longer (decision 50).
///
/// Where ranks outnumber cores, a machine's cores are a bound: all that its ranks do, and a turn for every round in
/// which a rank waits for messages, shared by them. A process that waits is then also without its core for half of a
/// turn of all processes, less what its message takes on a wire.
///
/// Where the shape's hosts are known, messages inside them go by the costs of Placement::inside. The ranks of a host
/// share its wire: what one of them sends or receives over it keeps the others waiting.
///
/// Where few ranks are followed, they are so round by round, each as if the others were as far as itself: what it finds
/// is then the time of schedules whose ranks are equally busy, or of which the root is busiest.
///
/// Takes time and memory in proportion to the rounds and to the steps of those that are followed. Few are at most
/// eleven, and where hosts are known up to 64 more, which share the root's wire: even where a rank has steps for each
/// other one that is in proportion to the group's size, not to its square.
///
/// `bytes` is as for simulate(). Throws Error(invalid_argument) if the algorithm refuses the shape.
Price price(const Algorithm& algorithm, const Shape& shape, std::uint64_t bytes, const Placement& placement,
            const CostTable& table, Follow follow = Follow::as_it_pays);
/// The same with `costs` for all links.
Price price(const Algorithm& algorithm, const Shape& shape, std::uint64_t bytes, const Placement& placement,
            const Costs& costs, Follow follow = Follow::as_it_pays);

/// How long general reduces that begin at once take together over wires by the same rules, until the last node is
/// through with the last one; nothing where that would take more than 30,000 steps to find out. Throws
/// Error(invalid_argument) for any other placement.link: what is read where it lies there is found by the blocks of one
/// vector, and several reduces have none (ReducesTogether).
std::optional<double> seconds_together(std::span<const PlacedReduce> reduces, const Placement& placement,
                                       const CostTable& table);

}  // namespace stretto::schedule
