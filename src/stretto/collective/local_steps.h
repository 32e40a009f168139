#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/base/bytes.h"
#include "stretto/collective/private_reads.h"
#include "stretto/core/cause.h"

namespace stretto {

class CollectiveOperation;

/// The part of an operation that a node does by itself: copies and combinations, large ones piece by piece, in the
/// order in which they were asked for.
///
/// As the operation, under the baton only; operators that are tasks run elsewhere. What its functions complete or fail
/// may end the operation.
class LocalSteps {
 public:
  explicit LocalSteps(CollectiveOperation& operation) noexcept : operation_(operation) {}
  LocalSteps(const LocalSteps&) = delete;
  LocalSteps& operator=(const LocalSteps&) = delete;

  // What these throw fails the operation.

  /// At once, or, where peers wait for what this node is sending, when that has left (decision 66).
  void start_copy(std::uint32_t step);
  /// What start_copy has put off, if it is time.
  void copy_put_off();
  void start_reduce(std::uint32_t step);
  /// Of a receive: what it was granted is to be copied to where it belongs. The first piece is at once, where nothing
  /// else is to be done.
  void copy_granted(std::uint32_t receive);
  /// The shards of this node's input are to be combined in its output, before any step begins.
  void add_shards(ByteSpan output, ConstByteSpan first, std::span<const ConstByteSpan> further);
  /// Does one piece of the first thing that can go on, or gives that to a task.
  void do_piece();

  bool have_ended() const noexcept { return works_.empty() && !in_task_; }
  /// Whether something that is being done cannot go on before more is there of a receive that is granted in parts.
  bool awaits_more_of(std::uint32_t receive) const noexcept;
  /// Bytes to which a reduce has come that is being done.
  std::size_t combined_by(std::uint32_t reduce) const noexcept;

 private:
  // Bytes to be combined: by a reduce step, or (step Plan::none) with a shard. Or to be copied: by a receive, a copy
  // step, or to begin with (Plan::none).
  struct Work {
    std::uint32_t step;
    ByteSpan out;
    const std::byte* left;  // of a shard, for a task, or what is copied here; otherwise null: see `term`
    const std::byte* right;
    std::size_t done = 0;
    bool is_copied = false;
  };
  // What of it is done in one go.
  struct Piece {
    std::size_t bytes = 0;
    std::byte* also = nullptr;  // a peer's memory, where it is to be, too: by the send
    std::uint32_t send = Plan::none;
  };
  // Terms in staging memory whose lines are to be claimed; or empty.
  struct Claimed {
    ByteSpan left;
    ByteSpan right;
  };
  struct CombineTask;
  struct OperatorTask;

  static Work copy_of(std::uint32_t step, ByteSpan to, ConstByteSpan from) noexcept {
    return {step, to, from.data(), nullptr, 0, true};
  }
  void copy(std::uint32_t step);
  void do_later(const Work& work);
  void combine(std::byte* out, std::byte* also, const std::byte* left, const std::byte* right, std::size_t bytes) const;
  std::size_t available_of(const Work& work) const;
  bool reads_privately(const Work& work) const;
  Piece next_piece(const Work& work, std::size_t available) const;
  void do_piece_of(const Work& work, const Piece& piece) const;
  Claimed claimed_by(const Work& work, std::size_t bytes) const noexcept;
  const std::byte* term(const Work& work, PrivateReads::Side side, ByteSpan out) const;
  void hand_to_task(std::size_t index);
  void task_over(std::uint32_t step, const Cause& failure);
  void combined(std::uint32_t step);

  CollectiveOperation& operation_;
  std::vector<Work> works_;             // in order
  std::vector<std::uint32_t> put_off_;  // copies
  bool in_task_ = false;                // one of them, which has left the list
};

}  // namespace stretto
