#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "stretto/collective/collective_call.h"
#include "stretto/collective/collective_options.h"
#include "stretto/collective/inline_attempts.h"
#include "stretto/collective/meeting.h"
#include "stretto/collective/placed_plan.h"
#include "stretto/collective/plan.h"

namespace stretto {

class CollectiveOperation;
class JointRun;

/// Of what form calls are.
class FormKey {
 public:
  explicit FormKey(const CallForm& form) noexcept : form_(form), constant_(&form) {}

  /// Of a constant it is seen by its address.
  bool is_of(const CallForm& form, bool is_constant) const noexcept {
    return (is_constant && &form == constant_) || form == form_;
  }

 private:
  CallForm form_;             // copied: that of a fused call, no constant, goes with it
  const CallForm* constant_;  // or what was one such
};

/// In what the calls of a stream may differ, their buffers and shards aside.
struct CallKey {
  CallKey(const CollectiveCall& call, const Named& how)
      : form(*call.form),
        kind(call),
        named(how),
        is_planned(call.set != nullptr),
        input_bytes(call.input.size()),
        output_bytes(call.output.size()),
        over_wires(is_planned ? call.set->over_wires : nullptr),
        agreement(is_planned ? call.set->agreement : 0),
        block_offsets(call.block_offsets().begin(), call.block_offsets().end()),
        output_offsets(call.output_offsets().begin(), call.output_offsets().end()) {}

  FormKey form;
  CallKind kind;
  Named named;      // by the caller
  bool is_planned;  // together with others
  std::size_t input_bytes;
  std::size_t output_bytes;
  const schedule::Algorithm* over_wires;   // see CallOfSet
  std::uint64_t agreement;                 // likewise
  std::vector<std::size_t> block_offsets;  // see CallLists
  std::vector<std::size_t> output_offsets;

  bool is_listed() const noexcept { return !block_offsets.empty(); }
  /// Whether it is that of a call.
  bool is_of(const CollectiveCall& call, const Named& how) const noexcept {
    return form.is_of(*call.form, call.fused() == nullptr) && is_planned_as(call) && input_bytes == call.input.size() &&
           output_bytes == call.output.size() && named == how && kind == call && is_listed_as(call);
  }
  bool is_planned_as(const CollectiveCall& call) const noexcept {
    if (call.set == nullptr) return !is_planned;
    return is_planned && agreement == call.set->agreement && over_wires == call.set->over_wires;
  }

  bool is_listed_as(const CollectiveCall& call) const noexcept {
    if (call.lists == nullptr) return !is_listed();
    return std::ranges::equal(block_offsets, call.block_offsets()) &&
           std::ranges::equal(output_offsets, call.output_offsets());
  }
};

/// What all members must agree on in a call that goes by `plan`, which stands for operation, group size, root and
/// algorithm.
std::uint32_t digest_of(const CollectiveCall& call, const Plan& plan) noexcept;

/// What is worked out once for all calls that are alike: to do it for each would take longer than small ones do. Also
/// keeps operations that have served such calls, to serve others.
class Preparation {
 public:
  Preparation(CallKey its_key, const Plan& its_plan) noexcept;
  Preparation(const Preparation&) = delete;
  Preparation& operator=(const Preparation&) = delete;
  /// REQUIRES: not in use.
  ~Preparation();

  CallKey key;
  const Plan& plan;
  std::uint32_t digest = 0;  ///< see Identity
  std::unique_ptr<const PlacedPlan> placed;
  bool may_be_inline = false;  ///< whether an InlineRun can do such a call
  InlineAttempts inline_attempts;
  /// Where such calls are met for (see Meeting): everybody, once this node came last; else empty.
  std::vector<Meeting::Member> met;
  std::unique_ptr<JointRun> joint_run;  ///< of such calls, once this node came last
  bool leaves = false;                  ///< who has no result there leaves its data behind, and need not wait

  bool may_meet() const noexcept { return !met.empty(); }

  /// Whether an operation that is under way goes by it.
  bool in_use() const noexcept { return users_ > 0; }
  void begin_use() noexcept { ++users_; }
  /// The operation that went by it is over. Takes it if it may serve again and few are kept; returns whether it did.
  bool end_use(CollectiveOperation& operation, bool may_serve_again) noexcept;
  bool keeps_any() const noexcept { return kept_ != nullptr; }
  /// One that was kept, renewed for that call; or null, and the call is as it was.
  CollectiveOperation* take_kept(CollectiveCall&& call, const CollectiveOptions& options) noexcept;

 private:
  static constexpr std::uint32_t most_kept = 2;

  CollectiveOperation* pop_kept() noexcept;

  std::uint32_t users_ = 0;
  std::uint32_t kept_count_ = 0;
  CollectiveOperation* kept_ = nullptr;  // linked as items are
};

}  // namespace stretto
