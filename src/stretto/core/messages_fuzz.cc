// Whatever a node says to another of events, barriers and tasks: that one hears of it, or breaks with it, and goes on
// with all others.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "stretto/base/fuzz.h"
#include "stretto/core/barrier_service.h"
#include "stretto/core/cause.h"
#include "stretto/core/fuzz_job.h"
#include "stretto/core/runtime.h"

namespace core_fuzz {

using namespace stretto;
using fabric::MessageType;

// What node 1 has node 0 do.
std::string echo(Node& node, std::string text) { return std::to_string(node.id()) + text; }
std::uint64_t sum(Node&, std::vector<std::uint64_t> values) {
  std::uint64_t total = 0;
  for (const std::uint64_t value : values) total += value;
  return total;
}
Task<> wait_for(Node&, Event event) { co_await event; }
// And node 2.
void trigger(Node& node, UserEvent event) { node.trigger(event); }
void arrive(Node& node, PhaseBarrier barrier) { node.barriers().arrive(barrier); }

// As remote_tasks.cc, event_service.cc, barrier_service.cc and bulk.h have them.
struct SpawnHeader {
  TaskType type;
  std::uint64_t completion;
  std::int32_t priority;
  std::int32_t processor;
};
struct ArriveHeader {
  TriggerHeader outcome;
  std::uint32_t count;
  std::uint32_t unused;
};
struct Offer {
  std::uint64_t offset;
  std::uint64_t payload_bytes;
  std::uint32_t header_bytes;
  MessageType type;
  std::uint8_t unused[3];
};

/// Says to node 0 what the input makes of what might be said.
class Liar {
 public:
  Liar(Node& node, fuzz::Input& input) : node_(node), input_(input) {}

  /// An event that can be spoken of.
  void note(Event event) { known_.push_back(event); }

  void speak() {
    switch (input_.below(7)) {
      case 0: send(MessageType::event_subscribe, bytes_of(event().bits()), {}); break;
      case 1: send(MessageType::event_trigger, bytes_of(outcome()), payload()); break;
      case 2:
        send(MessageType::barrier_arrive, bytes_of(ArriveHeader{outcome(), input_.number(), 0}), payload());
        break;
      case 3: send(MessageType::task_spawn, bytes_of(call()), payload()); break;
      case 4: send(MessageType::task_done, bytes_of(outcome()), payload()); break;
      case 5: offer(); break;
      default: send(MessageType::bulk_fetched, bytes_of(number()), {});
    }
  }

 private:
  // Mostly what is known, or what may follow from it.
  Event event() {
    const std::size_t which = input_.below(known_.size() + 1);
    if (which == known_.size()) return Event::from_bits(input_.number<std::uint64_t>());
    const std::uint64_t change = std::uint64_t{input_.below(8) == 0 ? input_.number() : 0U} << 24U;
    return Event::from_bits(known_[which].bits() + change + input_.below(3));
  }

  TriggerHeader outcome() {
    const Event about = event();
    const std::uint8_t choice = input_.number();
    return {about.bits(), static_cast<std::uint8_t>(choice % 2), static_cast<std::uint8_t>(choice / 2 % 16),
            static_cast<std::uint8_t>(choice / 32 % 2)};
  }

  SpawnHeader call() {
    const std::array types = {detail::RemoteFunction<echo>::type, detail::RemoteFunction<sum>::type,
                              detail::RemoteFunction<wait_for>::type, TaskType{7}};
    const auto processor = static_cast<std::int32_t>(input_.below(4)) - 1;
    return {types.at(input_.below(types.size())), event().bits(), input_.number<std::int8_t>(), processor};
  }

  // Arguments, results, the text of a cause.
  std::vector<std::byte> payload() {
    ArchiveWriter writer;
    switch (input_.below(4)) {
      case 0: writer.write(std::string(input_.number(), 'x')); break;
      case 1: writer.write(std::vector<std::uint64_t>(input_.below(16), 1)); break;
      case 2: writer.write(event()); break;
      default: break;
    }
    std::vector<std::byte> bytes = writer.take();
    const ConstByteSpan more = input_.bytes(input_.below(8));
    bytes.insert(bytes.end(), more.begin(), more.end());
    return bytes;
  }

  void offer() {
    fabric::Segment& segment = node_.endpoint().segment();
    const std::vector<std::byte> text = payload();
    const SpawnHeader header = call();
    const fabric::Offset offset = segment.allocate(sizeof header + text.size() + 1);
    copy_bytes(segment.pointer(offset), bytes_of(header));
    copy_bytes(segment.pointer(offset) + sizeof header, text);
    Offer offered{offset, text.size(), sizeof header, MessageType::task_spawn, {}};
    switch (input_.below(8)) {
      case 0: offered.offset = number(); break;
      case 1: offered.payload_bytes = number(); break;
      case 2: offered.header_bytes = input_.number<std::uint16_t>(); break;
      case 3: offered.type = static_cast<MessageType>(input_.number()); break;
      default: break;
    }
    send(MessageType::bulk_offer, bytes_of(offered), {});
  }

  std::uint64_t number() { return input_.below(2) == 0 ? input_.number() : input_.number<std::uint64_t>(); }

  void send(MessageType type, ConstByteSpan header, ConstByteSpan text) {
    if (input_.below(16) == 1) header = header.first(input_.below(header.size()));
    fabric::Endpoint& endpoint = node_.endpoint();
    endpoint.context().enter([&] { endpoint.send(0, type, header, text); });
  }

  Node& node_;
  fuzz::Input& input_;
  std::vector<Event> known_;
};

Task<> settle(Event event) {
  try {
    co_await event;
  } catch (const Error&) {
  }
}

// Node 0 does what it has others to do for: two of them may lie.
Task<> work_with_all(Node& node, Event of_liar, UserEvent own, PhaseBarrier barrier) {
  const std::array<Event, 5> awaited = {
      node.spawn_on<echo>(1, SpawnOptions(), std::string("a")).event(),
      node.spawn_on<echo>(1, SpawnOptions(), std::string(20'000, 'b')).event(),
      node.spawn([] {}, SpawnOptions().after(of_liar)),
      node.spawn_on<trigger>(2, SpawnOptions(), own),
      node.spawn_on<arrive>(2, SpawnOptions(), barrier),
  };
  node.barriers().arrive(barrier);
  for (const Event event : awaited) co_await settle(event);
  co_await settle(own);
  co_await settle(barrier.event());
}

Task<> work_with_honest(Node& node) {
  const std::string answer = co_await node.spawn_on<echo>(2, SpawnOptions(), std::string(20'000, 'c'));
  fuzz::require(answer == '2' + std::string(20'000, 'c'));
  const UserEvent own = node.create_user_event();
  const std::array<NodeId, 2> both = {0, 2};
  const PhaseBarrier barrier = node.barriers().create(2, both);
  node.barriers().arrive(barrier);
  co_await node.spawn_on<trigger>(2, SpawnOptions(), own);
  co_await node.spawn_on<arrive>(2, SpawnOptions(), barrier);
  co_await own;
  co_await barrier.event();
}

void run(fuzz::Input& input) {
  Runtime runtime(fuzz::options_for(input.below(2) == 0 ? "sim:4" : "sim:4,peer_pointer=segments"));
  Node& first = *runtime.nodes()[0];
  Node& second = *runtime.nodes()[1];
  const UserEvent of_liar = second.create_user_event();
  const UserEvent own = first.create_user_event();
  const std::array<NodeId, 2> honest = {0, 2};
  const PhaseBarrier barrier = first.barriers().create(2, honest);
  Liar liar(second, input);
  for (const Event event : {Event(of_liar), Event(own), barrier.event()}) liar.note(event);
  runtime.run([&](Node& node) -> Task<> {
    if (node.id() == 3) {  // it speaks for node 1, which answers as it should
      while (!input.empty()) {
        if (input.below(4) == 0) node.charge(1e-6);
        liar.speak();
      }
      node.charge(1e-3);  // until all has come
      fuzz::break_with(second, 0);
    } else if (node.id() == 0) {
      co_await work_with_all(node, of_liar, own, barrier);
      fuzz::break_with(node, 1);
      co_await work_with_honest(node);
    }
  });
}

}  // namespace core_fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  stretto::fuzz::Input input(bytes, size);
  core_fuzz::run(input);
  return 0;
}
