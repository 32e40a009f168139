#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "stretto/base/random.h"
#include "stretto/collective/collective_service.h"
#include "stretto/collective/group.h"
#include "stretto/core/test_support.h"
#include "stretto/schedule/test_support.h"

/// What the tests of this folder share.
namespace stretto::test {

/// The fabrics that collectives are tested on: what comes before and after the number of nodes.
struct FabricKind {
  const char* name;
  const char* before;
  const char* after;

  std::string of(std::uint32_t nodes) const { return before + std::to_string(nodes) + after; }
  friend void PrintTo(const FabricKind& kind, std::ostream* out) { *out << kind.name; }
};

inline const FabricKind fabric_kinds[] = {
    {"local", "local:", ""},
    {"local_without_peer_pointer", "local:", ",peer_pointer=off"},
    {"local_segments", "local:", ",peer_pointer=segments"},
    {"local_reads", "local:", ",peer_pointer=reads"},
    {"sim", "sim:", ""},
    {"sim_disordered", "sim:", ",seed=3,jitter=3us,reorder=0.3,delay=40us,delay_probability=0.05"},
    {"sim_early", "sim:", ",seed=4,jitter=2us,reorder=0.2,early=0.3"},
    {"sim_segments", "sim:", ",seed=5,jitter=2us,reorder=0.2,early=0.3,peer_pointer=segments"},
    {"sim_one_host", "sim:", ",seed=6,jitter=2us,reorder=0.2,early=0.3,peer_pointer=reads,hosts=1"},
    {"sim_one_host_staged", "sim:", ",seed=7,jitter=2us,reorder=0.2,early=0.3,peer_pointer=segments,hosts=1"},
};

/// Tests on each of them.
class OnEveryFabric : public testing::TestWithParam<FabricKind> {
 protected:
  static void run(std::uint32_t nodes, const Runtime::Main& main) { run_on(GetParam().of(nodes), main); }
};
inline std::string name_of_kind(const testing::TestParamInfo<FabricKind>& kind) { return kind.param.name; }

/// What each node contributes as element `index`, different for each `salt`.
inline std::uint64_t contribution(std::uint64_t salt, NodeId node, std::uint64_t index) {
  std::uint64_t state = salt * 0x10001U + node * 0x1000003U + index;
  return next_splitmix64(state);
}

/// Of the node's segment, but for what collectives keep as long as it lives.
inline std::size_t bytes_in_use(Node& node) {
  return node.endpoint().segment().bytes_in_use() - CollectiveService::of(node).receipts().bytes();
}

/// `count` of the nodes 0 to nodes - 1, in random order.
inline Group random_group(Random& random, std::uint32_t nodes, std::uint32_t count) {
  std::vector<NodeId> all;
  for (NodeId node = 0; node < nodes; ++node) all.push_back(node);
  std::vector<NodeId> chosen;
  while (chosen.size() < count) {
    const std::size_t at = random.below(all.size());
    chosen.push_back(all[at]);
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return Group(chosen);
}

/// The members of ranks 0 to count - 1.
inline Group first_ranks(const Group& group, Rank count) {
  const auto nodes = group.nodes().first(count);
  return Group(std::vector(nodes.begin(), nodes.end()));
}

/// x -> a x + b, composed: associative, and the order of the terms matters.
struct Affine {
  std::uint32_t a;
  std::uint32_t b;
  friend bool operator==(const Affine&, const Affine&) = default;
};
struct Compose {
  Affine operator()(const Affine& f, const Affine& g) const { return {f.a * g.a, f.a * g.b + f.b}; }
};
inline Affine affine(std::uint64_t salt, NodeId node, std::uint64_t index) {
  const std::uint64_t bits = contribution(salt, node, index);
  return {static_cast<std::uint32_t>(bits) | 1U, static_cast<std::uint32_t>(bits >> 32U)};
}

/// element(node) of all members, combined in the order of their ranks.
template <class Op, class Of>
auto serial(const Group& group, const Op& op, Of element) {
  auto result = element(group.node(0));
  for (Rank rank = 1; rank < group.size(); ++rank) result = op(result, element(group.node(rank)));
  return result;
}

/// What `node` contributes, as elements of type T.
template <class T>
std::vector<T> values(std::size_t count, std::uint64_t salt, NodeId node) {
  std::vector<T> result(count);
  for (std::size_t i = 0; i < count; ++i) {
    if constexpr (std::is_same_v<T, Affine>) {
      result[i] = affine(salt, node, i);
    } else {
      result[i] = static_cast<T>(contribution(salt, node, i));
    }
  }
  return result;
}

/// All members' values, combined one after the other.
template <class T, class Op>
std::vector<T> reduced(const Group& group, std::size_t count, std::uint64_t salt, const Op& op) {
  std::vector<T> result = values<T>(count, salt, group.node(0));
  for (Rank rank = 1; rank < group.size(); ++rank) {
    const std::vector<T> next = values<T>(count, salt, group.node(rank));
    for (std::size_t i = 0; i < count; ++i) result[i] = op(result[i], next[i]);
  }
  return result;
}

/// The chosen one (no name), and all that can do it.
inline std::vector<std::string_view> algorithms_for(const schedule::Shape& shape) {
  std::vector<std::string_view> names = {{}};
  for (const schedule::Algorithm* algorithm : schedule::algorithms()) {
    if (algorithm->operation() != shape.operation) continue;
    if (algorithm->supports(algorithm->with_segments(shape))) names.push_back(algorithm->name());
  }
  return names;
}

/// How `call` is refused as misuse; "accepted" if it is not.
template <class Call>
std::string refusal(const Call& call) {
  const std::optional<Error> error = error_of(call);
  if (!error) return "accepted";
  EXPECT_EQ(error->code(), ErrorCode::invalid_argument);
  return error->message();
}

/// Awaits `event`; "" if it triggered clean, else what its cause says.
inline Task<std::string> outcome(Event event) {
  try {
    co_await event;
  } catch (const Error& error) {
    co_return error.what();
  }
  co_return "";
}

/// Takes the place of a node's executor: sees what collectives of others send there, and answers as it likes.
class Liar final : public fabric::MessageHandler {
 public:
  using Answer = std::function<void(const fabric::Message&)>;

  Liar(Node& node, Answer answer) : answer_(std::move(answer)) {
    using fabric::MessageType;
    for (const auto type : {MessageType::collective_data, MessageType::collective_ready, MessageType::collective_failed,
                            MessageType::collective_hello, MessageType::collective_grant,
                            MessageType::collective_whole_grant, MessageType::collective_done}) {
      node.endpoint().set_handler(type, *this);
    }
  }
  void on_message(const fabric::Message& message) override { answer_(message); }

 private:
  Answer answer_;
};

/// How a seed's failure is seen again.
inline std::string replay(std::uint64_t seed) {
  const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
  return "seed " + std::to_string(seed) + "; replay: STRETTO_TEST_SEED=" + std::to_string(seed) +
         " collective_test --gtest_filter=" + test.test_suite_name() + "." + test.name();
}

}  // namespace stretto::test
