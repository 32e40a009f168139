#include "stretto/collective/staging_window.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "stretto/base/random.h"
#include "stretto/collective/collective.h"
#include "stretto/collective/test_support.h"
#include "stretto/core/segment_array.h"

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

// Two sides that exchange data by turns: window i of a side's lies at that side for even i, else at the other. In any
// steps nothing is lost, and who has read all, where there is an odd number of windows, has memory that nobody uses any
// more.
class Turns {
 public:
  Turns(std::size_t data, std::size_t window, Random& random)
      : window_(window), random_(random), memory_{std::vector<int>(window), std::vector<int>(window)} {
    for (Side& side : sides_) {
      for (std::size_t i = 0; i < data; ++i) side.data.push_back(static_cast<int>(random.below(1'000'000)));
    }
  }

  // Returns whether each side has read what the other one had.
  bool run() {
    for (;;) {
      const std::size_t me = random_.below(2);
      if (random_.below(2) == 0) {
        write(me);
      } else {
        read(me);
      }
      for (std::size_t side = 0; side < 2; ++side) {
        if (!is_done(side)) continue;
        // What the other side may still read or write is not here: this side's memory may be gone.
        std::fill(memory_[side].begin(), memory_[side].end(), -1);
      }
      if (is_done(0) && is_done(1)) return sides_[0].got == sides_[1].data && sides_[1].got == sides_[0].data;
    }
  }

 private:
  struct Side {
    std::vector<int> data;
    std::size_t written = 0;
    std::vector<int> got;
  };

  bool is_done(std::size_t me) const { return sides_[me].got.size() == sides_[me].data.size() && all_written(me); }
  bool all_written(std::size_t me) const { return sides_[me].written == sides_[me].data.size(); }
  // Where a message that begins at `side` has its byte `at`.
  int& place(std::size_t side, std::size_t at) {
    return memory_[(side + at / window_.bytes()) % 2][window_.place_of(at)];
  }
  // What is written to a peer begins at the peer.
  void write(std::size_t me) {
    Side& side = sides_[me];
    const std::size_t upto =
        std::min(window_.writable_by_turns(side.got.size(), side.data.size()), side.written + random_.below(20));
    for (; side.written < upto; ++side.written) place(1 - me, side.written) = side.data[side.written];
  }
  void read(std::size_t me) {
    const std::size_t upto = std::min(sides_[1 - me].written, sides_[me].got.size() + random_.below(20));
    while (sides_[me].got.size() < upto) sides_[me].got.push_back(place(me, sides_[me].got.size()));
  }

  StagingWindow window_;
  Random& random_;
  std::vector<int> memory_[2];
  Side sides_[2];
};

TEST(StagingWindow, TurnsCarryAnyDataInAnySteps) {
  Random random(6);
  for (int round = 0; round < 3000; ++round) {
    const std::size_t window = 1 + random.below(20);
    const std::size_t turns = 3 + 2 * random.below(3);
    const std::size_t data = (turns - 1) * window + 1 + random.below(window);
    ASSERT_TRUE(Turns(data, window, random).run()) << "round " << round;
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

struct alignas(16) Quad {
  std::array<float, 4> values;
};
struct AddQuads {
  static constexpr bool commutative = true;
  static constexpr bool elementary = true;
  Quad operator()(const Quad& a, const Quad& b) const noexcept {
    Quad result;
    for (std::size_t i = 0; i < 4; ++i) result.values[i] = a.values[i] + b.values[i];
    return result;
  }
};

// However much memory the setting gives: the input is read where it lies, what is made of it comes back by a window.
TEST(Staging, WindowsHoldWholeElements) {
  RuntimeOptions options = test::options_for("local:2,peer_pointer=segments");
  options.staging_bytes = 100'001;
  Runtime runtime(options);
  runtime.run([](Node& node) -> Task<> {
    const auto mine = static_cast<float>(node.id() + 1);
    SegmentArray<Quad> input(node, 30'000);
    std::fill(input.begin(), input.end(), Quad{{mine, mine, mine, mine}});
    std::vector<Quad> output(input.size());
    co_await allreduce(node, Group::all(node), input, output, AddQuads{});
    for (const Quad& quad : output) EXPECT_EQ(quad.values, (std::array<float, 4>{3, 3, 3, 3}));
  });
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
