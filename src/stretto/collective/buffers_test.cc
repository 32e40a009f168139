// What may be passed as a buffer, and what does not compile.

#include "stretto/collective/buffers.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <list>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "stretto/collective/collective.h"
#include "stretto/collective/concurrent.h"
#include "stretto/collective/test_support.h"
#include "stretto/core/runtime.h"
#include "stretto/core/segment_array.h"

namespace stretto {
namespace {

using Doubles = std::vector<double>;

static_assert(OutputBuffer<Doubles&> && InputBuffer<const Doubles&> && !OutputBuffer<const Doubles&>);
static_assert(OutputBuffer<double (&)[3]> && OutputBuffer<std::array<double, 3>&> && OutputBuffer<std::string&>);
static_assert(OutputBuffer<SegmentArray<double>&> && !OutputBuffer<const SegmentArray<double>&>);
static_assert(OutputBuffer<std::span<double>> && InputBuffer<std::span<const double>>);
static_assert(!OutputBuffer<std::span<const double>>);

// What owns its elements and is gone before the operation is over.
static_assert(!InputBuffer<Doubles> && !InputBuffer<std::array<double, 3>> && !InputBuffer<SegmentArray<double>>);
// What does not lie side by side, or is not its bytes.
static_assert(!InputBuffer<std::list<double>&> && !InputBuffer<std::vector<bool>&>);
static_assert(!InputBuffer<std::vector<std::string>&> && !InputBuffer<std::vector<double*>&>);

template <class Input, class Output>
concept Reducible = requires(Node& node, const Group& group, Input&& input, Output&& output) {
  allreduce(node, group, std::forward<Input>(input), std::forward<Output>(output), sum);
};
static_assert(Reducible<const Doubles&, Doubles&> && Reducible<std::span<double>, double (&)[3]>);
static_assert(!Reducible<const Doubles&, const Doubles&> && !Reducible<const Doubles&, std::vector<float>&>);
static_assert(!Reducible<Doubles, Doubles&> && !Reducible<Doubles&, Doubles>);
// Shards: several buffers of a node.
static_assert(Reducible<std::vector<Doubles>&, Doubles&> && Reducible<std::array<std::span<double>, 2>, Doubles&>);
static_assert(!Reducible<std::vector<Doubles>, Doubles&> && !Reducible<std::vector<std::vector<float>>&, Doubles&>);

TEST(Buffers, OfAllKindsInOneCall) {
  constexpr std::uint32_t nodes = 3;
  test::run_on("local:3", [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    const double mine = node.id() + 1.0;
    const std::array<double, 2> array{mine, 10 * mine};
    SegmentArray<double> in_segment(node, 2);
    co_await allreduce(node, all, array, in_segment, sum);
    EXPECT_EQ(in_segment[0], 6);
    EXPECT_EQ(in_segment[1], 60);

    double plain[2] = {0, 0};
    std::vector<Doubles> shards(2, Doubles(2, 1));
    shards[0][0] = shards[1][1] = mine;
    co_await allreduce(node, all, shards, plain, sum);
    EXPECT_EQ(plain[0], 9);
    EXPECT_EQ(plain[1], 9);

    Doubles gathered(nodes);
    co_await allgather(node, all, std::span(&mine, 1), gathered);
    EXPECT_EQ(gathered, (Doubles{1, 2, 3}));
  });
}

TEST(Buffers, MayBeEmptyAndMany) {
  test::run_on("local:3", [](Node& node) -> Task<> {
    std::vector<Doubles> shards(3);
    Doubles total;
    co_await allreduce(node, Group::all(node), shards, total, sum);
    EXPECT_TRUE(total.empty());
  });
}

TEST(Buffers, ThatDoNotCountMayBeLeftOut) {
  constexpr std::uint32_t nodes = 3;
  test::run_on("local:3", [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    const bool is_root = node.id() == 1;
    const std::vector<int> mine{int(node.id())};
    std::vector<int> got(1);
    std::vector<int> of_all(is_root ? nodes : 0);
    if (is_root) {
      co_await reduce(node, all, mine, got, sum, 1);
      EXPECT_EQ(got[0], 3);
      co_await gather(node, all, mine, of_all, 1);
      EXPECT_EQ(of_all, (std::vector<int>{0, 1, 2}));
      co_await scatter(node, all, of_all, got, 1);
    } else {
      co_await reduce(node, all, mine, {}, sum, 1);
      co_await gather(node, all, mine, {}, 1);
      co_await scatter(node, all, {}, got, 1);
    }
    EXPECT_EQ(got[0], int(node.id()));
  });
}

TEST(Buffers, ValuesNeedNone) {
  test::run_on("local:3", [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    const Group others{2, 0};
    const double from_last = co_await broadcast(node, all, 1.5 * node.id(), 2);
    EXPECT_EQ(from_last, 3);
    const std::vector<NodeId> ids = co_await allgather(node, all, node.id());
    EXPECT_EQ(ids, (std::vector<NodeId>{0, 1, 2}));
    if (others.contains(node.id())) {
      const std::vector<NodeId> some = co_await allgather(node, others, node.id());
      EXPECT_EQ(some, (std::vector<NodeId>{2, 0}));
    } else {
      EXPECT_THROW(allgather(node, others, node.id()), Error);
      EXPECT_THROW(broadcast(node, others, 1), Error);
    }
    // What is a buffer is no value.
    std::array<int, 2> pair{static_cast<int>(node.id()), 1};
    const Event told = broadcast(node, all, pair, 1);
    co_await told;
    EXPECT_EQ(pair[0], 1);
  });
}

struct Counted : fabric::Item {
  explicit Counted(std::atomic<int>& its_count) noexcept : Item(&Counted::run), count(its_count) {}
  static void run(Item* item) noexcept {
    const std::unique_ptr<Counted> counted(static_cast<Counted*>(item));
    ++counted->count;
  }
  std::atomic<int>& count;
};

// Who calls may have kept work that nobody else does: it is handed over, though the call is refused.
TEST(Buffers, OfTheWrongSizeLeaveNothingKept) {
  constexpr int items = 2000;  // more than a thread does in passing
  test::run_on("local:1", [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    const ReduceGroups groups(all, all);
    const Doubles two(2);
    Doubles three(3);
    fabric::Context& context = node.endpoint().context();
    std::atomic<int> done = 0;
    // A thread of the program's own never comes again for what it has kept.
    const auto says_after_work = [&](const auto& call) {
      std::string said;
      std::thread([&] {
        const auto post_all = [&] {
          for (int i = 0; i < items; ++i) context.post(new Counted(done));
        };
        while (!context.try_run(post_all, fabric::Context::Rest::kept)) {
        }
        EXPECT_TRUE(fabric::Context::keeps());
        said = test::code_of(call);
        EXPECT_FALSE(fabric::Context::keeps());
      }).join();
      return said;
    };
    EXPECT_EQ(says_after_work([&] { allreduce(node, all, two, three, sum); }), "invalid_argument");
    EXPECT_EQ(says_after_work([&] { concurrent(node, {reduce_call(groups, 3, two, three, sum)}); }),
              "invalid_argument");
    while (done < 2 * items) context.try_enter([] {});
    co_return;
  });
}

}  // namespace
}  // namespace stretto
