#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <memory_resource>
#include <source_location>
#include <string>
#include <vector>

#include "stretto/collective/collective_call.h"
#include "stretto/collective/group.h"
#include "stretto/collective/plan.h"
#include "stretto/collective/wire.h"
#include "stretto/core/waiter.h"
#include "stretto/fabric/context.h"
#include "stretto/fabric/fabric.h"

namespace stretto {

class CollectiveService;

/// One collective at one node, from the call to its event: walks a schedule, step by step, as messages come in.
///
/// Lives in the arena, as waiters must. Owns itself; gone when its event has triggered and nothing of it is under way.
/// After `launch` it is touched under the baton only.
class CollectiveOperation final : public Waiter, public fabric::Item {
 public:
  struct Setup {
    Group group;
    CollectiveCall call;
    Identity identity;
    std::shared_ptr<const Plan> plan;
    Event completion;
    std::source_location where;
  };

  /// Messages that came before the operation had begun here.
  struct Early {
    struct Data {
      NodeId from;
      DataHeader header;
      std::vector<std::byte> payload;
    };
    std::vector<Data> data;
    std::vector<std::pair<NodeId, ReadyHeader>> ready;
    std::vector<std::pair<NodeId, Identity>> hellos;
    std::vector<std::pair<NodeId, Cause>> failures;
  };

  /// Whom this member tells of a failure. Its neighbours in the schedule would wait in vain, and pass it on.
  enum class Tell : std::uint8_t { neighbours, everybody };

  /// Begins when `precondition` has triggered.
  static void launch(CollectiveService& service, Setup setup, Event precondition);
  // Only `launch` makes one.
  CollectiveOperation(CollectiveService& service, Setup setup);
  ~CollectiveOperation();

  const Identity& identity() const noexcept { return setup_.identity; }
  const Group& group() const noexcept { return setup_.group; }
  const Plan& plan() const noexcept { return *setup_.plan; }

  // What the service tells it. After each of these calls it may be gone.

  void begin(Early early);
  void on_data(NodeId from, const DataHeader& header, ConstByteSpan payload);
  void on_ready(NodeId from, const ReadyHeader& header);
  void on_piece(NodeId from, std::uint32_t step);
  void on_hello(NodeId from, const Identity& theirs);
  void on_failure(NodeId from, const Cause& cause);
  void fail(const Cause& cause, Tell tell);

 private:
  // Data larger than this are sent only when the receiver is ready, straight into its segment.
  static constexpr std::size_t eager_bytes = 4096;
  // What is done in one go under the baton, so that small operations overtake.
  static constexpr std::size_t piece_bytes = std::size_t{64} << 10U;

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

  enum class StepState : std::uint8_t { waiting, started, complete };

  static void precondition_over(Waiter* waiter, const Cause& cause) noexcept;
  static void on_turn(fabric::Item* item) noexcept;

  void prepare();
  void allocate_scratch();
  void run();
  void start_step(std::uint32_t step);
  void complete_step(std::uint32_t step);
  void start_send(std::uint32_t step);
  void start_receive(std::uint32_t step);
  void wait_for(Rank peer);
  void greet_first_awaited();
  void heard_by(Rank peer);
  void send_when_ready(std::uint32_t step, const ReadyHeader& ready);
  void do_piece_of_combine();
  void do_piece_of_sending();
  void combined(std::uint32_t step);
  void hand_to_task();
  void take_turn_later();
  void take(Early early);
  void require_member(NodeId from) const;
  bool accepts(NodeId from, const Identity& theirs);
  void finish();

  std::size_t vector_bytes() const noexcept;
  ByteSpan bytes_of(schedule::BlockRef blocks);
  const schedule::Step& step_at(std::uint32_t step) const noexcept { return setup_.plan->steps()[step]; }
  std::string describe() const;

  CollectiveService& service_;
  Setup setup_;
  Cause failure_;
  // The containers below that grow in every operation take their memory here, which is enough for small groups.
  alignas(16) std::array<std::byte, 768> store_;
  std::pmr::monotonic_buffer_resource memory_{store_.data(), store_.size()};
  std::pmr::vector<std::uint32_t> missing_{&memory_};  // by step: dependencies that are not complete yet
  std::pmr::vector<StepState> states_{&memory_};       // by step
  std::uint32_t first_awaited_ = 0;                    // all steps before are complete
  std::pmr::vector<bool> heard_by_ =
      std::pmr::vector<bool>(&memory_);                 // by peer of the plan: whether it was sent our identity
  std::pmr::vector<std::uint32_t> runnable_{&memory_};  // steps whose dependencies are complete
  std::size_t steps_left_ = 0;
  std::pmr::vector<Combine> combines_{&memory_};                 // to be done, in order
  std::pmr::vector<Sending> sendings_{&memory_};                 // likewise
  std::map<std::uint32_t, std::vector<std::byte>> parked_data_;  // by receive step that has not started
  std::map<std::uint32_t, ReadyHeader> parked_ready_;            // by send step that has not started
  std::map<std::uint32_t, Landing> landings_;                    // by large receive step
  std::size_t slot_bytes_ = 0;                                   // of one scratch slot
  std::byte* scratch_ = nullptr;
  std::int64_t scratch_offset_ = -1;  // in the segment, where peers put into it
  std::uint32_t under_way_ = 0;       // tasks and puts that will come back to this object
  std::uint32_t entered_ = 0;
  bool combining_in_task_ = false;
  bool has_turn_ = true;  // queued in the inbox
  bool begun_ = false;
  bool over_ = false;  // its event has triggered
};

}  // namespace stretto
