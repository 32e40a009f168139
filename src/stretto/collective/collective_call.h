#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "stretto/base/bytes.h"
#include "stretto/collective/call_form.h"
#include "stretto/collective/group.h"
#include "stretto/schedule/algorithm.h"
#include "stretto/schedule/shape.h"

namespace stretto {

class FusedReduce;

/// What few calls list.
struct CallLists {
  /// Where in bytes the blocks of the ranks begin, and where the last one ends; empty where all are of one size. Of the
  /// output of a gather, of the input of others. All ranks pass the same, but for those of an all-to-all.
  std::vector<std::size_t> block_offsets;
  std::vector<std::size_t> output_offsets;  ///< all-to-all: likewise, of the output
  std::vector<ConstByteSpan> shards;        ///< further inputs of this node, to be combined after its input, in order
};

/// What a plan for several calls says of one (ConcurrentPlan).
struct CallOfSet {
  std::optional<Group> order;  ///< the group's members, by rank of the schedule, if not as in the group
  /// The algorithm for members that do not share memory; null: as it is chosen.
  const schedule::Algorithm* over_wires = nullptr;
  std::uint64_t agreement = 0;  ///< digest of what members must agree on beside this call
  bool is_fused = false;        ///< the call stands for several
};

/// What a call asks for, its form and its data aside. Nothing but words, which are compared as such: for each small
/// call.
struct CallKind {
  schedule::Rank root = 0;
  schedule::Rank contributors = 0;     ///< general reduce: see schedule::Shape
  schedule::Rank inner_receivers = 0;  ///< likewise
  schedule::Rank auxiliaries = 0;      ///< allreduce: likewise
  std::uint32_t fingerprint = 0;       ///< see fingerprint_of; 0: calls are not compared by it
  std::uint32_t reproducible = false;  ///< whether terms are combined in the canonical tree

  friend bool operator==(const CallKind& a, const CallKind& b) noexcept { return same_words(bytes_of(a), bytes_of(b)); }
};
static_assert(std::has_unique_object_representations_v<CallKind>);

/// A collective operation without its types: what the functions of collective.h hand to the executor.
struct CollectiveCall : CallKind {
  /// `its_form` lasts as long as the program, or, where the call has a `set`, as long as what it keeps alive.
  explicit CollectiveCall(const CallForm& its_form) noexcept : form(&its_form) {}

  const CallForm* form;  ///< never null
  ConstByteSpan input;
  ByteSpan output;
  std::shared_ptr<const void> operator_state;  ///< see state_of_operator
  std::shared_ptr<const CallLists> lists;      ///< null where the call lists nothing
  std::shared_ptr<const CallOfSet> set;        ///< null where it is planned for itself
  std::shared_ptr<void> keep_alive;  ///< owns the buffers, if the caller does not: of a fused call, its FusedReduce

  /// Whether it is no more than a form, a kind and two buffers, as most are.
  bool is_simple() const noexcept { return lists == nullptr && set == nullptr; }
  schedule::Operation operation() const noexcept { return form->operation; }
  std::size_t element_bytes() const noexcept { return form->element_bytes; }
  /// Whether elements may lie there.
  bool is_aligned(std::uintptr_t address) const noexcept { return address % form->element_alignment == 0; }
  bool is_aligned(const std::byte* place) const noexcept { return is_aligned(reinterpret_cast<std::uintptr_t>(place)); }
  const Reduction& reduction() const noexcept { return form->reduction; }

  std::span<const std::size_t> block_offsets() const noexcept {
    return lists == nullptr ? std::span<const std::size_t>() : lists->block_offsets;
  }
  std::span<const std::size_t> output_offsets() const noexcept {
    return lists == nullptr ? std::span<const std::size_t>() : lists->output_offsets;
  }
  std::span<const ConstByteSpan> shards() const noexcept {
    return lists == nullptr ? std::span<const ConstByteSpan>() : lists->shards;
  }
  FusedReduce* fused() const noexcept {
    return set != nullptr && set->is_fused ? static_cast<FusedReduce*>(keep_alive.get()) : nullptr;
  }
};

/// Of the function that was called.
inline std::string_view name_of(const CollectiveCall& call) noexcept {
  const bool is_general = call.operation() == schedule::Operation::general_reduce;
  return schedule::name_of(is_general ? schedule::Operation::reduce : call.operation());
}

/// Whether it is served by a schedule whose ranks are not the group's.
inline bool has_own_order(const CollectiveCall& call) noexcept { return call.set != nullptr && call.set->order; }
/// The members of a group, by rank of the schedule that serves a call.
inline const Group& members_of(const Group& group, const CollectiveCall& call) noexcept {
  return has_own_order(call) ? *call.set->order : group;
}

/// Of the longer one of this node's buffers.
inline std::size_t bytes_of_longer(const CollectiveCall& call) noexcept {
  return std::max(call.input.size(), call.output.size());
}

/// Of the vector; of operations on blocks: of all blocks of a rank, where those are the same on all ranks, otherwise 0
/// (all-to-all with blocks of different sizes).
inline std::size_t bytes_of_vector(const CollectiveCall& call, schedule::Rank size = 1) {
  using schedule::Operation;
  switch (call.operation()) {
    case Operation::barrier: return 0;
    case Operation::broadcast: return call.output.size();
    case Operation::gather:
    case Operation::allgather:
      return call.block_offsets().empty() ? call.input.size() * size : call.block_offsets().back();
    case Operation::scatter:
    case Operation::reduce_scatter:
      return call.block_offsets().empty() ? call.output.size() * size : call.block_offsets().back();
    case Operation::all_to_all: return call.block_offsets().empty() ? call.input.size() : 0;
    case Operation::general_reduce: return bytes_of_longer(call);
    default: return call.input.size();
  }
}

/// The shape of the schedules that can serve a call of a group of `size`.
inline schedule::Shape shape_of(const CollectiveCall& call, schedule::Rank size) {
  schedule::Shape shape;
  shape.operation = call.operation();
  shape.size = size;
  shape.root = call.root;
  shape.contributors = call.contributors;
  shape.inner_receivers = call.inner_receivers;
  shape.auxiliaries = call.auxiliaries;
  shape.commutative = call.reduction().commutative && !call.reproducible;
  shape.reproducible = call.reproducible != 0;
  return shape;
}

}  // namespace stretto
