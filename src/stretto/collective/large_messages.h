#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "stretto/base/bytes.h"
#include "stretto/collective/attendance.h"
#include "stretto/collective/exposures.h"
#include "stretto/collective/placed_plan.h"
#include "stretto/collective/private_reads.h"
#include "stretto/collective/requests.h"
#include "stretto/collective/transfers.h"
#include "stretto/collective/wire.h"
#include "stretto/fabric/endpoint.h"

namespace stretto {

class CollectiveOperation;
class InlineRun;

/// The part of an operation that moves what is too large to be sent unasked, piece by piece, or what is read where it
/// lies: who has been told where, what is staged, and how far each message has come.
///
/// As the operation, under the baton only. What its functions complete or fail may end the operation.
class LargeMessages {
 public:
  explicit LargeMessages(CollectiveOperation& operation) noexcept : operation_(operation) {}
  LargeMessages(const LargeMessages&) = delete;
  LargeMessages& operator=(const LargeMessages&) = delete;
  ~LargeMessages() { release_staging(); }
  /// Forgets all of a call that is over, for another one like it.
  void renew() noexcept {
    transfers_.renew();
    requests_.clear();
  }
  /// Takes the memory for what it notes of a call's messages, unless it has that; others do so with the first.
  void make_room();
  /// Whoever serves this node need not stay with it for the operation's sake any more.
  void disengage() noexcept {
    if (attendance_.is_asked_for()) attendance_.end(endpoint().context());
  }

  const Transfers& transfers() const noexcept { return transfers_; }

  // Steps. REQUIRE: they are large, or (`send_in_place`) pulled, or (`start_receive`) granted. What they throw fails
  // the operation.

  /// Before all others: what is asked for in turn is known.
  void list_requests();
  /// Where the peers may be told before their messages are due, they are.
  void announce_early();
  /// A step that lends, or reads what was lent, was done by that run.
  void take_over(std::uint32_t step, const InlineRun& run);
  void start_send(std::uint32_t step);
  void start_receive(std::uint32_t step);
  /// Has the receiver read the data where they lie. False: it can't reach them there, or they will be written over
  /// before it has read them.
  bool send_in_place(std::uint32_t step);
  /// Sends, or stages, one piece of what waits longest.
  void do_piece();
  /// Whether there is any that can be.
  bool can_send_more() const noexcept;

  // For who combines.

  /// Where byte `at` of them lies: of any message, in the peer's memory or staged here.
  std::byte* place_of(std::uint32_t step, std::size_t at) const noexcept;
  /// Copies what a receive is granted, from byte `at` on.
  void read_granted(std::uint32_t step, std::size_t at, ByteSpan out) const;
  /// What a receive is granted, from byte `at` on, to be combined: where it lies, or a copy.
  const std::byte* granted_term(std::uint32_t step, std::size_t at, const PrivateReads::Term& term) const;
  /// We have combined what a peer had granted, or sent instead.
  void end_pulled(std::uint32_t receive);
  /// The only send of just what a reduce makes, whose receiver is ready: who combines may store that there, too
  /// (decision 70).
  struct Follower {
    std::uint32_t send = Plan::none;
    ByteSpan place;  ///< the peer's, for what comes next of the reduce
  };
  /// Of bytes `at` to `at` + `most` of what a reduce makes, or as many as there is room for in one piece.
  Follower follower_of(std::uint32_t reduce, std::size_t at, std::size_t most) const noexcept;
  /// Whether to store there, rather than to copy later. Depends on how fast copies were: nothing but that may.
  bool stores_at_once(const Follower& follower);
  /// A reduce, or a receive that is copied, has come so far, and what it made is stored by the send `stored`, too: the
  /// peers whose data it reads are told. What a reduce has made is warm: other sends of just that write it at once.
  void note_combined(std::uint32_t step, std::size_t upto, std::uint32_t stored = Plan::none);

  // What the peers say. Throw Error(bad_input) for what no peer says.

  void on_ready(const ReadyHeader& header, NodeId from);
  void on_grant(const GrantHeader& header, NodeId from);
  void on_whole_grant(const WholeGrantHeader& header, NodeId from);
  void on_done(const CallHeader& header, NodeId from);
  void on_landed(const LandedHeader& header, NodeId from);
  void on_taken(const TakenHeader& header, NodeId from);
  /// The peer has sent all of it in one message. Returns how many pieces it was asked for, which it won't put.
  std::uint64_t note_whole(std::uint32_t step);
  /// One more piece has come over a wire.
  void on_piece(NodeId from, std::uint32_t step);

  // For who ends the operation, or says what it waits for.

  /// Whether data of complete sends are still to be read by their receivers.
  bool has_lent() const noexcept { return lent_ > 0; }
  /// Whether the receiver of this message may ask for one after another (see Requests).
  bool asks_in_turn(std::uint32_t step) const noexcept;
  /// Notes the live peers that were told where our memory is, and have not said yet that they are through with it. For
  /// that there is memory.
  void note_exposures(Exposures& exposures) const;
  /// How many pieces that peer has put over a wire into our memory, and we into its.
  std::uint64_t pieces_from(NodeId peer) const { return pieces_with(peer, schedule::StepKind::receive); }
  std::uint64_t pieces_put_to(NodeId peer) const { return pieces_with(peer, schedule::StepKind::send); }
  /// Gives back what is staged. Nobody reads it any more.
  void release_staging() noexcept;
  /// Pieces that still come over a wire are nobody's.
  void forget_landings();

 private:
  struct PutDone;

  Transfer& transfer(std::uint32_t step);
  const PlacedStep& step_at(std::uint32_t step) const noexcept;
  ByteSpan data_of(std::uint32_t step) const noexcept;
  fabric::Endpoint& endpoint() const noexcept;
  bool is_begun() const noexcept;
  template <class Header>
  void tell(std::uint32_t step, fabric::MessageType type, const Header& header);

  void take_over_turns(std::uint32_t step, Turns turns);
  void engage();
  void wait_to_be_asked(std::uint32_t step);
  void spend(std::size_t bytes) const;
  std::optional<fabric::Offset> place_in_sight(std::uint32_t step) const;
  std::optional<fabric::Offset> private_place(std::uint32_t step) const;
  void send_grant(std::uint32_t step, std::uint64_t offset, std::size_t available, std::size_t window);
  Granted granted_of(std::uint32_t step, std::size_t available) const noexcept;
  void lend(std::uint32_t step);
  void take_granted(std::uint32_t step);
  void ask_for_others(std::uint32_t step);
  void say_ready(std::uint32_t step, std::uint32_t granted = Plan::none);
  void send_later(std::uint32_t step);
  void write_piece(std::uint32_t step, std::size_t upto);
  void wrote(std::uint32_t step, std::size_t upto);
  void put_piece(std::uint32_t step);
  void say_taken(std::uint32_t step, std::size_t upto);
  void copy_for_peer(std::uint32_t step, std::byte* to, ConstByteSpan from);
  bool can_move(std::uint32_t step) const noexcept;
  std::vector<std::uint32_t>::const_iterator next_to_move() const noexcept;
  void end_send(std::uint32_t step);
  void landed(std::uint32_t step, std::size_t upto);
  std::size_t writable(std::uint32_t step) const noexcept;
  std::uint64_t pieces_with(NodeId peer, schedule::StepKind kind) const;

  // What the peers say (large_messages_heard.cc).
  Sharing sharing_of(std::uint64_t number, NodeId from) const;
  std::size_t writable_by_peer(std::uint32_t receive) const noexcept;
  std::byte* memory_of(NodeId from, std::uint64_t offset, std::uint64_t bytes) const;
  void accept_window(std::uint32_t step, const GrantHeader& header, NodeId from);

  // What follows a reduce (large_messages_following.cc).
  bool follows(std::uint32_t send, std::uint32_t reduce) const noexcept;
  std::uint32_t only_follower_of(std::uint32_t reduce) const noexcept;
  bool may_follow(std::uint32_t send) const noexcept;
  void let_followers_write(std::uint32_t reduce, std::size_t upto);
  void follow(std::uint32_t send, std::size_t upto);

  // What peers can't reach (large_messages_staging.cc).
  void grant(std::uint32_t step);
  void join_staging(std::uint32_t step, std::uint32_t other);
  void allocate_staging(std::uint32_t step, const StagingWindow& window);
  bool is_staged_whole(std::uint32_t step) const noexcept;
  bool comes_whole(std::uint32_t step) const noexcept;
  StagingWindow window_for(std::uint32_t step) const noexcept;
  std::uint32_t staged_alike(std::uint32_t step) const noexcept;
  bool answers_follow_at_once() const noexcept;
  bool may_come_back(std::uint32_t receive, std::uint32_t granted) const;
  std::uint64_t let_come_back(std::uint32_t receive, std::uint32_t granted);
  StagingWindow window_for_turns(std::uint32_t step) const noexcept;
  void accept_sharing(std::uint32_t theirs);
  void agree_on_turns(std::uint32_t theirs);
  std::byte* begin_of(std::uint32_t step) const noexcept;
  void let_other_go_on(std::uint32_t receive);
  void stage_piece(std::uint32_t step);
  std::size_t told_at_once(std::uint32_t step, std::size_t at) const noexcept;
  void tell_readers(std::uint32_t step);
  void take_staged(std::uint32_t receive, std::size_t upto);
  void leave_staging(std::uint32_t step);
  void release(Transfer& staged) noexcept;

  CollectiveOperation& operation_;
  Transfers transfers_;
  std::vector<std::uint32_t> sendings_;  // sends on their way, and grants being staged, in order
  Requests requests_;
  std::uint32_t lent_ = 0;  // sends whose data are lent out
  Attendance attendance_;
};

}  // namespace stretto
