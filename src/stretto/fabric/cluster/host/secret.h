#pragma once

#include <array>
#include <cstddef>

namespace stretto::fabric::cluster {

/// A number that nobody can guess, by which members of a job know each other.
using Secret = std::array<std::byte, 16>;

/// Throws Error(io).
Secret make_secret();

/// Takes as long for a near miss as for a far one.
bool same_secret(const Secret& a, const Secret& b) noexcept;

}  // namespace stretto::fabric::cluster
