#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "stretto/base/bytes.h"
#include "stretto/base/error.h"

namespace stretto {

namespace detail {
template <class T>
inline constexpr bool is_view = false;
template <class C, class Traits>
inline constexpr bool is_view<std::basic_string_view<C, Traits>> = true;
template <class T, std::size_t n>
inline constexpr bool is_view<std::span<T, n>> = true;
}  // namespace detail

/// Writes the arguments and results of remote tasks as bytes: trivially copyable types as they are (all nodes run the
/// same binary), strings, vectors, pairs and tuples of what can be written.
class ArchiveWriter {
 public:
  template <class T>
  void write(const T& value) {
    if constexpr (std::is_trivially_copyable_v<T>) {
      static_assert(!std::is_pointer_v<T> && !detail::is_view<T>, "a pointer means nothing on another node");
      append(bytes_of(value));
    } else {
      write_composite(value);
    }
  }

  ConstByteSpan bytes() const noexcept { return bytes_; }
  /// Hands them over; nothing is left.
  std::vector<std::byte> take() noexcept { return std::exchange(bytes_, {}); }

 private:
  void append(ConstByteSpan bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }

  void write_composite(const std::string& text) {
    write(static_cast<std::uint64_t>(text.size()));
    append(std::as_bytes(std::span(text)));
  }
  template <class T>
  void write_composite(const std::vector<T>& values) {
    write(static_cast<std::uint64_t>(values.size()));
    if constexpr (std::is_trivially_copyable_v<T>) {
      append(std::as_bytes(std::span(values)));
    } else {
      for (const T& value : values) write(value);
    }
  }
  template <class A, class B>
  void write_composite(const std::pair<A, B>& pair) {
    write(pair.first);
    write(pair.second);
  }
  template <class... T>
  void write_composite(const std::tuple<T...>& tuple) {
    std::apply([this](const T&... parts) { (write(parts), ...); }, tuple);
  }

  std::vector<std::byte> bytes_;
};

/// Reads what ArchiveWriter wrote. The bytes come from a peer: whatever does not fit throws Error(bad_input).
class ArchiveReader {
 public:
  explicit ArchiveReader(ConstByteSpan bytes) noexcept : rest_(bytes) {}

  template <class T>
  T read() {
    if constexpr (std::is_same_v<T, bool>) {
      const auto byte = read<std::uint8_t>();
      if (byte > 1) fail("a bool of " + std::to_string(byte));
      return byte != 0;
    } else if constexpr (std::is_trivially_copyable_v<T>) {
      alignas(T) std::byte storage[sizeof(T)];
      std::memcpy(storage, take(sizeof(T)).data(), sizeof(T));
      return *reinterpret_cast<T*>(storage);
    } else {
      return read_composite(static_cast<T*>(nullptr));
    }
  }

  /// Throws when something is left over.
  void finish() const {
    if (!rest_.empty()) fail(std::to_string(rest_.size()) + " bytes too many");
  }

 private:
  [[noreturn]] static void fail(const std::string& what) {
    throw Error(ErrorCode::bad_input, "the arguments or result of a remote task cannot be read: " + what);
  }

  ConstByteSpan take(std::size_t bytes) {
    if (bytes > rest_.size()) {
      fail(std::to_string(bytes) + " bytes expected, " + std::to_string(rest_.size()) + " there");
    }
    const ConstByteSpan taken = rest_.first(bytes);
    rest_ = rest_.subspan(bytes);
    return taken;
  }

  // A length of elements that occupy at least one byte each.
  std::size_t length(std::size_t element_bytes) {
    const auto count = read<std::uint64_t>();
    if (count > rest_.size() / element_bytes) fail("a length of " + std::to_string(count) + " in too few bytes");
    return static_cast<std::size_t>(count);
  }

  std::string read_composite(std::string*) {
    const ConstByteSpan text = take(length(1));
    return {reinterpret_cast<const char*>(text.data()), text.size()};
  }
  template <class T>
  std::vector<T> read_composite(std::vector<T>*) {
    std::vector<T> values;
    if constexpr (std::is_trivially_copyable_v<T>) {
      const std::size_t count = length(sizeof(T));
      const ConstByteSpan bytes = take(count * sizeof(T));
      if (reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(T) == 0) {
        const T* const first = reinterpret_cast<const T*>(bytes.data());  // not zeroed before they are copied
        values.assign(first, first + count);
      } else {
        values.resize(count);
        if (count > 0) std::memcpy(values.data(), bytes.data(), bytes.size());
      }
    } else {
      const std::size_t count = length(1);
      for (std::size_t i = 0; i < count; ++i) values.push_back(read<T>());
    }
    return values;
  }
  template <class A, class B>
  std::pair<A, B> read_composite(std::pair<A, B>*) {
    A first = read<A>();
    return {std::move(first), read<B>()};
  }
  template <class... T>
  std::tuple<T...> read_composite(std::tuple<T...>*) {
    return std::tuple<T...>{read<T>()...};  // braces: in order
  }

  ConstByteSpan rest_;
};

}  // namespace stretto
