#pragma once

#include <cstdint>

#include "stretto/schedule/shape.h"

namespace stretto::schedule {

/// Whether large messages of so many bytes are read by their receivers from where they lie at their senders, where
/// ranks share memory, and not written by their senders. So it is where the same data, or one rank's, go to many: many
/// cores copy faster than one, and what can't be read where it lies is copied once for all. And where each rank
/// receives as much as it sends: memory may be read that is not shared (docs/decisions/0068). Not so where hosts have
/// leaders, to whom many give.
bool receivers_read(const Shape& shape, std::uint64_t bytes) noexcept;

/// Whether ranks give each other data that nobody combines, and none has its result before all have begun. Not so where
/// hosts have leaders, as above.
bool is_exchange(const Shape& shape) noexcept;

}  // namespace stretto::schedule
