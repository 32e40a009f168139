#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stretto/collective/collective.h"
#include "stretto/collective/test_support.h"
#include "stretto/core/segment_array.h"
#include "stretto/fabric/sim/sim_fabric.h"

// Staging memory that is shared with a message the other way (Sharing, decision 57): what peers make of data comes back
// to where those were staged, and data that are exchanged take turns.
namespace stretto {
namespace {

constexpr std::size_t staging_bytes = std::size_t{32} << 10U;
constexpr std::size_t element_bytes = sizeof(std::uint64_t);
constexpr std::size_t block = 10'000;  // elements of which are exchanged

RuntimeOptions options_for(const std::string& fabric) {
  RuntimeOptions options = test::options_for(fabric);
  options.staging_bytes = staging_bytes;
  return options;
}

class SharedStaging : public test::OnEveryFabric {
 protected:
  static void run(std::uint32_t nodes, const Runtime::Main& main) {
    Runtime(options_for(GetParam().of(nodes))).run(main);
  }
};

INSTANTIATE_TEST_SUITE_P(Fabrics, SharedStaging, testing::ValuesIn(test::fabric_kinds), test::name_of_kind);

// Memory of a caller: in the segment, where peers reach it, or not.
class Vector {
 public:
  Vector(Node& node, std::size_t count, bool in_segment)
      : shared_(node, in_segment ? count : 0), own_(in_segment ? 0 : count) {}
  std::span<std::uint64_t> all() { return own_.empty() ? std::span(shared_) : std::span(own_); }

 private:
  SegmentArray<std::uint64_t> shared_;
  std::vector<std::uint64_t> own_;
};

// Element `index` of what `from` has for `to`.
std::uint64_t given(std::uint64_t call, NodeId from, NodeId to, std::size_t index) {
  return test::contribution(call, from * 100 + to, index);
}

Task<> exchange(Node& node, std::size_t count, bool in_segment, std::uint64_t number) {
  const Group all = Group::all(node);
  Vector input(node, count * all.size(), in_segment);
  Vector output(node, count * all.size(), !in_segment && number % 2 == 0);
  for (std::size_t i = 0; i < count * all.size(); ++i) {
    input.all()[i] = given(number, node.id(), static_cast<NodeId>(i / count), i % count);
  }
  co_await all_to_all(node, all, std::span<const std::uint64_t>(input.all()), output.all());
  for (std::size_t i = 0; i < count * all.size(); ++i) {
    if (output.all()[i] == given(number, static_cast<NodeId>(i / count), node.id(), i % count)) continue;
    ADD_FAILURE() << "node " << node.id() << ", element " << i << " of blocks of " << count;
    co_return;
  }
}

Task<> gather(Node& node, std::size_t count, bool in_segment, std::uint64_t number) {
  const Group all = Group::all(node);
  Vector mine(node, count, in_segment);
  Vector output(node, count * all.size(), !in_segment && number % 2 == 0);
  for (std::size_t i = 0; i < count; ++i) mine.all()[i] = given(number, node.id(), 0, i);
  co_await allgather(node, all, std::span<const std::uint64_t>(mine.all()), output.all());
  for (std::size_t i = 0; i < count * all.size(); ++i) {
    if (output.all()[i] == given(number, static_cast<NodeId>(i / count), 0, i % count)) continue;
    ADD_FAILURE() << "node " << node.id() << ", element " << i << " of blocks of " << count;
    co_return;
  }
}

// Lengths that are whole turns, or end within one; of nodes that have what they exchange
// in memory of one kind, or not, and come at different times.
TEST_P(SharedStaging, WhatIsExchangedArrives) {
  for (const std::uint32_t nodes : {2U, 3U, 5U}) {
    for (std::uint32_t mix = 0; mix < 3; ++mix) {
      run(nodes, [mix](Node& node) -> Task<> {
        const bool in_segment = mix > 0 && (node.id() + mix) % 3 == 0;
        for (const std::size_t count : {513U, 1024U, 1500U, 6144U, 10'000U, 33'333U}) {
          for (std::uint64_t number = 0; number < 3; ++number) {
            node.charge(static_cast<double>((node.id() * 7 + number) % 3) * 20e-6);
            co_await exchange(node, count, in_segment, number);
            co_await gather(node, count, in_segment, number);
          }
        }
      });
    }
  }
}

// Of which no even number makes turns, so that a window may be as long as a turn would be where there are turns.
struct LargeElement {
  std::array<std::uint64_t, 2048> words;
};

TEST_P(SharedStaging, LargeElementsArrive) {
  for (const std::size_t count : {2U, 3U, 4U, 5U}) {
    run(2, [count](Node& node) -> Task<> {
      const Group all = Group::all(node);
      std::vector<LargeElement> input(2 * count);
      std::vector<LargeElement> output(input.size());
      for (std::uint64_t number = 0; number < 4; ++number) {
        for (std::size_t i = 0; i < input.size(); ++i) {
          input[i].words.fill(given(number, node.id(), static_cast<NodeId>(i / count), i % count));
        }
        co_await all_to_all(node, all, std::span<const LargeElement>(input), std::span(output));
        for (std::size_t i = 0; i < output.size(); ++i) {
          const std::uint64_t expected = given(number, static_cast<NodeId>(i / count), node.id(), i % count);
          EXPECT_EQ(std::ranges::count(output[i].words, expected), 2048)
              << "element " << i << " of blocks of " << count;
        }
      }
    });
  }
}

// Windows that are longer than a piece, the last one shorter than the others.
TEST_P(SharedStaging, LongWindowsArrive) {
  for (const std::size_t staging : {256U, 1024U}) {
    RuntimeOptions options = test::options_for(GetParam().of(3));
    options.staging_bytes = staging << 10U;
    Runtime(options).run([](Node& node) -> Task<> {
      for (const std::size_t count : {24'578U, 16'400U, 50'001U}) {
        for (std::uint64_t number = 0; number < 2; ++number) {
          co_await exchange(node, count, false, number);
          co_await gather(node, count, false, number);
        }
      }
      EXPECT_EQ(test::bytes_in_use(node), 0U);
    });
  }
}

// By every schedule that answers what it is granted; in place and not.
TEST_P(SharedStaging, WhatIsAnsweredArrives) {
  for (const std::uint32_t nodes : {2U, 3U, 4U}) {
    run(nodes, [](Node& node) -> Task<> {
      const Group all = Group::all(node);
      for (const char* const algorithm : {"direct_allreduce", "rabenseifner", "ring_allreduce"}) {
        for (const std::size_t count : {2000U, 8192U, 8193U, 50'001U}) {
          for (const bool is_in_place : {false, true}) {
            std::vector<std::uint64_t> input(count);
            std::vector<std::uint64_t> elsewhere(is_in_place ? 0 : count);
            std::vector<std::uint64_t>& output = is_in_place ? input : elsewhere;
            for (std::size_t i = 0; i < count; ++i) input[i] = given(count, node.id(), 0, i);
            co_await allreduce(node, all, input, output, sum, CollectiveOptions().algorithm(algorithm));
            for (std::size_t i = 0; i < count; ++i) {
              std::uint64_t total = 0;
              for (const NodeId each : all.nodes()) total += given(count, each, 0, i);
              if (output[i] == total) continue;
              ADD_FAILURE() << algorithm << ", node " << node.id() << ", element " << i << " of " << count;
              co_return;
            }
          }
        }
      }
    });
  }
}

// Of two nodes that do the same `calls` times in memory that peers can't reach: how many messages pass, and how much of
// its segment each has in use when it has begun.
struct Traffic {
  std::uint64_t messages = 0;
  std::size_t bytes_in_use = 0;
};

template <class Start>
Traffic traffic_of(int calls, const Start& start, const char* reach) {
  Traffic traffic;
  Runtime runtime(options_for("sim:2,peer_pointer=" + std::string(reach)));
  runtime.run([&](Node& node) -> Task<> {
    for (int call = 0; call < calls; ++call) {
      std::vector<std::uint64_t> input(2 * block, 1);
      std::vector<std::uint64_t> output(2 * block);
      const Event done = start(node, input, output);
      traffic.bytes_in_use = test::bytes_in_use(node);
      co_await done;
      EXPECT_EQ(test::bytes_in_use(node), 0U);
      EXPECT_EQ(output.front(), output.back());
    }
  });
  traffic.messages = static_cast<fabric::SimFabric&>(runtime.fabric()).messages();
  return traffic;
}

template <class Start>
void expect_traffic(const Start& start, std::uint64_t messages, std::size_t bytes_in_use,
                    const char* reach = "segments") {
  const Traffic one = traffic_of(1, start, reach);
  EXPECT_EQ(traffic_of(2, start, reach).messages - one.messages, messages);
  EXPECT_EQ(one.bytes_in_use, bytes_in_use);
}

Event exchange_all(Node& node, std::vector<std::uint64_t>& input, std::vector<std::uint64_t>& output) {
  return all_to_all(node, Group::all(node), input, output);
}
Event gather_all(Node& node, std::vector<std::uint64_t>& input, std::vector<std::uint64_t>& output) {
  return allgather(node, Group::all(node), std::span<const std::uint64_t>(input).first(block), output);
}

// Each window is granted, and that all has been read is said; but nobody says what has been taken.
TEST(SharedStagingTraffic, WhatIsExchangedNeedsOneMessageForEachWindow) {
  expect_traffic(exchange_all, 2 * (6 + 1), block * element_bytes / 6 / 64 * 64 + 64);
  expect_traffic(gather_all, 2 * (6 + 1), block * element_bytes / 6 / 64 * 64 + 64);
}

// Of a peer's own memory.
TEST(SharedStagingTraffic, WhatIsReadWhereItLiesNeedsAGrantAndNoMemory) {
  expect_traffic(exchange_all, 2 * (1 + 1), 0, "reads");
  expect_traffic(gather_all, 2 * (1 + 1), 0, "reads");
}

// Likewise; what comes back takes no memory of its own.
TEST(SharedStagingTraffic, WhatIsAnsweredNeedsTwoMessagesForEachWindow) {
  constexpr std::size_t window = staging_bytes / 4;
  constexpr std::size_t windows = (block * element_bytes + window - 1) / window;
  expect_traffic(
      [](Node& node, std::vector<std::uint64_t>& input, std::vector<std::uint64_t>& output) {
        return allreduce(node, Group::all(node), input, output, sum, CollectiveOptions().algorithm("direct_allreduce"));
      },
      2 * (1 + 2 * windows + 1), window);
}

}  // namespace
}  // namespace stretto
