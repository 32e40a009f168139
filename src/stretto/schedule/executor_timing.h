#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/schedule/algorithm.h"
#include "stretto/schedule/clocks.h"
#include "stretto/schedule/cost_model.h"
#include "stretto/schedule/mail.h"
#include "stretto/schedule/readers.h"
#include "stretto/schedule/receivers_read.h"

namespace stretto::schedule {

/// Steps, of all ranks, that are walked for an exact price; and that are looked at to tell ranks of hosts apart.
inline constexpr std::uint64_t most_steps_walked = 30'000;

/// Of the group's ranks on the fullest machine.
Rank ranks_of_machine(const Shape& shape, const Placement& placement);
/// Whether these are more than its cores.
bool is_crowded(const Shape& shape, const Placement& placement);

/// What messages cost between hosts, or anywhere, and inside a host.
struct LinkCosts {
  const Costs& between;
  const Costs& inside;
};

/// The executor's rules (see cost_model.h), as Walk asks for them; and for those who follow few ranks by themselves.
class ExecutorTiming {
 public:
  /// `all`: every rank is followed; otherwise few, or one that stands for all.
  ExecutorTiming(const Algorithm& algorithm, const Shape& shape, const Placement& placement, const LinkCosts& costs,
                 bool all);

  /// How many ranks each further step stands for, in sums.
  void weigh(double weight) { weight_ = weight; }

  void begin_round(std::uint32_t round, const History& history) {
    round_ = round;
    history_ = &history;
  }
  /// What connects hosts is free, for those who follow few and count rounds by themselves.
  void free_wires(double time) { wires_.all_free_at(time); }
  /// When a rank's wire is, at the latest.
  double wire_free_at(Rank rank, const Clock& clock);
  /// Which rank's clock the next calls are about, for those who follow few.
  void speak_of(Rank me) { me_ = me; }
  void begin_rank(Rank me, std::span<const Step> steps);
  /// Where there is no room for everything at once, what is large comes when it is asked for.
  bool takes_in_turn() const { return takes_in_turn_[me_]; }

  double send(Clock& clock, const Step& step, std::uint64_t bytes);
  double land(Clock& of_receiver, const Message& message);
  void await(Clock& clock, const Step& step, std::uint64_t bytes);
  void receive(Clock& clock, const Step& step, std::uint64_t bytes, double landed);
  void reduce(Clock& clock, std::size_t step, std::uint64_t bytes);
  void copy(Clock& clock, std::size_t step, std::uint64_t bytes);

  /// Of cores, by all ranks that were followed.
  double busy() const { return busy_; }
  double turns() const { return turns_; }

 private:
  void work(Clock& clock, double seconds) {
    clock.work(seconds);
    busy_ += weight_ * seconds;
  }

  /// What a message goes by.
  struct Path {
    const Costs& costs;
    bool is_wire;
    bool shares_memory;
    bool leaves_the_host;
  };
  const Path& path_between(Rank a, Rank b) const { return wires_.are_inside(a, b) ? inside_ : between_; }
  const Path& path_to(Rank peer) const { return path_between(me_, peer); }
  /// Small messages that are alike, one after the other.
  struct Row {
    BlockRef source;
    const Path* path = nullptr;  ///< null: there is none
    double arrival = 0;
  };
  bool goes_along(const Step& send, const Path& path) const;
  void end_row() { row_.path = nullptr; }
  /// Who is not followed, but only met, has a clock for this one message.
  Clock& wire_of(Rank rank, const Path& path, Clock& clock) {
    return weight_ > 0 && path.leaves_the_host ? wires_.of(rank) : clock;
  }

  /// What is large is asked for.
  void ask(Clock& clock, const Path& path, std::uint64_t bytes);
  /// Whether it is asked for when there is room for it.
  bool comes_in_turn(Rank receiver, const Path& path, std::uint64_t bytes);
  /// When all of a message is there that begins to come in, one after another. Where there is no wire, its sender's
  /// time has brought it.
  static double come_in(Clock& wire, const Path& path, std::uint64_t bytes, double now, double delay = 1);
  /// Whether there are several peers of such steps.
  bool has_several(StepKind kind) const;
  /// Whether this rank receives several messages of the round to one place.
  bool reuses_a_place();

  /// Of a byte that is copied to a peer, or stored there by who combines it. What others have made is in their cores'
  /// caches until it is sent once.
  double copying_time(const Step& send, const Path& path);

  double ready_at(Rank peer) const { return history_->end_of(lead_.receives, peer); }
  bool is_packed(Rank receiver, const Path& path, std::uint64_t bytes) {
    return bytes <= most_inline_bytes && way_to(receiver, path, bytes) == Way::sent;
  }
  Way way_to(Rank receiver, const Path& path, std::uint64_t bytes) {
    return round_ == 0 && path.shares_memory ? readers_.way_to(receiver, bytes) : Way::sent;
  }
  bool is_copied_by_receiver(const Path& path, std::uint64_t bytes) const {
    return path.shares_memory && bytes > most_inline_bytes && receivers_read(shape_, bytes);
  }

  /// A broadcast's data have one place, and of others the executor combines straight from the copy's source.
  bool is_left_out(std::size_t copy) const;

  const Shape& shape_;
  Lead lead_;
  Path between_;
  Path inside_;
  bool multicasts_;
  bool says_that_it_read_;  ///< by a message: who reads what is lent
  double pause_;
  HostWires wires_;
  Readers readers_;
  const History* history_ = nullptr;
  std::array<BlockRef, 2> made_;  // of two ranks: by each, by its last reduce
  // By rank, in this round:
  std::vector<bool> takes_in_turn_;
  std::vector<bool> crosses_;  ///< sends to several and receives from several, and combines nothing
  std::vector<BlockRef> places_;
  std::span<const Step> steps_;
  Rank me_ = 0;
  std::uint32_t round_ = 0;
  bool has_waited_ = false;
  BlockRef last_sent_;
  Row row_;
  double weight_ = 1;
  double busy_ = 0;
  double turns_ = 0;
};

}  // namespace stretto::schedule
