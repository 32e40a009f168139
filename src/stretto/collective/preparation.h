#pragma once

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

/// In what the calls of a stream may differ, their buffers and shards aside.
class CallKey {
 public:
  CallKey(const CollectiveCall& call, const Named& how)
      : simple_form_(call.is_simple() && how.algorithm == nullptr ? call.form : nullptr),
        input_bytes_(call.input.size()),
        output_bytes_(call.output.size()),
        kind_(call),
        form_(*call.form),
        named_(how),
        is_planned_(call.set != nullptr),
        over_wires_(is_planned_ ? call.set->over_wires : nullptr),
        agreement_(is_planned_ ? call.set->agreement : 0),
        block_offsets_(call.block_offsets().begin(), call.block_offsets().end()),
        output_offsets_(call.output_offsets().begin(), call.output_offsets().end()) {}

  std::size_t input_bytes() const noexcept { return input_bytes_; }
  std::size_t output_bytes() const noexcept { return output_bytes_; }
  /// Whether it is that of a simple call, which names no algorithm, and of its form, which is a constant.
  bool is_of_simple(const CollectiveCall& call) const noexcept { return simple_form_ == call.form && is_alike(call); }
  /// Whether it is that of a call.
  bool is_of(const CollectiveCall& call, const Named& how) const noexcept;

 private:
  bool is_alike(const CollectiveCall& call) const noexcept {
    return input_bytes_ == call.input.size() && output_bytes_ == call.output.size() && kind_ == call;
  }
  bool is_planned_as(const CollectiveCall& call) const noexcept;
  bool is_listed_as(const CollectiveCall& call) const noexcept;

  const CallForm* simple_form_;  // of a simple call that names no algorithm; or null
  std::size_t input_bytes_;
  std::size_t output_bytes_;
  CallKind kind_;
  CallForm form_;                           // copied: that of a fused call, no constant, goes with it
  Named named_;                             // by the caller
  bool is_planned_;                         // together with others
  const schedule::Algorithm* over_wires_;   // see CallOfSet
  std::uint64_t agreement_;                 // likewise
  std::vector<std::size_t> block_offsets_;  // see CallLists
  std::vector<std::size_t> output_offsets_;
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
