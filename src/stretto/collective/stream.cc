#include "stretto/collective/stream.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "stretto/base/hash.h"
#include "stretto/collective/collective_service.h"

namespace stretto {

namespace {

std::uint64_t digest_of_sizes(const CollectiveCall& call) noexcept {
  std::uint64_t digest = bytes_of_vector(call);
  if (call.operation == schedule::Operation::all_to_all) return digest;  // else a list is the same everywhere
  for (const std::size_t offset : call.block_offsets()) digest = mix_64(digest ^ offset);
  return digest;
}

}  // namespace

void Stream::join(const Group& group, const CollectiveService& service) {
  if (size_ != 0) return;
  size_ = group.size();
  link_ = service.link_of(group);
  hosts_ = service.hosts_of(group);
}

Preparation& Stream::prepare(const CollectiveCall& call, const Group& members, Rank me, const Named& named,
                             CollectiveService& service) {
  if (Preparation* const known = find_preparation(call, me, named)) return *known;
  if (preparations_.size() >= most_preparations) forget_a_preparation();
  preparations_.insert(preparations_.begin(), prepare_anew({call, size_, me, named}, call, members, service));
  return *preparations_.front();
}

// The one last used longest ago; those in use stay.
void Stream::forget_a_preparation() {
  const auto found =
      std::find_if(preparations_.rbegin(), preparations_.rend(), [](const auto& each) { return !each->in_use(); });
  if (found != preparations_.rend()) preparations_.erase(std::next(found).base());
}

std::unique_ptr<Preparation> Stream::prepare_anew(const CallKey& key, const CollectiveCall& call, const Group& members,
                                                  CollectiveService& service) {
  const bool is_planned = call.set != nullptr && call.set->over_wires != nullptr && link_ == schedule::Link::wire;
  const Named named = is_planned ? Named{call.set->over_wires} : key.named;
  schedule::Shape shape = shape_of(call, size_);
  shape.hosts = hosts_;
  const Choice choice = named.algorithm != nullptr
                            ? Choice{named.algorithm, named.algorithm->with_segments(shape, named.segments)}
                            : service.selector().choose(shape, bytes_of_vector(call, size_), !key.is_listed, link_);
  const Plan& plan = find_or_make({choice.algorithm, choice.shape, key.rank});
  auto prepared = std::make_unique<Preparation>(key, plan);
  if (!key.is_listed) {
    prepared->digest = digest_of(call, plan);
    prepared->placed = service.place(plan, call, members);
  }
  return prepared;
}

const Plan& Stream::find_or_make(const PlanKey& key) {
  const auto known = std::find_if(plans_.begin(), plans_.end(), [&](const KnownPlan& each) { return each.key == key; });
  if (known != plans_.end()) return *known->plan;
  plans_.push_back({key, std::make_unique<const Plan>(*key.algorithm, key.shape, key.me)});
  return *plans_.back().plan;
}

// What all members must agree on. The plan stands for operation, group size, root and algorithm.
std::uint32_t Stream::digest_of(const CollectiveCall& call, const Plan& plan) noexcept {
  const std::uint64_t agreement = call.set == nullptr ? 0 : call.set->agreement;
  return static_cast<std::uint32_t>(mix_64(mix_64(plan.digest() ^ digest_of_sizes(call)) ^ call.type_digest ^
                                           (call.reduction.digest << 1U) ^ agreement));
}

bool Stream::has_begun(std::uint32_t sequence) const { return sequence < begun_ || begun_beyond_.contains(sequence); }

void Stream::mark_begun_beyond(std::uint32_t sequence) {
  if (sequence == begun_) {
    ++begun_;
    while (!begun_beyond_.empty() && begun_beyond_.erase(begun_) == 1) ++begun_;
  } else {
    begun_beyond_.insert(sequence);
  }
}

SavedMessages Stream::pass(const Identity& identity) {
  mark_begun(identity.sequence);
  SavedMessages early;
  if (Call* const known = open_.find(identity.sequence)) early = std::move(known->early);
  end(identity);
  return early;
}

void Stream::save(std::uint32_t sequence, const fabric::Message& message) {
  open_.find_or_add(sequence).early.add(message);
}

std::optional<std::uint32_t> Stream::digest_of_past(std::uint32_t sequence) const noexcept {
  const Past& past = past_[sequence % past_.size()];
  return past.sequence == sequence ? std::optional(past.digest) : std::nullopt;
}

std::vector<std::uint32_t> Stream::under_way() {
  std::vector<std::uint32_t> found;
  open_.for_each([&](const Call& call) {
    if (call.operation != nullptr) found.push_back(call.sequence);
  });
  std::sort(found.begin(), found.end());
  return found;
}

SavedMessages Stream::take_messages_of(NodeId peer, std::uint32_t sequence) {
  Call* const call = open_.find(sequence);
  return call == nullptr ? SavedMessages() : call->early.take_from(peer);
}

void Stream::forget_messages_of(NodeId peer) {
  open_.for_each([&](Call& call) { call.early.take_from(peer); });
}

}  // namespace stretto
