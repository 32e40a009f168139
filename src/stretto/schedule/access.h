#pragma once

#include <cstdint>
#include <vector>

#include "stretto/schedule/schedule.h"

namespace stretto::schedule {

/// Follows one rank's accesses in program order, and says which earlier steps each step must wait for, whether input
/// and output are apart or in place.
///
/// The one text of the dependency rule: assemble() writes dependencies by it, verify() holds schedules against it.
class AccessTracker {
 public:
  AccessTracker(const Shape& shape, Rank me, std::uint32_t scratch_blocks);

  /// Appends to `earlier` the indices of the steps that conflict with this one (repeats are possible; steps that an
  /// appended one already waits for may be left out), then remembers this one as step number `index`.
  /// REQUIRES: fault_of(step) is empty (step_fault.h).
  void add(std::uint32_t index, const Step& step, std::vector<std::uint32_t>& earlier);

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  struct Place {
    std::uint32_t writer = none;         ///< the step that wrote last
    std::uint32_t changer = none;        ///< of output: the last one that changed it where it is input, too
    std::vector<std::uint32_t> readers;  ///< the steps that read since
  };

  std::size_t place_of(Buffer buffer, std::uint32_t block) const noexcept;
  /// The place that is the same memory as this one where input and output are in place; null if there is none.
  Place* twin_of(Buffer buffer, std::uint32_t block) noexcept;
  void read(std::uint32_t index, const BlockRef& ref, std::vector<std::uint32_t>& earlier);
  void write(std::uint32_t index, const BlockRef& ref, bool is_identity, std::vector<std::uint32_t>& earlier);
  void signal(std::uint32_t index, StepKind kind, std::vector<std::uint32_t>& earlier);

  Shape shape_;
  Rank me_;
  std::uint32_t inputs_;
  std::uint32_t outputs_;
  bool may_be_in_place_;
  std::vector<Place> places_;  ///< input blocks, output blocks, scratch blocks
  Place signals_;              ///< messages without blocks: the last send, and the receives since
};

}  // namespace stretto::schedule
