#pragma once

#include <cstddef>
#include <span>
#include <type_traits>

namespace stretto {

using ByteSpan = std::span<std::byte>;
using ConstByteSpan = std::span<const std::byte>;

/// The bytes of one trivially copyable object, for example a message header on the stack.
template <class T>
  requires std::is_trivially_copyable_v<T>
ConstByteSpan bytes_of(const T& object) noexcept {
  return std::as_bytes(std::span<const T, 1>(&object, 1));
}

template <class T>
  requires std::is_trivially_copyable_v<T>
ByteSpan writable_bytes_of(T& object) noexcept {
  return std::as_writable_bytes(std::span<T, 1>(&object, 1));
}

}  // namespace stretto
