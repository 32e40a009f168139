#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/base/log.h"

namespace stretto {

/// What form a setting's value has.
enum class SettingKind : std::uint8_t { text, count, bytes, log_level };

std::string_view name_of(SettingKind kind) noexcept;

/// One variable of the environment that Stretto reads.
struct SettingInfo {
  std::string_view name;
  SettingKind kind;
  std::string_view default_value;  ///< empty: there is none, and readers must ask is_set()
  std::string_view meaning;
  std::uint64_t least = 0;                                         ///< of a count or bytes
  std::uint64_t most = std::numeric_limits<std::uint64_t>::max();  ///< of a count
};

/// All of them. A variable is declared by adding a line to this table, in settings.cc, and nowhere else.
std::span<const SettingInfo> known_settings() noexcept;

/// The settings of a process, read once from its environment and checked as a whole.
///
/// A value, immutable after construction; any thread may read it. A variable with an empty value counts as not set.
class Settings {
 public:
  /// From lines "NAME=value"; where a name is repeated the first counts, as in getenv(). Throws Error(bad_input) for a
  /// STRETTO_ variable that is not known, naming the nearest that is, and for a value of the wrong form.
  explicit Settings(std::span<const std::string> environment);

  /// From the environment of this process.
  static Settings from_environment();

  /// Whether the environment gave a value.
  bool is_set(std::string_view name) const;

  // Each reads a value, or its default. Error(invalid_argument) when the name is not known or of another kind,
  // Error(invalid_state) when there is neither value nor default.
  const std::string& text(std::string_view name) const;
  std::uint64_t count(std::string_view name) const;
  std::uint64_t bytes(std::string_view name) const;
  LogLevel log_level(std::string_view name) const;

  /// The value as it was written, or the default; empty when there is neither. For printing.
  const std::string& written(std::string_view name) const;

 private:
  std::size_t index_of(std::string_view name) const;
  const std::string& value_of(std::string_view name, SettingKind kind) const;

  // In the order of known_settings().
  std::vector<std::string> values_;
  std::vector<bool> given_;
};

}  // namespace stretto
