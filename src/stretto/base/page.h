#pragma once

#include <unistd.h>

#include <cstddef>

namespace stretto {

/// What the kernel maps and protects at least: 4 KiB on most machines, up to 64 KiB on some. Any thread.
inline std::size_t page_bytes() noexcept {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

}  // namespace stretto
