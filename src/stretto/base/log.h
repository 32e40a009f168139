#pragma once

#include <cstdint>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>

namespace spdlog {
class logger;  // NOLINT(readability-identifier-naming): not our name
}

namespace stretto {

/// How much a message matters; a logger writes those of its own level and above.
enum class LogLevel : std::uint8_t { trace, debug, info, warning, error, off };

/// "trace", "debug", "info", "warning", "error", "off".
std::string_view name_of(LogLevel level) noexcept;

/// The level of that name. An Error(bad_input) lists the names; `name` is what the value is called where it came from.
LogLevel parse_log_level(std::string_view text, std::string_view name = "log level");

/// Writes lines to standard error, such as "12:00:00.000001 stretto warning [node 3] peer 2 died".
///
/// A value: whoever speaks holds one (a node, the launcher), and copies speak with the same voice. Any thread may call
/// it; each line is written whole. A message that its level suppresses costs one comparison.
class Logger {
 public:
  /// `speaker` is who speaks, for example "node 3".
  Logger(LogLevel level, const std::string& speaker);

  LogLevel level() const noexcept { return level_; }
  bool writes(LogLevel level) const noexcept { return level >= level_ && level != LogLevel::off; }

  // Each writes its parts one after the other: log.warning("peer ", peer, " died").
  template <class... Parts>
  void trace(const Parts&... parts) const {
    write(LogLevel::trace, parts...);
  }
  template <class... Parts>
  void debug(const Parts&... parts) const {
    write(LogLevel::debug, parts...);
  }
  template <class... Parts>
  void info(const Parts&... parts) const {
    write(LogLevel::info, parts...);
  }
  template <class... Parts>
  void warning(const Parts&... parts) const {
    write(LogLevel::warning, parts...);
  }
  template <class... Parts>
  void error(const Parts&... parts) const {
    write(LogLevel::error, parts...);
  }

 private:
  template <class... Parts>
  void write(LogLevel level, const Parts&... parts) const {
    if (!writes(level)) return;
    std::ostringstream line;
    (line << ... << parts);
    write_line(level, line.str());
  }

  void write_line(LogLevel level, const std::string& line) const;

  LogLevel level_;
  std::shared_ptr<spdlog::logger> logger_;
};

}  // namespace stretto
