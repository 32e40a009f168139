#include "stretto/collective/collective_service.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <ranges>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "stretto/base/arena.h"
#include "stretto/collective/transfer.h"
#include "stretto/core/cause.h"
#include "stretto/core/extension.h"

namespace stretto {

namespace {

// What the nodes of a process share. It lasts as long as they do.
struct Shared {
  explicit Shared(const Surroundings& surroundings) : selector(surroundings) {}

  Selector selector;
  Meetings meetings;
};

// Jobs may be set up at the same time, by threads of their own.
std::shared_ptr<Shared> shared_of(const Surroundings& surroundings) {
  static std::mutex mutex;
  static std::vector<std::weak_ptr<Shared>> known;
  const std::lock_guard lock(mutex);
  std::erase_if(known, [](const std::weak_ptr<Shared>& each) { return each.expired(); });
  for (const std::weak_ptr<Shared>& each : known) {
    std::shared_ptr<Shared> shared = each.lock();
    if (shared != nullptr && &shared->selector.surroundings() == &surroundings) return shared;
  }
  auto shared = std::make_shared<Shared>(surroundings);
  known.push_back(shared);
  return shared;
}

[[maybe_unused]] const bool registered = register_extension([](Node& node) {
  const Surroundings& surroundings = node.surroundings();
  const std::shared_ptr<Shared> shared = shared_of(surroundings);
  const bool may_meet = surroundings.one_process && surroundings.simulated == nullptr;
  node.attach(
      CollectiveService::part_name,
      std::make_shared<CollectiveService>(node, std::shared_ptr<Selector>(shared, &shared->selector),
                                          may_meet ? std::shared_ptr<Meetings>(shared, &shared->meetings) : nullptr));
});

/// How often a small call looks for a message where nobody else wants the core: about as long as a line takes between
/// cores that are far apart, twice.
constexpr unsigned looks_with_own_core = 128;

/// What the header of a collective's message begins with.
template <class Beginning>
Beginning beginning_of(const fabric::Message& message) {
  Beginning beginning;
  if (message.header.size() < sizeof beginning) {
    throw Error(ErrorCode::bad_input, "node " + std::to_string(message.from) + " speaks of no collective");
  }
  std::memcpy(&beginning, message.header.data(), sizeof beginning);
  return beginning;
}

}  // namespace

CollectiveService::CollectiveService(Node& node, std::shared_ptr<Selector> selector, std::shared_ptr<Meetings> meetings)
    : node_(node),
      endpoint_(node.endpoint()),
      selector_(std::move(selector)),
      reaches_all_(endpoint_.offset_for_peers(this, sizeof *this).has_value()),
      meetings_(reaches_all_ ? std::move(meetings) : nullptr),
      settings_matter_(node.surroundings().reproducible || node.surroundings().check_calls),
      patient_looks_(node.surroundings().occupancy.nodes > node.surroundings().occupancy.cores ? 1
                                                                                               : looks_with_own_core) {
  for (const auto type : {fabric::MessageType::collective_data, fabric::MessageType::collective_ready,
                          fabric::MessageType::collective_failed, fabric::MessageType::collective_hello,
                          fabric::MessageType::collective_grant, fabric::MessageType::collective_whole_grant,
                          fabric::MessageType::collective_done, fabric::MessageType::collective_landed,
                          fabric::MessageType::collective_taken, fabric::MessageType::collective_released,
                          fabric::MessageType::collective_held, fabric::MessageType::collective_pull,
                          fabric::MessageType::collective_used}) {
    endpoint_.set_handler(type, *this);
  }
  endpoint_.add_observer(*this);
  node.add_operations(*this);
}

void CollectiveService::Greetings::say(Item* item) noexcept {
  auto* const greetings = static_cast<Greetings*>(item);
  greetings->put_off = false;
  greetings->service.for_each_under_way([](CollectiveOperation& operation) { operation.greet(); });
}

CollectiveService::~CollectiveService() {
  for_each_under_way([](CollectiveOperation& operation) { arena::destroy(&operation); });
}

// Between hosts nobody maps anybody, on one host everybody everybody, on `sim` all or none: all members say the same.
schedule::Link CollectiveService::link_of(const Group& group) const {
  if (is_in_simulated_host(node_.surroundings(), group)) return schedule::Link::host;
  const auto nodes = group.nodes();
  const bool shares_memory =
      std::all_of(nodes.begin(), nodes.end(), [this](NodeId node) { return endpoint_.maps(node); });
  if (!shares_memory) return schedule::Link::wire;
  return node_.surroundings().one_process ? schedule::Link::local : schedule::Link::host;
}

schedule::Placement CollectiveService::placement_of(const Group& group) const {
  schedule::Placement placement = stretto::placement_of(node_.surroundings(), link_of(group));
  placement.meets = meetings_ != nullptr;
  return placement;
}

bool CollectiveService::can_receive_from(const Group& group) const {
  const auto nodes = group.nodes();
  return std::all_of(nodes.begin(), nodes.end(),
                     [this](NodeId node) { return node == node_.id() || endpoint_.can_receive_from(node); });
}

std::unique_ptr<const PlacedPlan> CollectiveService::place(const Plan& plan, const CollectiveCall& call,
                                                           const Group& members) {
  auto placed = std::make_unique<PlacedPlan>(plan, Layout(call, plan.schedule().shape), members,
                                             schedule::lending_limits(placement_of(members), members.size()),
                                             [this](NodeId node) { return endpoint_.maps(node); });
  placed->use_multicasts([this](std::span<const NodeId> nodes) { return endpoint_.multicast_to(nodes); });
  placed->use_ways([this](NodeId node) -> fabric::Way& { return way_to(node); },
                   [this](NodeId node) -> EagerWindow::Account& { return eager_window_.with(node); });
  return placed;
}

fabric::Way& CollectiveService::way_to(NodeId node) {
  std::unique_ptr<fabric::Way>& way = ways_[node];
  if (way == nullptr) way = endpoint_.way_to(node);
  return *way;
}

[[gnu::hot]] bool CollectiveService::send_to_all(std::span<const PlacedStep> row, const CallHeader& header,
                                                 ConstByteSpan data) {
  if (!EagerWindow::take_all(row | std::views::transform(&PlacedStep::account), data.size())) return false;
  endpoint_.send_to_all(*row.front().multicast, fabric::MessageType::collective_data, stretto::bytes_of(header), data);
  return true;
}

// Small calls of nodes that reach all of each other's memory.
bool CollectiveService::may_meet(const CollectiveCall& call, const schedule::Shape& shape) const {
  const std::size_t bytes = bytes_of_vector(call, shape.size);
  return meetings_ != nullptr && call.fused() == nullptr && !call.reduction().as_task &&
         schedule::pays_jointly(shape, schedule::cuts_vector(shape.operation) ? bytes : bytes / shape.size);
}

[[gnu::hot]] void CollectiveService::begin(CollectiveOperation& operation) {
  const std::uint32_t calls = operation.calls();
  if (calls == 1) {
    begin_one(operation);
    return;
  }
  Stream& its_stream = operation.stream();
  Identity identity = operation.identity();
  const std::source_location where = operation.where();
  begin_one(operation);
  // Who has calls of their own where this node has one for several hears of it.
  for (std::uint32_t further = 1; further < calls; ++further) {
    ++identity.sequence;
    its_stream.note_past(identity, where);
    pass(its_stream, identity.sequence);
  }
}

[[gnu::hot]] void CollectiveService::begin_one(CollectiveOperation& operation) {
  Stream& its_stream = operation.stream();
  const std::uint32_t sequence = operation.identity().sequence;
  under_way_.add(operation);
  if (!its_stream.begin(sequence, operation)) {
    operation.begin();
    return;
  }
  SavedMessages early = its_stream.take_early(sequence);
  operation.begin();
  // It may be over, or be it by one of these.
  use_early(early);
}

[[gnu::hot]] void CollectiveService::end(CollectiveOperation& operation) {
  operation.stream().end(operation.identity(), operation.where());
  under_way_.remove(operation);
  if (operation.has_failed()) {
    late_mismatches_.note_failure(operation.identity(), operation.failure(), !operation.has_left());
  }
}

void CollectiveService::use_early(SavedMessages& messages) {
  // What is bad costs its sender the connection, as it would have on arrival.
  messages.use_all([this](const fabric::Message& message) { endpoint_.deliver(message); });
}

Cause CollectiveService::find_loss_in(const Group& group) const noexcept {
  const auto found =
      std::find_if(losses_.begin(), losses_.end(), [&group](const auto& loss) { return group.contains(loss.first); });
  return found == losses_.end() ? nullptr : found->second;
}

// A message for an operation that is over. Either that failed, and its members know; or it was another one than the
// sender's, who would wait in vain, or is through with it as well.
void CollectiveService::answer_late(const fabric::Message& message) {
  if (message.type == fabric::MessageType::collective_released) return;  // follows a failure
  const auto theirs = beginning_of<CallHeader>(message);
  const Stream::Past* const ours = stream(theirs.identity.stream).past(theirs.identity.sequence);
  if (ours == nullptr || ours->digest == theirs.identity.digest) return;
  say_other(message.from, theirs.identity, late_mismatches_.note(*ours, message.from, theirs));
}

void CollectiveService::say_other(NodeId to, const Identity& theirs, const Cause& cause) {
  const FailedHeader header{theirs, static_cast<std::uint32_t>(cause->code()), 0, 0};
  endpoint_.send(to, fabric::MessageType::collective_failed, stretto::bytes_of(header), text_of(cause));
}

void CollectiveService::tell_failure(const CollectiveOperation& operation, const Cause& cause,
                                     CollectiveOperation::Tell tell) {
  using Tell = CollectiveOperation::Tell;
  FailedHeader header{operation.identity(), static_cast<std::uint32_t>(cause->code()),
                      operation.waits_for_release() ? 1U : 0U, 0};
  const auto send_to = [&](NodeId member) {
    if (member == node_.id()) return;
    header.pieces = operation.pieces_put_to(member);
    send_or_lose(member, fabric::MessageType::collective_failed, stretto::bytes_of(header), text_of(cause));
  };
  if (tell == Tell::everybody) {
    for (const NodeId member : operation.group().nodes()) send_to(member);
  } else {
    for (const Rank peer : operation.plan().peers()) send_to(operation.group().node(peer));
  }
}

void CollectiveService::say_released(NodeId to, const Identity& identity, std::uint64_t pieces) {
  const ReleasedHeader header{identity, pieces};
  send_or_lose(to, fabric::MessageType::collective_released, stretto::bytes_of(header), {});
}

// What a member would else wait for in vain: where it cannot be sent, that one is lost.
void CollectiveService::send_or_lose(NodeId to, fabric::MessageType type, ConstByteSpan header, ConstByteSpan text) {
  try {
    endpoint_.send(to, type, header, text);
  } catch (...) {
    deferred_losses_.add(to);
  }
}

void CollectiveService::note_used(const fabric::Message& message) {
  if (message.type != fabric::MessageType::collective_data) return;
  const std::uint64_t cost = eager_window_.with(message.from).use(message.payload.size());
  if (cost != 0) say_used(message.from, cost);
}

void CollectiveService::say_used(NodeId to, std::uint64_t cost) {
  endpoint_.send(to, fabric::MessageType::collective_used, stretto::bytes_of(UsedHeader{cost}), {});
}

[[gnu::hot]] void CollectiveService::on_message(const fabric::Message& message) {
  if (message.type == fabric::MessageType::collective_used) {
    if (eager_window_.with(message.from).give_back(fabric::read_header<UsedHeader>(message).cost)) return;
    throw Error(ErrorCode::bad_input, "node " + std::to_string(message.from) + " has used data that were never sent");
  }
  const auto identity = beginning_of<Identity>(message);
  Stream& its_stream = stream(identity.stream);
  if (CollectiveOperation* const operation = its_stream.find(identity.sequence)) {
    note_used(message);
    operation->on_message(message);
    return;
  }
  const bool failed = message.type == fabric::MessageType::collective_failed;
  const bool has_begun = its_stream.has_begun(identity.sequence);
  if (has_begun) {
    note_used(message);
    if (failed) {
      late_mismatches_.note(its_stream.past(identity.sequence), fabric::read_header<FailedHeader>(message),
                            message.payload);
    } else {
      answer_late(message);
    }
  } else {
    // What its sender has granted for this operation will not be touched.
    if (failed) {
      its_stream.take_messages_of(message.from, identity.sequence).use_all([this](const fabric::Message& unused) {
        note_used(unused);
      });
    }
    its_stream.save(identity.sequence, message);
    // Its sender does not come to a meeting.
    if (its_stream.has_number(identity.sequence)) its_stream.pass_meeting(identity.sequence + 1);
  }
  if (failed && fabric::read_header<FailedHeader>(message).wants_release != 0) {
    say_released(message.from, identity, has_begun ? all_pieces : 0);
  }
}

void CollectiveService::on_notification(NodeId from, fabric::Notification notification) {
  const Landings::Landing* const found = landings_.find(notification);
  if (found != nullptr) found->operation->on_piece(from, found->step);
}

// Those that end meanwhile, in consequence, are left out.
template <class Visit>
void CollectiveService::for_each_under_way(Visit&& visit) {
  under_way_.for_each([&](UnderWay::Member& member) { visit(static_cast<CollectiveOperation&>(member)); });
}

void CollectiveService::look(Which which, std::vector<std::string>& sentences) {
  ++looks_;
  for_each_under_way([&](CollectiveOperation& operation) {
    const std::string sentence = operation.what_it_waits_for(which);
    if (!sentence.empty()) sentences.push_back(sentence);
  });
}

void CollectiveService::cancel(const Cause& cause) {
  if (cancelled_ == nullptr) cancelled_ = cause;
  for_each_under_way(
      [this](CollectiveOperation& operation) { operation.fail(cancelled_, CollectiveOperation::Tell::everybody); });
}

bool CollectiveService::over() { return under_way_.empty(); }

void CollectiveService::on_peer_lost(NodeId peer, const Error& error) {
  const Cause cause = std::make_shared<const Error>(ErrorCode::peer_lost, error.message());
  losses_.emplace(peer, cause);
  streams_.forget_messages_of(peer);
  for_each_under_way([&](CollectiveOperation& operation) {
    if (operation.group().contains(peer)) operation.on_member_gone(peer, cause);
  });
}

void CollectiveService::on_peer_left(NodeId peer) {
  for_each_under_way([peer](CollectiveOperation& operation) { operation.on_member_gone(peer, nullptr); });
}

}  // namespace stretto
