#pragma once

#include <cstddef>

namespace stretto {

/// The least multiple of `unit` that is not below `value`. REQUIRES: unit > 0, and that multiple can be counted.
constexpr std::size_t round_up(std::size_t value, std::size_t unit) noexcept {
  return (value + unit - 1) / unit * unit;
}

}  // namespace stretto
