#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/collective/collective_call.h"
#include "stretto/collective/collective_options.h"
#include "stretto/collective/exposures.h"
#include "stretto/collective/group.h"
#include "stretto/collective/large_messages.h"
#include "stretto/collective/layout.h"
#include "stretto/collective/local_steps.h"
#include "stretto/collective/placed_plan.h"
#include "stretto/collective/plan.h"
#include "stretto/collective/preparation.h"
#include "stretto/collective/saved_messages.h"
#include "stretto/collective/scratch.h"
#include "stretto/collective/step_states.h"
#include "stretto/collective/under_way.h"
#include "stretto/collective/wire.h"
#include "stretto/core/operations.h"
#include "stretto/core/waiter.h"
#include "stretto/fabric/context.h"
#include "stretto/fabric/endpoint.h"

namespace stretto {

class CollectiveService;
class InlineRun;
class Stream;

/// One collective at one node, from the call to its event: walks a schedule, step by step, as messages come in.
///
/// Lives in the arena, as waiters must. Owns itself; gone when its event has triggered and nothing of it is under way.
/// After `launch` it is touched under the baton only, but for its call, which who comes last to a meeting reads.
class CollectiveOperation final : public Waiter, public fabric::Item, public UnderWay::Member {
 public:
  /// Whom this member tells of a failure. Its neighbours in the schedule would wait in vain, and pass it on.
  enum class Tell : std::uint8_t { neighbours, everybody };

  /// One that takes its number when it gets the baton (it is to be posted), and begins when its precondition has
  /// triggered. `named`: how the caller wants it done. Throws Error(out_of_resources).
  CollectiveOperation(CollectiveService& service, const Group& group, CollectiveCall&& call,
                      const CollectiveOptions& options, const Named& named);
  ~CollectiveOperation();
  /// Has it serve another call like the one that it has served. REQUIRES: it was kept (see Preparation).
  void renew(CollectiveCall&& call, const CollectiveOptions& options) noexcept;
  /// Triggers when it is over. Nobody has heard of it who goes without joining.
  Event completion() const noexcept { return completion_; }

  /// The members, by rank of the schedule.
  const Group& group() const noexcept { return group_; }
  const Identity& identity() const noexcept { return header_.identity; }
  /// Where it was called.
  const std::source_location& where() const noexcept { return where_; }
  bool has_failed() const noexcept { return failure_ != nullptr; }
  const Cause& failure() const noexcept { return failure_; }
  /// Whether its caller was told that it is over when it had only left its input in a meeting.
  bool has_left() const noexcept { return has_left_; }
  /// For how many calls it stands; its number is the first of theirs.
  std::uint32_t calls() const noexcept;
  // REQUIRE: it has its number.
  Stream& stream() const noexcept { return *stream_; }
  const Plan& plan() const noexcept { return preparation_->plan; }
  /// Whether it has failed and peers may still touch this node's memory.
  bool waits_for_release() const noexcept { return !exposures_.empty(); }
  /// How many pieces it has put over a wire into that member's memory.
  std::uint64_t pieces_put_to(NodeId member) const { return large_.pieces_put_to(member); }
  /// A sentence that names the nodes it waits for; empty if it waits for none, or not as `which` has it.
  std::string what_it_waits_for(Operations::Which which);

  /// Takes the memory that it takes to join. Where there is none it throws, and may still be destroyed.
  void make_ready(Stream& stream, const Preparation& prepared);

  // What the service tells it. After each of these calls it may be gone.

  /// Gives it its number and its plan, and begins it as soon as its precondition has triggered. REQUIRES: it is ready;
  /// of one that was kept, that the stream has room.
  void join(Stream& stream, Preparation& prepared);
  /// The same, of one that was kept, for a call that was begun inline and goes on from there, or fails as that did.
  void take_over(Stream& stream, Preparation& prepared, const InlineRun& run);
  /// The same, of one that was kept, for a call for which the members of the stream meet. Returns its completion:
  /// no_event if it is over for its caller.
  Event meet(Stream& stream, Preparation& prepared);
  /// Not all came to the meeting that these wait in, linked as items are: they begin as they would have without. Any
  /// thread.
  static void release(fabric::Item* members) noexcept;
  void begin();
  /// Throws Error(bad_input) for what no peer sends.
  void on_message(const fabric::Message& message);
  void on_piece(NodeId from, std::uint32_t step);
  /// This node is at rest: members for whom the operation waits hear of it.
  void greet();
  void fail(const Cause& cause, Tell tell);
  /// A member takes no part any more: it is lost (`cause`), and may yet linger, or it touches no memory, since it has
  /// left in good order, or ended (null).
  void on_member_gone(NodeId member, const Cause& cause);

 private:
  // Parts of this.
  friend class LargeMessages;
  friend class LocalSteps;

  enum class Stage : std::uint8_t {
    called,   // has no number yet
    waiting,  // for its precondition
    meeting,  // for others who are to come to a meeting
    begun,
    failed,  // waits until nobody touches its memory any more
    over,    // its event has triggered
  };

  class Entry;
  static void precondition_over(Waiter* waiter, const Cause& cause) noexcept;
  static void on_turn(fabric::Item* item) noexcept;
  bool is_begun() const noexcept { return stage_ == Stage::begun; }
  bool may_serve_again() const noexcept;
  void leave() noexcept;

  // Its life (operation.cc).
  template <class Part>
  void or_fail(const Part& part);
  void join_in_turn();
  void fail_to_join(const Cause& cause);
  void go_by(Stream& stream, Preparation& prepared, std::uint32_t sequence);
  void begin_steps();
  void note_loss(Tell& tell);
  void prepare();
  bool copy_input() noexcept;
  void skip_done(const InlineRun& run);
  void add_shards();
  void run();
  void start_steps();
  void start_step(std::uint32_t step);
  void complete_step(std::uint32_t step) { states_.complete(step, plan_->schedule()); }
  void take_turn_later();
  void forget_past_exposures();
  void finish_if_untouched();
  void finish();
  void let_go_of_call() noexcept;
  std::string describe() const;
  bool has_heard_of(Rank peer) const;

  // In a meeting (operation_meeting.cc).
  Event do_all();
  bool run_jointly() noexcept;
  void take_turn() noexcept;
  void end_meeting();
  std::vector<NodeId> missing_in_meeting() const;

  // Messages (operation_messages.cc).
  void start_send(std::uint32_t step);
  void start_alike_sends(std::uint32_t first);
  void send_data(std::uint32_t step);
  void start_receive(std::uint32_t step);
  void send_to(NodeId peer, fabric::MessageType type, ConstByteSpan header, ConstByteSpan payload = {}) const;
  void say_hello(Rank peer, std::uint32_t tag, std::size_t bytes);
  void heard_by(Rank peer) { states_.set_heard_by(plan_->index_of_peer(peer)); }
  bool accepts(NodeId from, const CallHeader& theirs);
  template <class Header, class Part>
  void take(const fabric::Message& message, Part& part, void (Part::*use)(const Header&, NodeId));
  void fail_to_match(NodeId from, const CallHeader& theirs, std::string_view difference);
  void require_member(NodeId from) const;
  [[noreturn]] void refuse(NodeId from, std::string_view what) const;
  bool has_size(NodeId from, const CallHeader& theirs, std::uint64_t bytes, std::uint32_t step);
  void end_for_size(NodeId from, const CallHeader& theirs, std::uint64_t bytes, std::uint32_t step);
  void on_hello(const HelloHeader& header, NodeId from);
  bool is_held(std::uint32_t step) const noexcept;
  void send_beyond_window(std::uint32_t step);
  void on_held(const CallHeader& header, NodeId from);
  void on_pull(const CallHeader& header, NodeId from);
  void on_data(const CallHeader& theirs, const fabric::Message& message);
  void on_data_after_failure(const CallHeader& theirs, NodeId from);
  void on_failure(NodeId from, const FailedHeader& header, ConstByteSpan text);
  void on_released(NodeId from, std::uint64_t pieces);

  const PlacedStep& step_at(std::uint32_t step) const noexcept { return placed_->steps[step]; }
  ByteSpan data_of(std::uint32_t step) const noexcept { return buffers_.bytes_of(step_at(step).data); }
  // The step of a message with that member; Plan::none: there is no such message.
  std::uint32_t send_step(NodeId to, std::uint32_t tag) const { return plan_->send_step(group_.rank_of(to), tag); }
  std::uint32_t receive_step(NodeId from, std::uint32_t tag) const {
    return plan_->receive_step(group_.rank_of(from), tag);
  }
  CallHeader header(std::uint32_t tag) const noexcept { return {identity(), tag, header_.line}; }

  CollectiveService& service_;
  std::uint64_t stream_id_;  // until it has its number
  Group group_;
  CollectiveCall call_;
  Named named_;
  Event precondition_;
  Event completion_;
  Event next_completion_;  // of the next call that it may serve, if it may
  std::source_location where_;
  Stream* stream_ = nullptr;
  Preparation* preparation_ = nullptr;
  const Plan* plan_ = nullptr;
  CallHeader header_{};  // of its messages, but for the tag
  Cause failure_;
  Stage stage_ = Stage::called;
  bool has_turn_ = true;  // queued in the inbox, or about to be when the precondition is over
  bool told_that_it_waits_ = false;
  bool is_done_by_other_ = false;  // who came last to a meeting; failure_ is how
  bool has_left_ = false;          // a meeting, but for a copy of its input; its caller has been told that it is over
  bool has_served_ = false;        // a call like this one: what depends on their kind is there
  std::uint32_t under_way_ = 0;    // tasks and puts that will come back to this object
  std::uint32_t entered_ = 0;
  std::uint32_t waits_since_look_ = 0;     // see CollectiveService::looks
  const InlineRun* taken_over_ = nullptr;  // until it has begun
  StepStates states_;
  const PlacedPlan* placed_ = nullptr;
  Buffers buffers_;
  SavedMessages parked_;  // data of receives that have not started
  LargeMessages large_{*this};
  LocalSteps local_{*this};
  Exposures exposures_;             // failed
  std::vector<NodeId> to_release_;  // failed: who waits to hear that of us
  Scratch scratch_;
  std::unique_ptr<std::byte[]> input_copy_;  // where it goes by a copy of its input
};

}  // namespace stretto
