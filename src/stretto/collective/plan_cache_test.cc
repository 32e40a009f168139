#include "stretto/collective/plan_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stretto/collective/collective.h"
#include "stretto/collective/test_support.h"

// What is worked out for calls is found again, forgotten in the end, and kept as long as it is in use.
namespace stretto {
namespace {

constexpr std::uint32_t nodes = 9;

// All groups that a number with a bit for each node means, in which `me` is.
std::vector<Group> groups_with(NodeId me, std::size_t count) {
  std::vector<Group> groups;
  for (std::uint32_t bits = 1; groups.size() < count; ++bits) {
    if ((bits >> me & 1U) == 0) continue;
    std::vector<NodeId> members;
    for (NodeId node = 0; node < nodes; ++node) {
      if ((bits >> node & 1U) != 0) members.push_back(node);
    }
    groups.emplace_back(members);
  }
  return groups;
}

TEST(PlanCache, HoldsNoMoreThanItsBound) {
  test::run_on("local:9", [](Node& node) -> Task<> {
    if (node.id() != 0) co_return;
    PlanCache cache(CollectiveService::of(node));
    const std::vector<Group> groups = groups_with(0, 200);
    std::vector<CallForm> forms(41, form_of_movement<schedule::Operation::broadcast, char>);
    for (std::size_t kind = 0; kind < forms.size(); ++kind) forms[kind].element_bytes = kind + 1;
    CollectiveCall call(forms.front());
    for (const Group& group : groups) {
      for (std::size_t kind = 1; kind < forms.size(); ++kind) {
        call.form = &forms[kind];
        const Preparation& prepared = cache.of(group).prepare(call, {});
        EXPECT_EQ(&cache.of(group).prepare(call, {}), &prepared);
        EXPECT_LE(cache.held(), PlanCache::most_groups * PlanCache::most_of_a_group);
      }
    }
    EXPECT_EQ(cache.held(), PlanCache::most_groups * PlanCache::most_of_a_group);
    // Of those that used theirs last, the last ones.
    EXPECT_NE(cache.of(groups.back()).find(call, {}), nullptr);
    EXPECT_EQ(cache.of(groups.front()).find(call, {}), nullptr);
    call.form = &forms.front();
    EXPECT_EQ(cache.of(groups.back()).find(call, {}), nullptr);
  });
}

TEST(PlanCache, CallsAreDoneInThemselvesUpToALimit) {
  test::run_on("sim:2,early=1,peer_pointer=segments,hosts=1", [](Node& node) -> Task<> {
    PlanCache cache(CollectiveService::of(node));
    const Group both({0, 1});
    std::vector<double> memory(schedule::most_of_two_in_one_go / sizeof(double) + 2);
    const auto may_be_inline = [&](const CallForm& form, std::size_t input_bytes, std::size_t output_bytes,
                                   const Named& named) {
      CollectiveCall call(form);
      const ByteSpan all = std::as_writable_bytes(std::span(memory));
      call.input = all.first(input_bytes);
      call.output = all.first(output_bytes);
      return cache.of(both).prepare(call, named).may_be_inline;
    };
    const CallForm& gathering = form_of_movement<schedule::Operation::allgather, double>;
    constexpr std::size_t most = schedule::most_of_two_in_one_go;
    EXPECT_TRUE(may_be_inline(gathering, most / 2, most, {}));
    EXPECT_FALSE(may_be_inline(gathering, most / 2 + 8, most + 16, {}));
    const CallForm& reducing = form_of_reduction<schedule::Operation::allreduce, double, Sum>;
    const Named doubling{&schedule::find_algorithm("recursive_doubling")};
    EXPECT_TRUE(may_be_inline(reducing, piece_bytes, piece_bytes, doubling));
    EXPECT_FALSE(may_be_inline(reducing, piece_bytes + 8, piece_bytes + 8, doubling));
    // However many segments it has.
    const CallForm& telling = form_of_movement<schedule::Operation::broadcast, double>;
    const Named chain{&schedule::find_algorithm("chain_broadcast"), 4};
    for (const Named& named : {Named{}, chain}) {
      EXPECT_TRUE(may_be_inline(telling, large_piece_bytes, large_piece_bytes, named));
      EXPECT_FALSE(may_be_inline(telling, large_piece_bytes + 32, large_piece_bytes + 32, named));
    }
    co_return;
  });
}

TEST(PlanCache, KeepsWhatIsInUse) {
  test::run_on("local:9", [](Node& node) -> Task<> {
    if (node.id() != 0) co_return;
    PlanCache cache(CollectiveService::of(node));
    const std::vector<Group> groups = groups_with(0, 100);
    const CollectiveCall call(form_of_barrier);
    Preparation& used = cache.of(groups[0]).prepare(call, {});
    used.begin_use();
    for (const Group& group : groups) cache.of(group).prepare(call, {});
    EXPECT_EQ(cache.of(groups[0]).find(call, {}), &used);
    EXPECT_EQ(cache.of(groups[1]).find(call, {}), nullptr);
  });
}

// More groups than plans are kept for, in turns, some of their calls waiting meanwhile.
TEST(PlanCache, CallsOfManyGroupsAndKeys) {
  test::run_on("local:9", [](Node& node) -> Task<> {
    std::vector<Group> groups;
    for (const Group& group : groups_with(0, 150)) {
      if (group.contains(node.id())) groups.push_back(group);
    }
    const UserEvent gate = node.create_user_event();
    std::vector<Future<int>> waiting;
    for (const Group& group : groups) {
      waiting.push_back(allreduce(node, group, 2, sum, CollectiveOptions().key(7).after(gate)));
    }
    for (std::uint64_t round = 0; round < 3; ++round) {
      for (const Group& group : groups) {
        const int total = co_await allreduce(node, group, 1, sum, CollectiveOptions().key(round));
        EXPECT_EQ(total, static_cast<int>(group.size()));
      }
    }
    node.trigger(gate);
    for (std::size_t i = 0; i < groups.size(); ++i) {
      const int total = co_await waiting[i];
      EXPECT_EQ(total, 2 * static_cast<int>(groups[i].size()));
    }
  });
}

// Between those of a kind that is made again and again, others that are made once, and not looked for among what was
// made before: what is known of that kind goes.
TEST(PlanCache, ACallIsPreparedAnewWhenItsLikeWasForgotten) {
  test::run_on("local:3", [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    std::vector<std::size_t> data(PlanCache::most_of_a_group + 2);
    const auto broadcast_of = [&](std::size_t count, const CollectiveOptions& options) -> Task<> {
      const std::span<std::size_t> part = std::span(data).first(count);
      std::fill(part.begin(), part.end(), node.id() == 0 ? count : 0);
      co_await broadcast(node, all, part, 0, options);
      EXPECT_EQ(std::count(part.begin(), part.end(), count), static_cast<std::ptrdiff_t>(count));
    };
    const UserEvent past = node.create_user_event();
    node.trigger(past);
    for (int round = 0; round < 3; ++round) {
      for (int again = 0; again < 4; ++again) co_await broadcast_of(1, {});
      for (std::size_t count = 2; count <= data.size(); ++count) {
        co_await broadcast_of(count, CollectiveOptions().after(past));
      }
    }
  });
}

}  // namespace
}  // namespace stretto
