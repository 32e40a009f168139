#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "stretto/base/bytes.h"
#include "stretto/base/error.h"

namespace stretto::fabric {

/// Appends numbers (little-endian), strings and byte arrays (32-bit length first) to a buffer.
class WireWriter {
 public:
  template <class T>
    requires std::is_unsigned_v<T>
  void number(T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i) bytes_.push_back(static_cast<std::byte>((value >> (8U * i)) & 0xFFU));
  }
  void raw(ConstByteSpan bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  void blob(ConstByteSpan bytes) {
    number(static_cast<std::uint32_t>(bytes.size()));
    raw(bytes);
  }
  void text(std::string_view value) { blob(std::as_bytes(std::span(value.data(), value.size()))); }

  std::vector<std::byte>& bytes() { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

/// Reads what a WireWriter wrote from bytes that may be anything: each read checks what is left, Error(bad_input).
class WireReader {
 public:
  explicit WireReader(ConstByteSpan bytes) : rest_(bytes) {}

  template <class T>
    requires std::is_unsigned_v<T>
  T number() {
    const ConstByteSpan bytes = take(sizeof(T));
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) value |= std::to_integer<std::uint64_t>(bytes[i]) << (8U * i);
    return static_cast<T>(value);
  }
  template <std::size_t size>
  std::array<std::byte, size> array() {
    std::array<std::byte, size> value{};
    std::ranges::copy(take(size), value.begin());
    return value;
  }
  std::vector<std::byte> blob(std::size_t limit) {
    const auto length = number<std::uint32_t>();
    if (length > limit) {
      throw Error(ErrorCode::bad_input, "a field of " + std::to_string(length) + " bytes where at most " +
                                            std::to_string(limit) + " are allowed");
    }
    const ConstByteSpan bytes = take(length);
    return {bytes.begin(), bytes.end()};
  }
  std::string text(std::size_t limit) {
    const std::vector<std::byte> bytes = blob(limit);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  void finish() const {
    if (rest_.empty()) return;
    throw Error(ErrorCode::bad_input, std::to_string(rest_.size()) + " bytes behind the end of a message");
  }

 private:
  ConstByteSpan take(std::size_t count) {
    if (count > rest_.size()) {
      throw Error(ErrorCode::bad_input, "a message ends " + std::to_string(count - rest_.size()) + " bytes too early");
    }
    const ConstByteSpan taken = rest_.first(count);
    rest_ = rest_.subspan(count);
    return taken;
  }

  ConstByteSpan rest_;
};

}  // namespace stretto::fabric
