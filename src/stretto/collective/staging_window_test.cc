#include "stretto/collective/staging_window.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "stretto/base/random.h"
#include "stretto/collective/collective.h"
#include "stretto/collective/test_support.h"

namespace stretto {
namespace {

TEST(StagingWindow, IsAsLongAsTheDataWhereTheyFindRoom) {
  EXPECT_EQ(StagingWindow::of(1000, 8, 1000).bytes(), 1000U);
  EXPECT_EQ(StagingWindow::of(1008, 8, 1000).bytes(), 1000U);
}

TEST(StagingWindow, EndsWhereAnElementEnds) {
  EXPECT_EQ(StagingWindow::of(2400, 24, 1000).bytes(), 984U);
  // An element that finds no room is not cut.
  EXPECT_EQ(StagingWindow::of(3000, 1500, 1000).bytes(), 3000U);
}

// A writer and a reader that go as far as it lets them, each by steps of its own, lose nothing.
TEST(StagingWindow, CarriesAnyDataInAnySteps) {
  Random random(5);
  for (int round = 0; round < 2000; ++round) {
    std::vector<int> data(1 + random.below(200));
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<int>(random.below(1000));
    const StagingWindow shape = StagingWindow::of(data.size(), 1, 1 + random.below(60));
    StagingWindow of_writer = shape;
    StagingWindow of_reader = shape;
    std::vector<int> memory(shape.bytes());
    std::vector<int> read;
    std::size_t written = 0;
    while (read.size() < data.size()) {
      if (random.below(2) == 0) {
        const std::size_t upto = std::min({written + random.below(20), of_writer.writable(), data.size()});
        for (std::size_t left = of_writer.in_one_piece(written, upto); left > 0; --left, ++written) {
          memory[of_writer.place_of(written)] = data[written];
        }
      } else {
        for (std::size_t left = of_reader.in_one_piece(read.size(), written); left > 0; --left) {
          read.push_back(memory[of_reader.place_of(read.size())]);
        }
        of_reader.take(read.size());
        if (random.below(2) == 0) of_writer.take(read.size());
      }
      ASSERT_LE(written, of_reader.taken() + shape.bytes());
      if (written == of_writer.writable() && read.size() == written) of_writer.take(read.size());
    }
    ASSERT_EQ(read, data) << "round " << round;
  }
}

// More than the segment holds, in memory that peers can't reach.
TEST(Staging, LargeDataPassThroughALittleMemory) {
  for (const std::uint32_t nodes : {2U, 4U}) {
    RuntimeOptions options = test::options_for("local:" + std::to_string(nodes) + ",peer_pointer=segments");
    options.segment_bytes = std::size_t{3} << 20U;
    options.staging_bytes = std::size_t{32} << 10U;
    Runtime runtime(options);
    runtime.run([nodes](Node& node) -> Task<> {
      const Group all = Group::all(node);
      constexpr std::size_t count = 1'000'003;
      const std::vector<std::uint64_t> input(count, node.id() + 1);
      std::vector<std::uint64_t> output(count);
      co_await allreduce(node, all, input, output, sum, CollectiveOptions().algorithm("rabenseifner"));
      const std::uint64_t total = std::uint64_t{nodes} * (nodes + 1) / 2;
      EXPECT_EQ(std::count(output.begin(), output.end(), total), static_cast<std::ptrdiff_t>(count));
      EXPECT_EQ(test::bytes_in_use(node), 0U);
    });
  }
}

// An all-reduce of this node that takes memory of its segment, and how much of that was in use when its event
// triggered.
struct MemoryOfAllreduce {
  MemoryOfAllreduce(Node& node, std::size_t count, const CollectiveOptions& options)
      : input(count, node.id()), output(count) {
    const auto in_use = [&node] { return static_cast<double>(test::bytes_in_use(node)); };
    done = allreduce(node, Group::all(node), input, output, sum, options);
    in_use_begun = in_use();
    node.events().observe_time(done, in_use, [this](double bytes, const Cause&) { in_use_over = bytes; });
  }

  std::vector<std::uint64_t> input;
  std::vector<std::uint64_t> output;
  Event done;
  double in_use_begun = -1;
  double in_use_over = -1;
};

// Who was told that its collective went well, on whatever thread, finds the memory that it took.
TEST(Staging, AllMemoryIsBackWhenTheEventTriggers) {
  for (const char* const fabric : {"sim:4", "sim:4,peer_pointer=segments", "sim:4,hosts=2"}) {
    SCOPED_TRACE(fabric);
    Runtime runtime(test::options_for(fabric));
    runtime.run([](Node& node) -> Task<> {
      const MemoryOfAllreduce memory(node, 100'003, CollectiveOptions().algorithm("rabenseifner"));
      EXPECT_GT(memory.in_use_begun, 0);
      co_await memory.done;
      EXPECT_EQ(memory.in_use_over, 0);
    });
  }
}

// Who was told that its collective failed, too, whatever it had staged for peers that will not come.
TEST(Staging, AllMemoryIsBackWhenAFailureTriggersTheEvent) {
  for (const char* const fabric : {"sim:4", "sim:4,peer_pointer=segments"}) {
    SCOPED_TRACE(fabric);
    Runtime runtime(test::options_for(fabric));
    runtime.run([](Node& node) -> Task<> {
      const UserEvent late = node.create_user_event();
      CollectiveOptions options = CollectiveOptions().algorithm("rabenseifner");
      if (node.id() == 3) options.after(late);
      const MemoryOfAllreduce memory(node, 10'003, options);
      co_await barrier(node, Group::all(node), CollectiveOptions().key(1));
      if (node.id() == 3) node.poison(late, Error(ErrorCode::bad_input, "no input"));
      EXPECT_EQ(co_await test::outcome(memory.done), "bad_input: no input");
      EXPECT_EQ(memory.in_use_over, 0) << "node " << node.id();
    });
  }
}

}  // namespace
}  // namespace stretto
