#pragma once

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

/// Whether two small pieces, of whole words of four bytes, are the same. In line, and without a load that spans two of
/// their fields (see detail::copy_by_fields).
inline bool same_words(ConstByteSpan a, ConstByteSpan b) noexcept {
  if (a.size() != b.size()) return false;
  const auto differ = [&]<class Word>(std::size_t at, Word) {
    Word of_a;
    Word of_b;
    std::memcpy(&of_a, a.data() + at, sizeof of_a);
    std::memcpy(&of_b, b.data() + at, sizeof of_b);
    return of_a != of_b;
  };
  if (a.size() >= 16 && a.size() <= 20) {  // as headers are: without a loop
    return !differ(0, std::uint64_t{}) && !differ(8, std::uint64_t{}) && !differ(a.size() - 4, std::uint32_t{});
  }
  std::size_t at = 0;
  for (; at + 8 <= a.size(); at += 8) {
    if (differ(at, std::uint64_t{})) return false;
  }
  return at == a.size() || !differ(at, std::uint32_t{});
}

namespace detail {

void copy_any_bytes(std::byte* to, ConstByteSpan from) noexcept;

// The first and the last word, which may overlap.
inline void copy_two_words(std::byte* to, ConstByteSpan from) noexcept {
  std::uint64_t first;
  std::uint64_t last;
  const std::size_t last_at = from.size() - sizeof last;
  std::memcpy(&first, from.data(), sizeof first);
  std::memcpy(&last, from.data() + last_at, sizeof last);
  std::memcpy(to, &first, sizeof first);
  std::memcpy(to + last_at, &last, sizeof last);
}

// A header's fields were written a moment ago, one by one. A load that spans several of them would wait until all have
// left the processor's store buffer, some 5 ns: so each word by itself, and the compiler is not to join them.
inline void copy_by_fields(std::byte* to, ConstByteSpan from) noexcept {
  using Field = std::uint32_t;
  const auto copy = [&](std::size_t at) {
    Field field;
    std::memcpy(&field, from.data() + at, sizeof field);
    asm("" : "+r"(field));
    std::memcpy(to + at, &field, sizeof field);
  };
  const std::size_t last_at = from.size() - sizeof(Field);
  for (std::size_t at = 0; at < last_at; at += sizeof(Field)) copy(at);
  copy(last_at);
}

}  // namespace detail

/// Copies `from` to the bytes at `to`, which lie apart.
///
/// Like memcpy, but fast wherever the two begin and in whose caches the destination lies. More than 4 KiB are copied as
/// a string (x86: `rep movsb`), which takes lines from other processors many at a time, from the beginning of a line
/// on: it takes twice as long, or on some processors much longer, where the destination lies further within its lines
/// than the source (decision 35).
inline void copy_bytes(std::byte* to, ConstByteSpan from) noexcept {
  // Headers and single values are not worth a call.
  const std::size_t bytes = from.size();
  if (bytes >= 8 && bytes <= 16) {
    detail::copy_two_words(to, from);
  } else if (bytes > 16 && bytes <= 48) {
    detail::copy_by_fields(to, from);
  } else if (bytes > 0) {
    detail::copy_any_bytes(to, from);
  }
}

}  // namespace stretto
