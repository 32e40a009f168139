#include "statistics/aggregate.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "stretto/base/error.h"
#include "stretto/core/barrier_service.h"
#include "stretto/core/future.h"

namespace statistics {

using stretto::Event;
using stretto::Future;
using stretto::Node;
using stretto::NodeId;
using stretto::PhaseBarrier;
using stretto::SpawnOptions;
using stretto::Task;

namespace {

using Bytes = std::vector<std::byte>;

constexpr std::string_view part_name = "statistics.aggregate";
constexpr NodeId leader = 0;

Task<Bytes> advance_shard(Node& node, Bytes result) { return Aggregate::of(node).advance(std::move(result)); }

Event step(PhaseBarrier& barrier) { return std::exchange(barrier, barrier.next()).event(); }

}  // namespace

Aggregate::Aggregate(Node& node)
    : node_(node),
      called_(node.barriers().create(1, {})),
      awaited_call_(called_),
      finished_(node.barriers().create(1, {&leader, 1})),  // or poisoned, when the leader is lost
      arriving_finish_(finished_) {}

Aggregate& Aggregate::attach(Node& node) {
  auto aggregate = std::make_shared<Aggregate>(node);
  node.attach(part_name, aggregate);
  return *aggregate;
}

Aggregate& Aggregate::of(Node& node) { return *static_cast<Aggregate*>(node.part(part_name)); }

Event Aggregate::start(stretto::ConstByteSpan input, std::size_t element_bytes, const stretto::Reduction& reduction,
                       std::shared_ptr<const void> operator_state) {
  input_.assign(input.begin(), input.end());
  element_bytes_ = element_bytes;
  reduction_ = reduction;
  operator_state_ = std::move(operator_state);
  node_.barriers().arrive(std::exchange(called_, called_.next()));
  return step(finished_);
}

void Aggregate::stop() {
  is_stopped_ = true;
  node_.barriers().arrive(called_);
}

Task<Bytes> Aggregate::advance(Bytes result) {
  if (in_call_) {
    result_ = std::move(result);
    node_.barriers().arrive(std::exchange(arriving_finish_, arriving_finish_.next()));
  }
  co_await step(awaited_call_);
  in_call_ = !is_stopped_;
  co_return in_call_ ? input_ : Bytes();
}

Task<> Aggregate::lead() {
  const PhaseBarrier finished = arriving_finish_;
  try {
    co_await go_round();
  } catch (const stretto::Error& problem) {
    const stretto::UserEvent failed = node_.create_user_event();
    node_.poison(failed, problem);
    node_.barriers().arrive(finished, 1, failed);
    throw;
  }
}

Task<> Aggregate::go_round() {
  Bytes result;
  for (;;) {
    std::vector<Future<Bytes>> given;
    for (NodeId shard = 0; shard < node_.size(); ++shard) {
      given.push_back(node_.spawn_on<advance_shard>(shard, SpawnOptions(), result));
    }
    result = co_await given.front();
    for (std::size_t shard = 1; shard < given.size(); ++shard) {
      const Bytes part = co_await given[shard];
      if (part.size() != result.size()) {
        throw stretto::Error(stretto::ErrorCode::mismatch, "statistics: node 0 gives " + std::to_string(result.size()) +
                                                               " bytes, node " + std::to_string(shard) + " gives " +
                                                               std::to_string(part.size()));
      }
      if (is_stopped_) continue;
      reduction_.combine(operator_state_.get(), result.data(), result.data(), part.data(),
                         result.size() / element_bytes_);
    }
    if (is_stopped_) co_return;
  }
}

}  // namespace statistics
