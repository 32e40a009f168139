#pragma once

#include <cstdint>
#include <optional>
#include <source_location>
#include <string_view>

#include "stretto/base/hash.h"
#include "stretto/collective/group.h"
#include "stretto/core/event.h"

namespace stretto {

/// How a collective is to be run. Has constructors, so that GCC 12 compiles it inside of `co_await` expressions.
class CollectiveOptions {
 public:
  // Implicit, so that the call site of the collective itself is noted, for error messages.
  CollectiveOptions(std::source_location where = std::source_location::current()) noexcept : where_(where) {}

  /// Does not touch its buffers before `event` has triggered; if that is poisoned, so is the collective, at every
  /// member that has not done its part yet (who only gives may have).
  CollectiveOptions& after(Event event) noexcept {
    precondition_ = event;
    return *this;
  }
  /// Collectives of one group and key are matched in the order in which each node calls them. Calls whose order the
  /// program does not fix must have different keys.
  CollectiveOptions& key(std::uint64_t value) noexcept {
    mixed_key_ = mix_64(value);
    return *this;
  }
  /// The schedule's algorithm by name (`stretto verify` lists them), and how many segments it makes of a vector
  /// (schedule::Blocking), the same on all nodes; empty: chosen. The name is not copied: it has to live until the call
  /// returns, which throws Error(invalid_argument) where no algorithm has that name, or it does not serve such a call,
  /// or not in so many segments.
  CollectiveOptions& algorithm(std::string_view name, std::uint32_t segments = 1) noexcept {
    algorithm_ = name;
    segments_ = segments;
    return *this;
  }

  /// Has a reduction combine its terms in the canonical tree of its group (schedule/canonical.h). Each element of the
  /// result then has the same bits in every run, whatever schedule serves the call, however many elements travel with
  /// it, and wherever the nodes are, given that the operator itself always gives the same bits; but the payloads of
  /// NaNs are not promised. The same on all nodes. Also for a whole job: STRETTO_REPRODUCIBLE.
  CollectiveOptions& reproducible(bool value = true) noexcept {
    reproducible_ = value;
    return *this;
  }

  /// Offers idle nodes to an allreduce, which helps where a group is no power of two; they are used where that costs
  /// less (the Aspen paper, section 2.1). They call it, too, with the same group, which they are not in, and with
  /// buffers of the same size, which nobody reads or writes; their event triggers when they are not needed any more.
  /// All pass the same ones. Other collectives refuse them.
  CollectiveOptions& auxiliaries(const Group& nodes) {
    auxiliaries_ = nodes;
    return *this;
  }

  Event precondition() const noexcept { return precondition_; }
  /// The key, as Stream::id_of takes it: no call need mix it anew.
  std::uint64_t mixed_key() const noexcept { return mixed_key_; }
  std::string_view algorithm() const noexcept { return algorithm_; }
  std::uint32_t segments() const noexcept { return segments_; }
  bool is_reproducible() const noexcept { return reproducible_; }
  const std::optional<Group>& auxiliaries() const noexcept { return auxiliaries_; }
  const std::source_location& where() const noexcept { return where_; }

 private:
  std::source_location where_;
  Event precondition_;
  std::uint64_t mixed_key_ = mix_64(0);
  std::string_view algorithm_;
  std::uint32_t segments_ = 1;
  bool reproducible_ = false;
  std::optional<Group> auxiliaries_;
};

}  // namespace stretto
