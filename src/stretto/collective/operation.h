#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <source_location>
#include <string>
#include <vector>

#include "stretto/collective/collective_call.h"
#include "stretto/collective/collective_options.h"
#include "stretto/collective/group.h"
#include "stretto/collective/plan.h"
#include "stretto/collective/saved_messages.h"
#include "stretto/collective/step_states.h"
#include "stretto/collective/wire.h"
#include "stretto/core/waiter.h"
#include "stretto/fabric/context.h"
#include "stretto/fabric/fabric.h"

namespace stretto {

class CollectiveService;
class Stream;

/// One collective at one node, from the call to its event: walks a schedule, step by step, as messages come in.
///
/// Lives in the arena, as waiters must. Owns itself; gone when its event has triggered and nothing of it is under way.
/// After `launch` it is touched under the baton only.
class CollectiveOperation final : public Waiter, public fabric::Item {
 public:
  /// Whom this member tells of a failure. Its neighbours in the schedule would wait in vain, and pass it on.
  enum class Tell : std::uint8_t { neighbours, everybody };

  /// Takes its number under the baton, in the order of calls, and begins when its precondition has triggered; triggers
  /// `completion`.
  static void launch(CollectiveService& service, const Group& group, CollectiveCall&& call,
                     const CollectiveOptions& options, const schedule::Algorithm& algorithm, Event completion);
  // Only `launch` makes one.
  CollectiveOperation(CollectiveService& service, const Group& group, CollectiveCall&& call,
                      const CollectiveOptions& options, const schedule::Algorithm& algorithm,
                      Event completion) noexcept;
  ~CollectiveOperation();

  std::uint64_t key() const noexcept { return key_; }
  const Group& group() const noexcept { return group_; }
  const Identity& identity() const noexcept { return identity_; }
  // REQUIRE: it has its number.
  Stream& stream() const noexcept { return *stream_; }
  const Plan& plan() const noexcept { return *plan_; }

  // What the service tells it. After each of these calls it may be gone.

  /// Gives it its number.
  void join(Stream& stream);
  void begin();
  /// Throws Error(bad_input) for what no peer sends.
  void on_message(const fabric::Message& message);
  void on_piece(NodeId from, std::uint32_t step);
  void fail(const Cause& cause, Tell tell);

 private:
  // Data larger than this are sent only when the receiver is ready, straight into its segment.
  static constexpr std::size_t eager_bytes = 4096;
  // What is done in one go under the baton, so that small operations overtake.
  static constexpr std::size_t piece_bytes = std::size_t{64} << 10U;
  // Scratch up to this size lies inside of the operation.
  static constexpr std::size_t own_scratch_bytes = 256;
  static constexpr std::size_t slot_alignment = 64;

  enum class Stage : std::uint8_t {
    called,   // has no number yet
    waiting,  // for its precondition
    begun,
    over,  // its event has triggered
  };

  // Bytes to be combined: a reduce step, or (step `none`) a further shard of this node's input.
  struct Combine {
    std::uint32_t step;
    ByteSpan destination;
    ConstByteSpan source;
    schedule::Order order;
    std::size_t done;
  };
  // A large send on its way, piece by piece.
  struct Sending {
    std::uint32_t step;
    ReadyHeader ready;
    std::size_t sent;
  };
  // A large receive: its name, what is still to come, and where it is put if not in place.
  struct Landing {
    std::uint64_t name;
    std::size_t pieces;
    std::int64_t staging;
  };
  class Entry;
  struct CombineTask;
  struct PutDone;

  static void precondition_over(Waiter* waiter, const Cause& cause) noexcept;
  static void on_turn(fabric::Item* item) noexcept;

  void prepare();
  void engage_with(Rank peer);
  void allocate_scratch();
  void add_shards();
  void run();
  void start_step(std::uint32_t step);
  void start_copy(std::uint32_t step);
  void start_reduce(std::uint32_t step);
  void start_send(std::uint32_t step);
  void start_receive(std::uint32_t step);
  void await_pieces(std::uint32_t step, ByteSpan destination);
  void complete_step(std::uint32_t step) { states_.complete(step, plan_->schedule()); }
  void wait_for(Rank peer);
  void greet_first_awaited();
  void heard_by(Rank peer) { states_.set_heard_by(plan_->index_of_peer(peer)); }
  void send_when_ready(std::uint32_t step, const ReadyHeader& ready);
  void combine_now(ByteSpan destination, ConstByteSpan source, schedule::Order order) const;
  void do_piece_of_combine();
  void do_piece_of_sending();
  void combined(std::uint32_t step);
  void hand_to_task();
  void take_turn_later();
  void on_data(std::uint32_t tag, const fabric::Message& message);
  void on_ready(const ReadyHeader& header, const fabric::Message& message);
  void on_failure(NodeId from, const FailedHeader& header, ConstByteSpan text);
  void require_member(NodeId from) const;
  bool accepts(NodeId from, const CallHeader& theirs);
  void finish();

  // REQUIRES: the vector is one block, where `blocks` are in scratch.
  ByteSpan bytes_of(schedule::BlockRef blocks) const noexcept {
    if (blocks.count == 0) return {};
    if (blocks.buffer == schedule::Buffer::scratch) {
      return {scratch_ + blocks.first * slot_bytes_, (blocks.count - 1) * slot_bytes_ + vector_bytes_};
    }
    const bool is_input = blocks.buffer == schedule::Buffer::input;
    const ByteSpan all =
        is_input ? ByteSpan(const_cast<std::byte*>(call_.input.data()), call_.input.size()) : call_.output;
    return one_block_ ? all : part_of(all, blocks);
  }
  ByteSpan part_of(ByteSpan all, schedule::BlockRef blocks) const noexcept;
  const schedule::Step& step_at(std::uint32_t step) const noexcept { return plan_->steps()[step]; }
  CallHeader header(std::uint32_t tag) const noexcept { return {identity_, tag, where_.line()}; }
  std::string describe() const;

  CollectiveService& service_;
  Group group_;
  CollectiveCall call_;
  std::uint64_t key_;
  const schedule::Algorithm& algorithm_;
  Event precondition_;
  Event completion_;
  std::source_location where_;
  Stream* stream_ = nullptr;
  const Plan* plan_ = nullptr;
  Identity identity_{};
  Cause failure_;
  Stage stage_ = Stage::called;
  bool has_turn_ = true;  // queued in the inbox, or about to be when the precondition is over
  bool combining_in_task_ = false;
  bool engaged_ = false;         // see Context::engage
  std::uint32_t under_way_ = 0;  // tasks and puts that will come back to this object
  std::uint32_t entered_ = 0;
  StepStates states_;
  std::vector<Combine> combines_;              // to be done, in order
  std::vector<Sending> sendings_;              // likewise
  SavedMessages parked_;                       // data of receives and readiness for sends that have not started
  std::map<std::uint32_t, Landing> landings_;  // by large receive step
  std::size_t vector_bytes_ = 0;               // of what is reduced or broadcast; of one member's part in an allgather
  bool one_block_ = false;                     // input and output are not cut
  std::size_t slot_bytes_ = 0;                 // of one scratch slot
  std::byte* scratch_ = nullptr;
  std::int64_t scratch_offset_ = -1;            // in the segment, where peers put into it
  std::unique_ptr<std::byte[]> large_scratch_;  // where they don't and it is too large for this object
  std::array<std::byte, own_scratch_bytes + slot_alignment> own_scratch_;
};

}  // namespace stretto
