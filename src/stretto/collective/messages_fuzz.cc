// Whatever one member of collectives says: the others' calls end, in good order or with an Error, and what they do
// without it afterwards is right.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/base/fuzz.h"
#include "stretto/collective/collective.h"
#include "stretto/collective/wire.h"
#include "stretto/core/fuzz_job.h"
#include "stretto/core/runtime.h"
#include "stretto/core/segment_array.h"

namespace {

using namespace stretto;
using fabric::MessageType;
using fuzz::require;

constexpr std::array types = {
    MessageType::collective_data,       MessageType::collective_ready, MessageType::collective_failed,
    MessageType::collective_hello,      MessageType::collective_grant, MessageType::collective_done,
    MessageType::collective_landed,     MessageType::collective_taken, MessageType::collective_released,
    MessageType::collective_held,       MessageType::collective_pull,  MessageType::collective_used,
    MessageType::collective_whole_grant};

constexpr std::size_t header_bytes_of(MessageType type) {
  switch (type) {
    case MessageType::collective_ready: return sizeof(ReadyHeader);
    case MessageType::collective_failed: return sizeof(FailedHeader);
    case MessageType::collective_hello: return sizeof(HelloHeader);
    case MessageType::collective_grant: return sizeof(GrantHeader);
    case MessageType::collective_landed: return sizeof(LandedHeader);
    case MessageType::collective_taken: return sizeof(TakenHeader);
    case MessageType::collective_released: return sizeof(ReleasedHeader);
    case MessageType::collective_used: return sizeof(UsedHeader);
    case MessageType::collective_whole_grant: return sizeof(WholeGrantHeader);
    default: return sizeof(CallHeader);
  }
}

/// A message that can be changed.
struct Draft {
  explicit Draft(const fabric::Message& message)
      : type(message.type),
        header(message.header.begin(), message.header.end()),
        payload(message.payload.begin(), message.payload.end()) {}

  MessageType type;
  std::vector<std::byte> header;
  std::vector<std::byte> payload;
};

/// Stands before the executor of a node: changes what comes for it from one peer, or hears it and has more said there.
class Between : public fabric::MessageHandler {
 public:
  explicit Between(Node& node) : executor_((fabric::MessageHandler&)CollectiveService::of(node)) {  // a private base
    for (const MessageType type : types) node.endpoint().set_handler(type, *this);
  }

 protected:
  void pass(const fabric::Message& message) { executor_.on_message(message); }

 private:
  fabric::MessageHandler& executor_;
};

/// What the input makes of messages.
class Forger {
 public:
  explicit Forger(fuzz::Input& input) : input_(input) {}

  bool has_lied() const noexcept { return has_lied_; }
  fuzz::Input& input() noexcept { return input_; }

  /// How often a message is to be said: mostly once, as long as there is any input.
  std::size_t repetitions() {
    constexpr std::array<std::size_t, 8> times = {1, 1, 1, 1, 1, 1, 0, 2};
    const std::size_t chosen = times.at(input_.below(times.size()));
    has_lied_ = has_lied_ || chosen != 1;
    return chosen;
  }

  void forge(Draft& draft) {
    switch (input_.below(8)) {
      case 1: change_type(draft); break;
      case 2: draft.payload.resize(input_.number<std::uint16_t>() % (fabric::max_message_bytes / 2)); break;
      case 3: draft.header.resize(input_.below(fabric::max_header_bytes)); break;
      case 4:
      case 5: change_word(draft); break;
      default: return;
    }
    has_lied_ = true;
  }

  void change_type(Draft& draft) {
    draft.type = types.at(input_.below(types.size()));
    draft.header.resize(header_bytes_of(draft.type));
    for (std::size_t changes = input_.below(4); changes > 0; --changes) change_word(draft);
    has_lied_ = true;
  }

 private:
  void change_word(Draft& draft) {
    if (draft.header.size() < sizeof(std::uint32_t)) return;
    const std::size_t at = input_.below(draft.header.size() / sizeof(std::uint32_t)) * sizeof(std::uint32_t);
    std::uint32_t word = 0;
    std::memcpy(&word, draft.header.data() + at, sizeof word);
    const std::uint32_t number = input_.number();
    switch (input_.below(6)) {
      case 0: word = number; break;
      case 1: word = ~number; break;
      case 2: word ^= 1U << number % 32U; break;
      case 3: word += number; break;
      case 4: word -= number; break;
      default: word = number * 256U;
    }
    std::memcpy(draft.header.data() + at, &word, sizeof word);
  }

  fuzz::Input& input_;
  bool has_lied_ = false;
};

/// Before the honest node: what the liar's executor says does not arrive as it was said.
class Tampering final : public Between {
 public:
  Tampering(Node& node, NodeId liar, Forger& forger) : Between(node), liar_(liar), forger_(forger) {}

 private:
  void on_message(const fabric::Message& message) override {
    if (message.from != liar_) {
      pass(message);
      return;
    }
    for (std::size_t left = forger_.repetitions(); left > 0; --left) {
      Draft draft(message);
      forger_.forge(draft);
      pass({message.from, draft.type, draft.header, draft.payload});
    }
  }

  NodeId liar_;
  Forger& forger_;
};

/// Before the liar: says more than its executor does.
class Chatter final : public Between {
 public:
  Chatter(Node& node, Forger& forger) : Between(node), node_(node), forger_(forger) {}

 private:
  void on_message(const fabric::Message& message) override {
    if (message.from == 0 && forger_.input().below(4) == 1) {
      Draft draft(message);
      forger_.change_type(draft);
      node_.endpoint().send(0, draft.type, draft.header, draft.payload);
    }
    pass(message);
  }

  Node& node_;
  Forger& forger_;
};

using Data = std::vector<std::uint32_t>;

// By every operation something else is said.
Event call(Node& node, const Group& group, std::size_t which, Data& in, Data& out) {
  const std::size_t part = in.size() / group.size();
  const std::span<std::uint32_t> first_of_in(in.data(), part);
  const std::span<std::uint32_t> whole_out(out.data(), part * group.size());
  const std::span<std::uint32_t> whole_in(in.data(), part * group.size());
  switch (which) {
    case 0: return allreduce(node, group, in, out, stretto::sum, CollectiveOptions().algorithm("recursive_doubling"));
    case 1: return allreduce(node, group, in, out, stretto::sum, CollectiveOptions().algorithm("rabenseifner"));
    case 2: return allreduce(node, group, in, out, stretto::sum);
    case 3: return broadcast(node, group, in, 1);
    case 4: return reduce(node, group, in, out, stretto::sum);
    case 5: return allgather(node, group, first_of_in, whole_out);
    case 6: return all_to_all(node, group, whole_in, whole_out);
    case 7: return gather(node, group, first_of_in, whole_out);
    case 8: return scatter(node, group, whole_in, std::span(out.data(), part), 1);
    case 9: return scan(node, group, in, out, stretto::sum);
    default: return barrier(node, group);
  }
}
constexpr std::size_t kinds_of_calls = 11;

// Returns whether it ended in good order.
Task<bool> settled(Event event) {
  try {
    co_await event;
  } catch (const Error&) {
    co_return false;
  }
  co_return true;
}

Task<> work_without_liar(Node& node, std::size_t count) {
  const Group honest{0, 2};  // not inside of co_await: GCC 12 cannot have an initializer list there
  const Data in(count, node.id() + 1);
  Data out(count);
  co_await allreduce(node, honest, in, out, stretto::sum, CollectiveOptions().algorithm("recursive_doubling"));
  require(std::all_of(out.begin(), out.end(), [](std::uint32_t value) { return value == 4; }));
}

// Long after all that is under way has come.
constexpr double later = 1e-2;

/// What the input decides on beforehand.
struct Scene {
  explicit Scene(fuzz::Input& input) {
    static constexpr std::array fabrics = {"sim:4", "sim:4,peer_pointer=segments", "sim:4,early=0.5",
                                           "sim:4,early=1,peer_pointer=segments",
                                           "sim:4,jitter=2us,reorder=0.3,peer_pointer=segments"};
    static constexpr std::array<std::size_t, 8> counts = {3, 3, 300, 300, 1500, 1500, 6000, 20'000};
    fabric = fabrics.at(input.below(fabrics.size()));
    count = counts.at(input.below(counts.size()));
    which = input.below(kinds_of_calls);
    group = input.below(3) == 0 ? Group{0, 1} : Group{1, 2, 0};
    calls = 1 + input.below(3);
  }

  std::string_view fabric;
  std::size_t count = 0;
  std::size_t which = 0;
  Group group{0};
  std::size_t calls = 1;
};

Task<> work_with_liar(Node& node, const Scene& scene, const Forger& forger) {
  Data in(scene.count);
  Data out(scene.count);
  for (std::size_t i = 0; i < scene.calls; ++i) {
    std::fill(in.begin(), in.end(), node.id() + 1U);
    const bool is_clean = co_await settled(call(node, scene.group, scene.which, in, out));
    require(is_clean || forger.has_lied());
    if (forger.has_lied() || scene.which > 2) continue;
    const std::uint32_t expected = scene.group.size() == 2 ? 3 : 6;
    require(std::all_of(out.begin(), out.end(), [expected](std::uint32_t value) { return value == expected; }));
  }
}

std::size_t bytes_in_use(Node& node) {
  return node.endpoint().segment().bytes_in_use() - CollectiveService::of(node).receipts().bytes();
}

void run(fuzz::Input& input) {
  const Scene scene(input);
  RuntimeOptions options = fuzz::options_for(scene.fabric);
  options.staging_bytes = std::size_t{8} << 10U;
  Runtime runtime(options);
  Forger forger(input);
  Node& honest = *runtime.nodes()[0];
  Node& liar = *runtime.nodes()[1];
  const Tampering tampering(honest, liar.id(), forger);
  const Chatter chatter(liar, forger);
  runtime.run([&](Node& node) -> Task<> {
    if (node.id() == 3) {  // it only looks at the clock
      node.charge(later);
      for (const NodeId peer : {0U, 2U}) fuzz::break_with(liar, peer);
      co_return;
    }
    if (scene.group.contains(node.id())) co_await work_with_liar(node, scene, forger);
    if (node.id() == liar.id()) co_return;
    co_await work_without_liar(node, 1);
    node.charge(2 * later);
    fuzz::break_with(node, liar.id());
    co_await work_without_liar(node, 5000);
    require(node.operations_are_over());
    require(bytes_in_use(node) == 0);
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  stretto::fuzz::Input input(bytes, size);
  run(input);
  return 0;
}
