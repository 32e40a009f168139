#include "stretto/collective/collective_service.h"

#include <utility>
#include <vector>

#include "stretto/base/arena.h"
#include "stretto/core/cause.h"
#include "stretto/core/extension.h"

namespace stretto {

namespace {

constexpr std::string_view part_name = "collective";

[[maybe_unused]] const bool registered =
    register_extension([](Node& node) { node.attach(part_name, std::make_shared<CollectiveService>(node)); });

void require_valid(const Group& group, const CollectiveCall& call, Rank me, NodeId node, std::uint32_t nodes) {
  const auto refuse = [](const std::string& what) { throw Error(ErrorCode::invalid_argument, what); };
  if (me == group.size()) {
    refuse("node " + std::to_string(node) + " calls a collective of a group that it is not in");
  }
  for (const NodeId member : group.nodes()) {
    if (member >= nodes) {
      refuse("node " + std::to_string(member) + " of the group does not exist; the job has " + std::to_string(nodes) +
             " nodes");
    }
  }
  if (call.root >= group.size()) {
    refuse("root " + std::to_string(call.root) + " is no rank of a group of " + std::to_string(group.size()));
  }
}

// What all members must agree on. The plan stands for group size, algorithm, root and commutativity.
std::uint32_t digest_of(const CollectiveCall& call, const Plan& plan) {
  const schedule::Shape& shape = plan.schedule().shape;
  const bool sized_by_input = shape.operation == schedule::Operation::allgather;
  std::uint64_t digest = fnv1a_64(plan.algorithm());
  for (const std::uint64_t part :
       {static_cast<std::uint64_t>(shape.operation), std::uint64_t{shape.size}, std::uint64_t{shape.root},
        static_cast<std::uint64_t>(call.reduction.combine == nullptr && !sized_by_input ? call.output.size()
                                                                                        : call.input.size()),
        call.type_digest, call.reduction.digest}) {
    digest = mix_64(digest ^ part);
  }
  return static_cast<std::uint32_t>(digest);
}

}  // namespace

CollectiveService::CollectiveService(Node& node) : node_(node), endpoint_(node.endpoint()) {
  for (const auto type : {fabric::MessageType::collective_data, fabric::MessageType::collective_ready,
                          fabric::MessageType::collective_failed, fabric::MessageType::collective_hello}) {
    endpoint_.set_handler(type, *this);
  }
  endpoint_.add_observer(*this);
}

CollectiveService::~CollectiveService() {
  while (!operations_.empty()) {
    CollectiveOperation* const operation = operations_.begin()->second;
    operations_.erase(operations_.begin());
    arena::destroy(operation);
  }
}

CollectiveService& CollectiveService::of(Node& node) { return *static_cast<CollectiveService*>(node.part(part_name)); }

Event CollectiveService::start(const Group& group, CollectiveCall call, const CollectiveOptions& options) {
  const Rank me = group.rank_of(node_.id());
  require_valid(group, call, me, node_.id(), node_.size());
  const std::uint64_t stream = mix_64(group.hash().high ^ mix_64(group.hash().low ^ mix_64(options.key())));
  std::shared_ptr<const Plan> its_plan;
  std::uint32_t sequence = 0;
  {
    const std::lock_guard lock(call_mutex_);
    its_plan = plan(group, call, me, options.algorithm());
    sequence = sequences_[stream]++;
  }
  const Identity identity{stream, sequence, digest_of(call, *its_plan)};
  const Event completion = node_.events().create();
  CollectiveOperation::launch(*this,
                              {group, std::move(call), identity, std::move(its_plan), completion, options.where()},
                              options.precondition());
  return completion;
}

// REQUIRES: call_mutex_ is held.
std::shared_ptr<const Plan> CollectiveService::plan(const Group& group, const CollectiveCall& call, Rank me,
                                                    std::string_view algorithm) {
  PlanKey key{group.hash(), std::string(algorithm), call.operation, call.root, call.reduction.commutative};
  std::shared_ptr<const Plan>& known = plans_[key];
  if (known == nullptr) {
    schedule::Shape shape;
    shape.operation = call.operation;
    shape.size = group.size();
    shape.root = call.root;
    shape.commutative = call.reduction.commutative;
    const schedule::Algorithm& chosen =
        algorithm.empty() ? choose_algorithm(shape) : schedule::find_algorithm(algorithm);
    chosen.require(shape);
    known = std::make_shared<const Plan>(chosen, shape, me);
  }
  return known;
}

void CollectiveService::begin(CollectiveOperation& operation) {
  const Identity& identity = operation.identity();
  Progress& progress = progress_[identity.stream];
  if (identity.sequence == progress.low) {
    ++progress.low;
  } else {
    progress.beyond.insert(identity.sequence);
  }
  while (!progress.beyond.empty() && progress.beyond.erase(progress.low) == 1) ++progress.low;
  operations_.emplace(identity, &operation);
  const auto found = early_.find(identity);
  CollectiveOperation::Early early;
  if (found != early_.end()) {
    early = std::move(found->second);
    early_.erase(found);
  }
  operation.begin(std::move(early));
}

void CollectiveService::finished(const CollectiveOperation& operation) {
  const Identity& identity = operation.identity();
  operations_.erase(identity);
  std::array<Identity, 64>& over = progress_[identity.stream].over;
  over[identity.sequence % over.size()] = identity;
}

// A message for an operation that is over. Either that failed, and its members know; or it was another one than the
// sender's, who would wait in vain.
void CollectiveService::answer_late(NodeId from, const Identity& theirs) {
  const auto& over = progress_[theirs.stream].over;
  const Identity& ours = over[theirs.sequence % over.size()];
  if (ours.stream != theirs.stream || ours.sequence != theirs.sequence || ours.digest == theirs.digest) return;
  const Cause cause = std::make_shared<const Error>(
      ErrorCode::mismatch, "node " + std::to_string(node_.id()) + " is through with what node " + std::to_string(from) +
                               " calls as the same collective: operation, count, type, "
                               "operator, root, algorithm or order differ");
  const FailedHeader header{theirs, static_cast<std::uint32_t>(cause->code()), 0};
  endpoint_.send(from, fabric::MessageType::collective_failed, stretto::bytes_of(header), text_of(cause));
}

void CollectiveService::tell_failure(const CollectiveOperation& operation, const Cause& cause,
                                     CollectiveOperation::Tell tell) {
  using Tell = CollectiveOperation::Tell;
  const FailedHeader header{operation.identity(), static_cast<std::uint32_t>(cause->code()), 0};
  const auto send_to = [&](NodeId member) {
    if (member == node_.id()) return;
    endpoint_.send(member, fabric::MessageType::collective_failed, stretto::bytes_of(header), text_of(cause));
  };
  if (tell == Tell::everybody) {
    for (const NodeId member : operation.group().nodes()) send_to(member);
  } else {
    for (const Rank peer : operation.plan().peers()) send_to(operation.group().node(peer));
  }
}

std::uint64_t CollectiveService::register_landing(CollectiveOperation& operation, std::uint32_t step) {
  landings_.emplace(next_landing_, Landing{&operation, step});
  return next_landing_++;
}

CollectiveOperation* CollectiveService::find(const Identity& identity) {
  const auto found = operations_.find(identity);
  return found == operations_.end() ? nullptr : found->second;
}

bool CollectiveService::has_begun(const Identity& identity) const {
  const auto found = progress_.find(identity.stream);
  return found != progress_.end() &&
         (identity.sequence < found->second.low || found->second.beyond.contains(identity.sequence));
}

void CollectiveService::on_message(const fabric::Message& message) {
  switch (message.type) {
    case fabric::MessageType::collective_data: {
      const auto header = fabric::read_header<DataHeader>(message);
      if (CollectiveOperation* const operation = find(header.identity)) {
        operation->on_data(message.from, header, message.payload);
      } else if (!has_begun(header.identity)) {
        early_[header.identity].data.push_back(
            {message.from, header, {message.payload.begin(), message.payload.end()}});
      } else {
        answer_late(message.from, header.identity);
      }
      break;
    }
    case fabric::MessageType::collective_ready: {
      const auto header = fabric::read_header<ReadyHeader>(message);
      if (CollectiveOperation* const operation = find(header.identity)) {
        operation->on_ready(message.from, header);
      } else if (!has_begun(header.identity)) {
        early_[header.identity].ready.emplace_back(message.from, header);
      } else {
        answer_late(message.from, header.identity);
      }
      break;
    }
    case fabric::MessageType::collective_hello: {
      const Identity theirs = fabric::read_header<HelloHeader>(message).identity;
      if (CollectiveOperation* const operation = find(theirs)) {
        operation->on_hello(message.from, theirs);
      } else if (!has_begun(theirs)) {
        early_[theirs].hellos.emplace_back(message.from, theirs);
      } else {
        answer_late(message.from, theirs);
      }
      break;
    }
    default: {
      const auto header = fabric::read_header<FailedHeader>(message);
      const TriggerHeader outcome{0, 1, static_cast<std::uint8_t>(header.code)};
      const Cause cause = cause_from(outcome, message.payload);
      if (CollectiveOperation* const operation = find(header.identity)) {
        operation->on_failure(message.from, cause);
      } else if (!has_begun(header.identity)) {
        early_[header.identity].failures.emplace_back(message.from, cause);
      }
    }
  }
}

void CollectiveService::on_notification(NodeId from, fabric::Notification notification) {
  const auto found = landings_.find(notification);
  if (found == landings_.end()) return;
  found->second.operation->on_piece(from, found->second.step);
}

void CollectiveService::on_peer_lost(NodeId peer, const Error& error) {
  const Cause cause = std::make_shared<const Error>(ErrorCode::peer_lost, error.message());
  std::vector<Identity> concerned;
  for (const auto& [identity, operation] : operations_) {
    if (operation->group().contains(peer)) concerned.push_back(identity);
  }
  for (const Identity& identity : concerned) {
    if (CollectiveOperation* const operation = find(identity))
      operation->fail(cause, CollectiveOperation::Tell::neighbours);
  }
}

}  // namespace stretto
