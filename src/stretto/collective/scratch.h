#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "stretto/collective/layout.h"
#include "stretto/collective/placed_plan.h"
#include "stretto/fabric/segment.h"

namespace stretto {

/// Where scratch may begin in memory that is Layout::scratch_alignment bytes longer.
inline std::byte* align_scratch(std::byte* memory) noexcept {
  constexpr std::size_t alignment = Layout::scratch_alignment;
  return memory + (alignment - reinterpret_cast<std::uintptr_t>(memory) % alignment) % alignment;
}

/// The memory that a schedule needs beside the caller's: inside of this object, on the heap, or in the node's segment.
class Scratch {
 public:
  explicit Scratch(fabric::Segment& segment) noexcept : segment_(segment) {}
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { leave_segment(); }

  /// To be called once. Of no meaningful content. `for_peers`: they may put large messages into it, and reach no more
  /// than the segment. Throws Error(out_of_resources).
  std::byte* allocate(std::size_t bytes, bool for_peers) {
    if (bytes <= own_bytes) return align_scratch(own_.data());
    if (bytes > (for_peers ? eager_bytes : most_on_heap)) {
      offset_ = static_cast<std::int64_t>(segment_.allocate(bytes));
      return segment_.pointer(static_cast<std::uint64_t>(offset_));
    }
    on_heap_ = std::make_unique_for_overwrite<std::byte[]>(bytes + Layout::scratch_alignment);
    return align_scratch(on_heap_.get());
  }

  /// What is large is there: an operation that is kept would keep it, too.
  bool is_in_segment() const noexcept { return offset_ >= 0; }
  /// Gives back what is there: nobody uses it any more.
  void leave_segment() noexcept {
    if (is_in_segment()) segment_.release(static_cast<std::uint64_t>(std::exchange(offset_, -1)));
  }

 private:
  static constexpr std::size_t own_bytes = 256;
  static constexpr std::size_t most_on_heap = std::size_t{64} << 10U;

  fabric::Segment& segment_;
  std::int64_t offset_ = -1;
  std::unique_ptr<std::byte[]> on_heap_;
  std::array<std::byte, own_bytes + Layout::scratch_alignment> own_;
};

}  // namespace stretto
