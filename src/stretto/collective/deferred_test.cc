#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "stretto/collective/collective.h"
#include "stretto/collective/test_support.h"

// When collectives run, what stops them, and what misuse meets.
namespace stretto {
namespace {

using test::refusal;

using test::outcome;

class DeferredTest : public test::OnEveryFabric {};

INSTANTIATE_TEST_SUITE_P(Fabrics, DeferredTest, testing::ValuesIn(test::fabric_kinds), test::name_of_kind);

std::size_t threads_of_this_process() {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator()));
}

TEST_P(DeferredTest, TenThousandPendingCollectivesAddNoThread) {
  constexpr std::uint32_t nodes = 3;
  constexpr std::size_t operations = 10'000;
  run(nodes, [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    co_await barrier(node, all);
    const std::size_t threads = threads_of_this_process();
    const UserEvent go = node.create_user_event();
    std::vector<Future<std::uint64_t>> pending;
    for (std::size_t i = 0; i < operations; ++i) {
      pending.push_back(allreduce(node, all, i + node.id(), sum, CollectiveOptions().after(go)));
    }
    co_await barrier(node, all, CollectiveOptions().key(1));
    EXPECT_EQ(threads_of_this_process(), threads);
    for (const auto& each : pending) {
      if (node.has_triggered(each)) ADD_FAILURE() << "triggered before its precondition";
    }
    co_await barrier(node, all, CollectiveOptions().key(1));
    node.trigger(go);
    for (std::size_t i = 0; i < operations; ++i) {
      const std::uint64_t total = co_await pending[i];
      if (total != nodes * i + 3) ADD_FAILURE() << i << " gave " << total;
    }
    EXPECT_EQ(threads_of_this_process(), threads);
  });
}

// A buffer that says whether it is there.
struct Watched {
  explicit Watched(std::atomic<bool>& its_flag) : is_there(its_flag) { is_there = true; }
  ~Watched() { is_there = false; }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

  std::atomic<bool>& is_there;
  std::uint64_t word = 0;
};

// What fills a call's buffer may be at it when the job fails: who waits for the call goes on after that.
TEST_P(DeferredTest, WhoWaitsForACallUnwindsAfterWhatThatComesAfter) {
  std::atomic<bool> buffer_is_there{false};
  std::atomic<int> late{0};
  Runtime runtime(test::options_for(GetParam().of(2)));
  const UserEvent all_wait = runtime.nodes()[1]->create_user_event();
  const std::string failure = test::code_of([&] {
    runtime.run([&](Node& node) -> Task<> {
      if (node.id() == 1) {
        co_await all_wait;
        throw Error(ErrorCode::io, "on purpose");
      }
      Watched buffer(buffer_is_there);
      Event never;
      const auto fill = [&](Node& here) {
        EXPECT_EQ(test::code_of([&] { here.wait(never); }), "cancelled");
        late += buffer_is_there ? 0 : 1;
      };
      const SpawnOptions behind_this = SpawnOptions().processor(0);
      const Event filled = node.spawn(fill, behind_this);
      const std::span<std::uint64_t> data(&buffer.word, 1);
      const Event done = allreduce(node, Group::all(node), data, data, sum, CollectiveOptions().after(filled));
      never = node.create_user_event();  // last, so that it is told last
      node.spawn([all_wait](Node& here) { here.trigger(all_wait); }, behind_this);
      co_await done;
    });
  });
  EXPECT_EQ(failure, "io");
  EXPECT_EQ(late.load(), 0);
}

TEST_P(DeferredTest, BuffersAreNotTouchedBeforeThePrecondition) {
  run(4, [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    for (const std::size_t count : {3U, 5000U}) {
      const UserEvent filled = node.create_user_event();
      std::vector<std::uint64_t> data(count, 999);
      const Event done = allreduce(node, all, data, data, sum, CollectiveOptions().after(filled));
      if (node.id() == 2) {
        // The others have all they need but this node's part.
        co_await barrier(node, all, CollectiveOptions().key(5));
      } else {
        std::fill(data.begin(), data.end(), node.id());
        node.trigger(filled);
        co_await barrier(node, all, CollectiveOptions().key(5));
      }
      EXPECT_FALSE(node.has_triggered(done));
      co_await barrier(node, all, CollectiveOptions().key(5));
      if (node.id() == 2) {
        EXPECT_EQ(data, std::vector<std::uint64_t>(count, 999));
        std::fill(data.begin(), data.end(), 100);
        node.trigger(filled);
      }
      co_await done;
      EXPECT_EQ(data, std::vector<std::uint64_t>(count, 104));
    }
  });
}

TEST_P(DeferredTest, ACollectiveMayWaitForAnother) {
  run(4, [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    std::vector<std::uint64_t> data(10, 1);
    Event last;
    for (int i = 0; i < 20; ++i) {
      last = allreduce(node, all, data, data, sum, CollectiveOptions().after(last));
    }
    co_await last;
    EXPECT_EQ(data.front(), std::uint64_t{1} << 40U);  // 4 to the 20th
  });
}

TEST_P(DeferredTest, APoisonedPreconditionPoisonsEveryMember) {
  run(5, [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    const auto start = [&node, &all](int which, std::vector<int>& data, std::vector<int>& out, Event after) {
      const CollectiveOptions options = CollectiveOptions().after(after).key(3);
      switch (which) {
        case 0: return allreduce(node, all, data, data, sum, options);
        case 1: return allgather(node, all, data, out, options);
        case 2: return barrier(node, all, options);
        case 3: return broadcast(node, all, data, 2, options);
        default: return reduce(node, all, data, data, sum, 4, options);
      }
    };
    for (const std::size_t count : {1U, 3000U}) {
      for (int which = 0; which < 5; ++which) {
        std::vector<int> data(count, 1);
        std::vector<int> out(count * all.size());
        // Node 2 is the broadcast's root, and feeds the reduce's.
        const UserEvent ready = node.create_user_event();
        const Event done = start(which, data, out, ready);
        if (node.id() == 2) {
          node.poison(ready, Error(ErrorCode::io, "the disk of node 2 is full"));
        } else {
          node.trigger(ready);
        }
        const std::string said = co_await outcome(done);
        // Who only gives to a reduction may have done its part before it hears.
        if (which < 4 || node.id() == 4 || node.id() == 2) {
          EXPECT_EQ(said, "io: the disk of node 2 is full") << "operation " << which << " at node " << node.id();
        }
      }
    }
    // The group goes on.
    const int total = co_await allreduce(node, all, 1, sum);
    EXPECT_EQ(total, 5);
  });
}

TEST_P(DeferredTest, MisuseIsRefusedByName) {
  run(3, [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    std::vector<int> three(3);
    std::vector<int> four(4);
    const std::span<const int> in = three;
    EXPECT_EQ(refusal([&] { allreduce(node, all, in, four, sum); }),
              "allreduce: output has 4 elements where 3 are needed");
    EXPECT_EQ(refusal([&] { allgather(node, all, in, four); }), "allgather: output has 4 elements where 9 are needed");
    EXPECT_EQ(refusal([&] { reduce(node, all, in, four, sum, node.id()); }),
              "reduce: output has 4 elements where 3 are needed");
    EXPECT_EQ(refusal([&] { broadcast(node, all, three, 3); }), "root 3 is no rank of a group of 3");
    EXPECT_EQ(refusal([&] { reduce(node, all, in, three, sum, 7); }), "root 7 is no rank of a group of 3");
    const Group others{(node.id() + 1) % 3, (node.id() + 2) % 3};
    const std::string outside = refusal([&] { barrier(node, others); });
    EXPECT_EQ(outside.rfind("barrier at ", 0), 0U) << outside;
    EXPECT_NE(outside.find("deferred_test.cc:"), std::string::npos) << outside;
    EXPECT_TRUE(outside.ends_with(": node " + std::to_string(node.id()) +
                                  " is not in the group; call it at the group's nodes only"))
        << outside;
    // Whose block it would be nobody knows, nor whether it is the root's.
    for (const Rank root : {0U, 2U}) {
      EXPECT_EQ(refusal([&] { gather(node, others, 1, root); }).rfind("gather at ", 0), 0U);
    }
    EXPECT_EQ(refusal([&] { barrier(node, Group{node.id(), 3}); }),
              "node 3 of the group does not exist; the job has 3 nodes");
    const std::vector<std::span<const int>> shards{three, four};
    EXPECT_EQ(refusal([&] { allreduce(node, all, std::span<const std::span<const int>>(shards), three, sum); }),
              "allreduce: shard has 4 elements where 3 are needed");
    EXPECT_EQ(refusal([&] { allreduce(node, all, std::span<const std::span<const int>>(), three, sum); }),
              "allreduce: a node contributes at least one shard");
    EXPECT_NE(refusal([&] { barrier(node, all, CollectiveOptions().algorithm("no_such")); }).find("no_such"),
              std::string::npos);
    EXPECT_EQ(refusal([&] { barrier(node, all, CollectiveOptions().algorithm("ring_allgather")); }),
              "ring_allgather is an algorithm of allgather, not of barrier; `stretto explain` lists those");
    for (const std::uint32_t segments : {0U, 4097U, (1U << 30U) + 1, (1U << 31U) + 1}) {
      const CollectiveOptions options = CollectiveOptions().algorithm("ring_allreduce", segments);
      EXPECT_EQ(refusal([&] { allreduce(node, all, in, three, sum, options); }),
                "ring_allreduce: segments must be from 1 to 4096, not " + std::to_string(segments));
    }
    // What was refused took no number: the next collectives match.
    const int total = co_await allreduce(node, all, 1, sum);
    EXPECT_EQ(total, 3);
  });
}

TEST_P(DeferredTest, BlocksThatDoNotFitAreRefusedByName) {
  run(3, [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    std::vector<int> four(4);
    std::vector<int> nine(9);
    const std::span<const int> in = four;
    const std::vector<std::size_t> list{1, 2};
    const std::span<const std::size_t> two(list);
    const std::vector<std::size_t> lists{2, 2, 2};
    const std::span<const std::size_t> twos(lists);
    const std::string has_two = " has 2 entries where the group has 3 ranks";
    const std::string wrong_length = ": counts" + has_two;
    EXPECT_EQ(refusal([&] { allgather(node, all, in, nine, two); }), "allgather" + wrong_length);
    EXPECT_EQ(refusal([&] { gather(node, all, in, nine, two); }), "gather" + wrong_length);
    EXPECT_EQ(refusal([&] { scatter(node, all, in, nine, two); }), "scatter" + wrong_length);
    EXPECT_EQ(refusal([&] { reduce_scatter(node, all, in, nine, two, sum); }), "reduce_scatter" + wrong_length);
    EXPECT_EQ(refusal([&] { all_to_all(node, all, in, two, nine, twos); }), "all_to_all: input_counts" + has_two);
    EXPECT_EQ(refusal([&] { all_to_all(node, all, in, twos, nine, two); }), "all_to_all: output_counts" + has_two);
    EXPECT_EQ(refusal([&] { allgather(node, all, in, nine, twos); }),
              "allgather: input has 4 elements where 2 are needed");
    EXPECT_EQ(refusal([&] { allgather(node, all, in.first(2), nine, twos); }),
              "allgather: output has 9 elements where 6 are needed");
    EXPECT_EQ(refusal([&] { gather(node, all, in, nine, node.id()); }),
              "gather: output has 9 elements where 12 are needed");
    EXPECT_EQ(refusal([&] { scatter(node, all, in, nine, node.id()); }),
              "scatter: input has 4 elements where 27 are needed");
    EXPECT_EQ(refusal([&] { reduce_scatter(node, all, in, nine, sum); }),
              "reduce_scatter: input has 4 elements where 27 are needed");
    EXPECT_EQ(refusal([&] { all_to_all(node, all, in, four); }),
              "all_to_all: input has 4 elements, which 3 ranks cannot share equally");
    EXPECT_EQ(refusal([&] { all_to_all(node, all, in, twos, nine, twos); }),
              "all_to_all: input has 4 elements where 6 are needed");
    const std::string me = std::to_string(node.id());
    for (const std::size_t given : {1U, 3U}) {
      std::vector<std::size_t> gives(lists);
      gives[node.id()] = given;
      const std::vector<int> parts(4 + given);
      EXPECT_EQ(refusal([&] {
                  all_to_all(node, all, std::span<const int>(parts), std::span<const std::size_t>(gives),
                             std::span(nine).first(6), twos);
                }),
                "all_to_all: rank " + me + " gives itself " + std::to_string(given) +
                    " elements where it expects 2 of itself; pass the same number in both counts");
    }
    // In bytes they would come to nothing: one of them, and all together.
    const std::size_t quarter = std::size_t{1} << 61U;
    for (const std::size_t first : {2 * quarter, quarter - 1}) {
      const std::vector<std::size_t> wrapping{first, quarter - 1, 2};
      const std::span<const std::size_t> counts(wrapping);
      const std::size_t refused = first < quarter ? first + quarter - 1 : first;
      EXPECT_EQ(refusal([&] { allgather(node, all, in.first(2), std::span(nine).first(0), counts); }),
                "allgather: " + std::to_string(refused) +
                    " elements of 4 bytes are more than memory can hold; pass a smaller count");
    }
    EXPECT_EQ(refusal([&] { scan(node, all, in, nine, sum); }), "scan: output has 9 elements where 4 are needed");
    EXPECT_EQ(refusal([&] { exscan(node, all, in, nine, sum); }), "exscan: output has 9 elements where 4 are needed");
    const std::vector<std::size_t> zeros{0, 0, 0};
    const std::span<const std::size_t> none(zeros);
    const CollectiveOptions equal_only = CollectiveOptions().algorithm("bruck_all_to_all");
    EXPECT_EQ(refusal([&] { all_to_all(node, all, in.first(0), none, std::span(nine).first(0), none, equal_only); }),
              "bruck_all_to_all needs blocks of one size; name another algorithm");
    co_await barrier(node, all);
  });
}

// Input and output are apart, or just where the operation may have them in place.
TEST_P(DeferredTest, BuffersThatOverlapAreRefusedByName) {
  run(3, [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    std::vector<int> data(30);
    const std::span<int> at(data);
    const std::span<const int> in(data);
    const std::string overlap = ": input and output overlap; pass buffers that are apart";
    EXPECT_EQ(refusal([&] { allreduce(node, all, in.first(10), at.subspan(9, 10), sum); }),
              "allreduce" + overlap + ", or in place");
    EXPECT_EQ(refusal([&] { scan(node, all, in.subspan(1, 10), at.first(10), sum); }),
              "scan" + overlap + ", or in place");
    const std::size_t next = (node.id() + 1) % 3;
    EXPECT_EQ(refusal([&] { allgather(node, all, in.subspan(10 * next, 10), at); }),
              "allgather" + overlap + ", or in place");
    EXPECT_EQ(refusal([&] { reduce_scatter(node, all, in, at.subspan(10 * next, 10), sum); }),
              "reduce_scatter" + overlap + ", or in place");
    EXPECT_EQ(refusal([&] { gather(node, all, in.subspan(10 * next, 10), at, node.id()); }),
              "gather" + overlap + ", or in place");
    EXPECT_EQ(refusal([&] { scatter(node, all, in, at.subspan(10 * next, 10), node.id()); }),
              "scatter" + overlap + ", or in place");
    EXPECT_EQ(refusal([&] { all_to_all(node, all, in.first(27), at.subspan(3, 27)); }),
              "all_to_all" + overlap + ", or in place");
    const std::vector<std::size_t> gives = {1, 2, 3};
    std::vector<std::size_t> gets = gives;
    std::swap(gets[next], gets[(next + 1) % 3]);
    EXPECT_EQ(refusal([&] { all_to_all(node, all, in.first(6), gives, at.first(6), gets); }),
              "all_to_all" + overlap + ", or in place");
    // Side by side is apart.
    co_await allreduce(node, all, in.first(10), at.subspan(10, 10), sum);
    // Of shards the first may be in place.
    using Shards = std::vector<std::span<const int>>;
    for (const std::size_t second : {0U, 5U}) {
      const Shards shards{in.subspan(20, 10), in.subspan(second, 10)};
      EXPECT_EQ(refusal([&] { allreduce(node, all, shards, at.first(10), sum); }),
                "allreduce: output and shard 1 overlap; pass an output that is apart, or shard 0");
    }
    const Shards in_place{in.first(10), in.subspan(10, 10)};
    co_await allreduce(node, all, in_place, at.first(10), sum);
  });
}

TEST_P(DeferredTest, AFullSegmentPoisonsEveryMemberByName) {
  RuntimeOptions options = test::options_for(GetParam().of(3));
  options.segment_bytes = std::size_t{4} << 20U;
  Runtime runtime(options);
  runtime.run([](Node& node) -> Task<> {
    const Group all = Group::all(node);
    fabric::Segment& segment = node.endpoint().segment();
    std::uint64_t most = 0;
    if (node.id() == 1) most = segment.allocate((std::size_t{4} << 20U) - 65536);
    std::vector<std::uint8_t> data(std::size_t{1} << 20U, 1);
    // One that needs scratch, also where memory is shared.
    const CollectiveOptions with_scratch = CollectiveOptions().algorithm("recursive_doubling");
    const std::string said = co_await outcome(allreduce(node, all, data, data, sum, with_scratch));
    EXPECT_EQ(said.rfind("out_of_resources: the segment", 0), 0U) << said;
    if (node.id() == 1) segment.release(most);
  });
}

// Every worker is busy until the collective is over: somebody else must see to it.
class BusyWorkers : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Local, BusyWorkers, testing::Values("local:2", "local:2,peer_pointer=off", "local:4"));

template <class Op>
void complete_while_workers_are_busy(const char* fabric, std::size_t count, Op op) {
  constexpr unsigned workers = 2;
  Runtime runtime(test::options_for(fabric, workers));
  const auto nodes = runtime.nodes();
  std::vector<Event> done(nodes.size());
  std::vector<UserEvent> go(nodes.size());
  std::vector<std::vector<std::uint64_t>> data(nodes.size());
  std::atomic<unsigned> spinning{0};
  runtime.run([&](Node& node) -> Task<> {
    const Group all = Group::all(node);
    go[node.id()] = node.create_user_event();
    data[node.id()].assign(count, node.id());
    done[node.id()] = allreduce(node, all, std::span<const std::uint64_t>(data[node.id()]), std::span(data[node.id()]),
                                op, CollectiveOptions().after(go[node.id()]));
    co_await barrier(node, all, CollectiveOptions().key(1));
    if (node.id() >= workers) co_return;
    co_await node.spawn([&] {
      // The last worker that becomes busy lets the collective begin.
      if (spinning.fetch_add(1) + 1 == workers) {
        for (std::size_t i = 0; i < nodes.size(); ++i) nodes[i]->trigger(go[i]);
      }
      for (std::size_t i = 0; i < nodes.size(); ++i) {
        while (!nodes[i]->has_triggered(done[i])) {
        }
      }
    });
  });
  const std::uint64_t expected = nodes.size() * (nodes.size() - 1) / 2;
  for (const auto& each : data) EXPECT_EQ(each, std::vector<std::uint64_t>(count, expected));
}

TEST_P(BusyWorkers, DoNotStopASmallCollective) { complete_while_workers_are_busy(GetParam(), 1, sum); }
TEST_P(BusyWorkers, DoNotStopALargeCollective) { complete_while_workers_are_busy(GetParam(), 131'072, sum); }
TEST_P(BusyWorkers, DoNotStopAUsersOperator) {
  const auto add = [](std::uint64_t a, std::uint64_t b) { return a + b; };
  complete_while_workers_are_busy(GetParam(), 1, add);
  complete_while_workers_are_busy(GetParam(), 20'000, add);
}

}  // namespace
}  // namespace stretto
