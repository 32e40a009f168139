#pragma once

#include <cstddef>
#include <cstdint>

#include "stretto/collective/collective_call.h"
#include "stretto/collective/layout.h"
#include "stretto/collective/plan.h"

namespace stretto {

/// In what the calls of a stream may differ, their buffers and what they list aside.
struct CallKey {
  /// Of rank `me` of `size`.
  CallKey(const CollectiveCall& call, schedule::Rank size, schedule::Rank me, const Named& named) noexcept
      : named_by_caller(named),
        operation(call.operation),
        commutative(call.reduction.commutative),
        reproducible(call.reproducible),
        is_listed(!call.block_offsets().empty()),
        rank(me),
        root(call.root),
        contributors(call.contributors),
        inner_receivers(call.inner_receivers),
        auxiliaries(call.auxiliaries),
        element_bytes(call.element_bytes),
        input_bytes(is_listed ? bytes_of_vector(call, size) : call.input.size()),
        output_bytes(is_listed ? 0 : call.output.size()),
        type_digest(call.type_digest),
        operator_digest(call.reduction.digest),
        agreement(call.set == nullptr ? 0 : call.set->agreement) {}

  Named named_by_caller;
  schedule::Operation operation;
  bool commutative;
  bool reproducible;
  bool is_listed;
  schedule::Rank rank;
  schedule::Rank root;
  schedule::Rank contributors;
  schedule::Rank inner_receivers;
  schedule::Rank auxiliaries;
  std::size_t element_bytes;
  std::size_t input_bytes;  // where blocks are listed: of all of them
  std::size_t output_bytes;
  std::uint64_t type_digest;
  std::uint64_t operator_digest;
  std::uint64_t agreement;

  friend bool operator==(const CallKey&, const CallKey&) = default;
};

/// What a stream works out once for all calls that are alike: small ones take hardly longer than this would.
struct Preparation {
  CallKey key;
  const Plan* plan;
  std::uint32_t digest;  ///< see Identity; of calls that list no blocks
  Layout layout;         ///< likewise; of no buffers
};

}  // namespace stretto
