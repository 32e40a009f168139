#pragma once

// What fuzzers share.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "stretto/base/bytes.h"
#include "stretto/base/error.h"

namespace stretto::fuzz {

/// Where it does not hold the fuzzer ends, and keeps its input.
inline void require(bool condition) {
  if (!condition) std::abort();
}

/// Calls what reads something untrusted. Returns whether that was taken; else it was refused, as Error(bad_input):
/// whatever else is thrown ends the fuzzer.
template <class Read>
bool takes(Read&& read) {
  try {
    std::forward<Read>(read)();
    return true;
  } catch (const Error& error) {
    require(error.code() == ErrorCode::bad_input);
    return false;
  }
}

/// Whether these are the same bytes.
inline bool are_the_same(ConstByteSpan a, ConstByteSpan b) noexcept {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

/// Bytes as text, to be edited.
inline std::string text_of(ConstByteSpan bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

/// What the fuzzer made up, handed out piece by piece: decisions from the front, what is to be read from the rest.
class Input {
 public:
  Input(const std::uint8_t* bytes, std::size_t size) noexcept : Input(std::as_bytes(std::span(bytes, size))) {}
  explicit Input(ConstByteSpan bytes) noexcept : rest_(bytes) {}

  bool empty() const noexcept { return rest_.empty(); }
  /// All that is left, which stays.
  ConstByteSpan rest() const noexcept { return rest_; }
  std::string_view text() const noexcept { return {reinterpret_cast<const char*>(rest_.data()), rest_.size()}; }

  /// The next bytes, or as many as are left.
  ConstByteSpan bytes(std::size_t most) noexcept {
    const ConstByteSpan taken = rest_.first(std::min(most, rest_.size()));
    rest_ = rest_.subspan(taken.size());
    return taken;
  }
  /// The next number; zeros stand for bytes that are missing.
  template <class T = std::uint8_t>
    requires std::is_integral_v<T>
  T number() noexcept {
    T value = 0;
    const ConstByteSpan taken = bytes(sizeof value);
    std::memcpy(&value, taken.data(), taken.size());
    return value;
  }
  /// One of [0, bound), by a byte. REQUIRES: 0 < bound <= 256
  std::size_t below(std::size_t bound) noexcept { return number() % bound; }
  /// What was good, changed at a few places, for readers whose form nobody would guess. Takes all that is left.
  std::string edited(std::string good) {
    while (!rest_.empty()) edit(good);
    return good;
  }

 private:
  void edit(std::string& text) {
    const std::size_t at = number<std::uint16_t>() % (text.size() + 1);
    switch (below(4)) {
      case 0:
        if (at < text.size()) text[at] = static_cast<char>(number());
        break;
      case 1:
        if (at < text.size()) text[at] = static_cast<char>(text[at] + static_cast<int>(below(9)) - 4);
        break;
      case 2: text.insert(at, text, number() % (text.size() + 1), below(16)); break;
      default: {
        const std::size_t removed = below(8);
        const ConstByteSpan added = bytes(below(4));
        text.replace(at, removed, text_of(added));
      }
    }
  }

  ConstByteSpan rest_;
};

}  // namespace stretto::fuzz
