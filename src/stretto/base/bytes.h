#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
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

/// Whether no byte is in both.
inline bool are_apart(ConstByteSpan a, ConstByteSpan b) noexcept {
  return a.empty() || b.empty() || a.data() + a.size() <= b.data() || b.data() + b.size() <= a.data();
}

namespace detail {

void copy_any_bytes(std::byte* to, ConstByteSpan from) noexcept;

}  // namespace detail

/// Copies `from` to the bytes at `to`, which lie apart.
///
/// Like memcpy, but fast wherever the two begin and in whose caches the destination lies. More than 4 KiB are copied as
/// a string (x86: `rep movsb`), which takes lines from other processors many at a time, from the beginning of a line
/// on: it takes twice as long, or on some processors much longer, where the destination lies further within its lines
/// than the source (decision 35).
inline void copy_bytes(std::byte* to, ConstByteSpan from) noexcept {
  // Headers and single values are not worth a call: they are two words each, which may overlap.
  const std::size_t bytes = from.size();
  const auto copy_ends = [&](auto word) {
    auto end = word;
    std::memcpy(&word, from.data(), sizeof word);
    std::memcpy(&end, from.data() + bytes - sizeof end, sizeof end);
    std::memcpy(to, &word, sizeof word);
    std::memcpy(to + bytes - sizeof end, &end, sizeof end);
  };
  if (bytes >= 8 && bytes <= 16) {
    copy_ends(std::uint64_t{});
  } else if (bytes > 16 && bytes <= 32) {
    copy_ends(std::array<std::uint64_t, 2>{});
  } else {
    detail::copy_any_bytes(to, from);
  }
}

}  // namespace stretto
