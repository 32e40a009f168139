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

/// Of what form calls are.
class FormKey {
 public:
  explicit FormKey(const CallForm& form) noexcept : form_(form), constant_(&form) {}

  /// REQUIRES: a constant.
  bool is_of(const CallForm& form) const noexcept { return &form == constant_ || form == form_; }

  friend bool operator==(const FormKey& a, const FormKey& b) noexcept { return a.form_ == b.form_; }

 private:
  CallForm form_;             // copied: that of a fused call goes with it
  const CallForm* constant_;  // or what was one such
};

/// In what the calls of a stream may differ, their buffers and what they list aside.
struct CallKey {
  /// Of a group of `size`.
  CallKey(const CollectiveCall& call, schedule::Rank size, const Named& how) noexcept
      : form(*call.form),
        kind(call),
        named(how),
        is_listed(!call.block_offsets().empty()),
        is_planned(call.set != nullptr),
        input_bytes(is_listed ? bytes_of_vector(call, size) : call.input.size()),
        output_bytes(is_listed ? 0 : call.output.size()),
        over_wires(is_planned ? call.set->over_wires : nullptr),
        agreement(is_planned ? call.set->agreement : 0) {}

  FormKey form;
  CallKind kind;
  Named named;  // by the caller
  bool is_listed;
  bool is_planned;          // together with others
  std::size_t input_bytes;  // where blocks are listed: of all of them
  std::size_t output_bytes;
  const schedule::Algorithm* over_wires;  // see CallOfSet
  std::uint64_t agreement;

  /// Whether it is that of a call.
  bool is_of(const CollectiveCall& call, schedule::Rank size, const Named& how) const noexcept {
    return may_be_plain(call) ? is_of_plain(call, how) : *this == CallKey(call, size, how);
  }
  /// The same of a call that has no lists and is not fused. Cheaper than to make another key.
  bool is_of_plain(const CollectiveCall& call, const Named& how) const noexcept {
    return form.is_of(*call.form) && !is_listed && is_planned_as(call) && input_bytes == call.input.size() &&
           output_bytes == call.output.size() && named == how && kind == call;
  }
  bool is_planned_as(const CollectiveCall& call) const noexcept {
    if (call.set == nullptr) return !is_planned;
    return is_planned && agreement == call.set->agreement && over_wires == call.set->over_wires;
  }

  friend bool operator==(const CallKey&, const CallKey&) = default;
};

/// What all members must agree on in a call that goes by `plan`, which stands for operation, group size, root and
/// algorithm.
std::uint32_t digest_of(const CollectiveCall& call, const Plan& plan) noexcept;

/// What is worked out once for all calls that are alike: to do it for each would take longer than small ones do. Also
/// keeps operations that have served such calls, to serve others.
class Preparation {
 public:
  Preparation(const CallKey& its_key, const Plan& its_plan) noexcept;
  Preparation(const Preparation&) = delete;
  Preparation& operator=(const Preparation&) = delete;
  /// REQUIRES: not in use.
  ~Preparation();

  CallKey key;
  const Plan& plan;
  // Of calls that list no blocks:
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
