#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "stretto/collective/collective_call.h"

namespace stretto {

/// Several small general reduces of the same members as one: their vectors side by side, each with its own operator.
///
/// Owned by the call that it makes; used by the operation under the baton. Its operators are elementary, Stretto's own
/// or the user's, which cannot fail: so no reduce fails by another one's fault.
class FusedReduce {
 public:
  struct Part {
    CollectiveCall call;    ///< input and output are empty where this node does not give or get
    std::size_t bytes = 0;  ///< of the vector, the same on all nodes
    std::size_t alignment = 1;
  };

  /// REQUIRES: see `call_of`.
  explicit FusedReduce(std::vector<Part> parts);

  /// One call for all of `parts`, which owns one of these. REQUIRES: they have the same roles, no shards and no
  /// operators that run as tasks.
  static CollectiveCall call_of(std::vector<Part> parts, bool gives, bool gets);

  /// How many it stands for.
  std::size_t calls() const noexcept { return parts_.size(); }
  /// Takes the inputs; called when they may be read.
  void pack() noexcept;
  /// Gives the outputs; called when the result is there.
  void unpack() noexcept;

 private:
  struct Placed {
    Part part;
    std::size_t offset;
  };

  static void combine(const void* fused, void* out, const void* left, const void* right, std::size_t count);

  CallForm form_;
  std::vector<Placed> parts_;
  std::size_t bytes_ = 0;
  std::unique_ptr<std::byte[]> memory_;
  std::byte* data_ = nullptr;  // aligned, within `memory_`
};

}  // namespace stretto
