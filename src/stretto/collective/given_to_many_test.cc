#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "stretto/base/claim_line.h"
#include "stretto/collective/collective.h"
#include "stretto/collective/test_support.h"
#include "stretto/collective/transfer.h"
#include "stretto/collective/wire.h"
#include "stretto/core/segment_array.h"

// Large data that go to many are copied by those who get them, from where they lie or from one copy in staging memory
// (schedule::receivers_read): as the memory is of the giver, which the others do not know.
namespace stretto {
namespace {

class GivenToMany : public test::OnEveryFabric {};

INSTANTIATE_TEST_SUITE_P(Fabrics, GivenToMany, testing::ValuesIn(test::fabric_kinds), test::name_of_kind);

using schedule::Operation;

// A node's input and output, in one kind of memory or the other.
struct Memory {
  Memory(Node& node, std::size_t inputs, std::size_t outputs, bool in_segment)
      : shared(node, in_segment ? inputs + outputs + 2 : 1),
        own(in_segment ? 0 : inputs + outputs),
        input(in_segment ? shared.data() : own.data(), inputs),
        output(input.data() + inputs, outputs) {}

  SegmentArray<std::uint64_t> shared;
  std::vector<std::uint64_t> own;
  std::span<std::uint64_t> input;
  std::span<std::uint64_t> output;
};

// One call, of `count` elements a block. Who gives writes over it as soon as it may.
struct Call {
  Operation operation;
  std::string algorithm;
  std::size_t count;
  std::uint64_t salt;

  Task<> run(Node& node, const Group& all, Rank root, bool in_segment) const {
    const Rank me = all.rank_of(node.id());
    const bool gives = operation == Operation::allgather || me == root;
    const std::size_t inputs = !gives ? 0 : operation == Operation::scatter ? all.size() * count : count;
    const std::size_t outputs = operation == Operation::allgather ? all.size() * count : count;
    Memory memory(node, inputs, outputs, in_segment);
    for (std::size_t i = 0; i < inputs; ++i) memory.input[i] = test::contribution(salt, node.id(), i);
    const std::span<std::uint64_t> data = me == root ? memory.input : memory.output;
    const Event done = begin(node, all, root, operation == Operation::broadcast ? data : memory.input, memory.output);
    co_await done;
    std::fill(memory.input.begin(), memory.input.end(), 0);
    if (operation == Operation::broadcast && me == root) co_return;
    for (std::size_t i = 0; i < outputs; ++i) {
      if (memory.output[i] == expected(all, root, me, i)) continue;
      ADD_FAILURE() << "node " << node.id() << ", element " << i << " of " << outputs << ", " << algorithm;
      co_return;
    }
  }

  Event begin(Node& node, const Group& all, Rank root, std::span<std::uint64_t> input,
              std::span<std::uint64_t> output) const {
    const CollectiveOptions options = CollectiveOptions().algorithm(algorithm);
    const std::span<const std::uint64_t> given = input;
    switch (operation) {
      case Operation::broadcast: return broadcast(node, all, input, root, options);
      case Operation::scatter: return scatter(node, all, given, output, root, options);
      default: return allgather(node, all, given, output, options);
    }
  }

  std::uint64_t expected(const Group& all, Rank root, Rank me, std::size_t i) const {
    switch (operation) {
      case Operation::broadcast: return test::contribution(salt, all.node(root), i);
      case Operation::scatter: return test::contribution(salt, all.node(root), me * count + i);
      default: return test::contribution(salt, all.node(static_cast<Rank>(i / count)), i % count);
    }
  }
};

TEST_P(GivenToMany, ArrivesWhateverMemoryItIsIn) {
  for (const std::uint32_t nodes : {2U, 5U}) {
    for (const Operation operation : {Operation::broadcast, Operation::scatter, Operation::allgather}) {
      run(nodes, [=](Node& node) -> Task<> {
        const Group all = Group::all(node);
        std::uint64_t salt = 0;
        for (const std::string_view algorithm : test::algorithms_for({.operation = operation, .size = nodes})) {
          // A piece and more of them.
          for (const std::size_t count : {513U, 20'000U}) {
            const Call call{operation, std::string(algorithm), count, ++salt};
            co_await call.run(node, all, static_cast<Rank>(salt % nodes), (node.id() + salt / 2) % 2 == 0);
          }
        }
        co_await barrier(node, all);
        EXPECT_EQ(test::bytes_in_use(node), 0U) << "node " << node.id();
      });
    }
  }
}

// A broadcast of which one member fails, at once or when the others are in the middle of it. Who hears of its end takes
// its memory away: a giver whose data are still read, or a getter that still reads, would show.
Task<> broadcast_that_fails(Node& node, const Group& all, std::uint64_t salt) {
  constexpr std::size_t count = 60'000;
  const auto root = static_cast<Rank>(salt % all.size());
  const auto failing = static_cast<Rank>((root + 1 + salt / all.size() % (all.size() - 1)) % all.size());
  const Rank me = all.rank_of(node.id());
  auto memory = std::make_unique<Memory>(node, 0, count, (node.id() + salt / 2) % 2 == 0);
  const std::span<std::uint64_t> data = memory->output;
  for (std::size_t i = 0; me == root && i < count; ++i) data[i] = test::contribution(salt, node.id(), i);
  const UserEvent gate = node.create_user_event();
  CollectiveOptions options = CollectiveOptions().algorithm(salt % 3 == 0 ? "binomial_broadcast" : "linear_broadcast");
  if (me == failing) options.after(gate);
  const Event done = broadcast(node, all, data, root, options);
  if (salt % 2 == 0) co_await allreduce(node, all, 1, sum, CollectiveOptions().key(7));
  node.poison(gate, Error(ErrorCode::invalid_state, "on purpose"));
  const std::string failure = co_await test::outcome(done);
  EXPECT_EQ(me == failing && failure.empty(), false);
  for (std::size_t i = 0; failure.empty() && i < count; ++i) {
    if (data[i] == test::contribution(salt, all.node(root), i)) continue;
    ADD_FAILURE() << "node " << node.id() << ", element " << i;
    co_return;
  }
  std::fill(data.begin(), data.end(), 0);
  memory.reset();
}

TEST_P(GivenToMany, IsLeftAloneAfterAFailure) {
  run(5, [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    for (std::uint64_t salt = 0; salt < test::scaled(100); ++salt) co_await broadcast_that_fails(node, all, salt);
    co_await barrier(node, all);
    EXPECT_EQ(test::bytes_in_use(node), 0U) << "node " << node.id();
  });
}

// What one call is through with another one takes: not before the last reader has read it.
TEST(Staging, IsKeptForTheLastReader) {
  test::run_on("local:5,peer_pointer=segments", [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    constexpr std::size_t count = 10'000;
    std::vector<std::vector<std::uint64_t>> data(40, std::vector<std::uint64_t>(count));
    std::vector<Event> done;
    for (std::uint64_t call = 0; call < data.size(); ++call) {
      const auto root = static_cast<Rank>(call % 2);
      if (all.node(root) == node.id()) std::fill(data[call].begin(), data[call].end(), call + 1);
      const CollectiveOptions options = CollectiveOptions().algorithm("linear_broadcast").key(call % 4);
      done.push_back(broadcast(node, all, data[call], root, options));
    }
    for (std::uint64_t call = 0; call < data.size(); ++call) {
      co_await done[call];
      EXPECT_EQ(std::count(data[call].begin(), data[call].end(), call + 1), count) << "node " << node.id();
    }
  });
}

// Takes the place of a node's executor: says that it has read all that it is granted, and notes how it was to.
class Reader final : public fabric::MessageHandler {
 public:
  explicit Reader(Node& node) : node_(node) {
    node.endpoint().set_handler(fabric::MessageType::collective_grant, *this);
  }
  void on_message(const fabric::Message& message) override {
    const auto granted = fabric::read_header<GrantHeader>(message);
    sharing = static_cast<Sharing>(granted.sharing);
    if (granted.available < granted.bytes) return;
    node_.endpoint().send(0, fabric::MessageType::collective_done, bytes_of(granted.call), {});
  }
  Sharing sharing = Sharing::none;

 private:
  Node& node_;
};

// How node 0 has the others read a broadcast.
Sharing sharing_of_broadcast(const std::string& fabric, bool in_segment) {
  Runtime runtime(test::options_for(fabric));
  std::vector<std::unique_ptr<Reader>> readers;
  for (const auto& node : runtime.nodes()) {
    if (node->id() != 0) readers.push_back(std::make_unique<Reader>(*node));
  }
  runtime.run([in_segment](Node& node) -> Task<> {
    if (node.id() != 0) co_return;
    const Memory memory(node, 20'000, 0, in_segment);
    co_await broadcast(node, Group::all(node), memory.input, 0, CollectiveOptions().algorithm("linear_broadcast"));
  });
  return readers.front()->sharing;
}

// What several still read, or what is a caller's, is nobody's to write.
TEST(Staging, IsClaimedByItsOnlyReader) {
  const Sharing by_one = claims_help() ? Sharing::claims : Sharing::none;
  EXPECT_EQ(sharing_of_broadcast("local:2,peer_pointer=segments", false), by_one);
  EXPECT_EQ(sharing_of_broadcast("local:3,peer_pointer=segments", false), Sharing::none);
  EXPECT_EQ(sharing_of_broadcast("local:2,peer_pointer=segments", true), Sharing::none);
}

// What many get is staged once, however many they are.
TEST(Staging, HoldsOneCopyForAll) {
  RuntimeOptions options = test::options_for("local:6,peer_pointer=segments");
  options.segment_bytes = std::size_t{5} << 20U;
  Runtime runtime(options);
  runtime.run([](Node& node) -> Task<> {
    const Call call{Operation::broadcast, "linear_broadcast", 500'000, 1};
    co_await call.run(node, Group::all(node), 0, false);
  });
}

}  // namespace
}  // namespace stretto
