#include "stretto/base/log.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <array>
#include <utility>

#include "stretto/base/error.h"

namespace stretto {
namespace {

constexpr std::array<std::pair<LogLevel, std::string_view>, 6> level_names{{
    {LogLevel::trace, "trace"},
    {LogLevel::debug, "debug"},
    {LogLevel::info, "info"},
    {LogLevel::warning, "warning"},
    {LogLevel::error, "error"},
    {LogLevel::off, "off"},
}};

spdlog::level::level_enum native_level(LogLevel level) {
  switch (level) {
    case LogLevel::trace: return spdlog::level::trace;
    case LogLevel::debug: return spdlog::level::debug;
    case LogLevel::info: return spdlog::level::info;
    case LogLevel::warning: return spdlog::level::warn;
    case LogLevel::error: return spdlog::level::err;
    case LogLevel::off: break;
  }
  return spdlog::level::off;
}

}  // namespace

std::string_view name_of(LogLevel level) noexcept {
  for (const auto& [candidate, name] : level_names) {
    if (candidate == level) return name;
  }
  return "unknown";
}

LogLevel parse_log_level(std::string_view text, std::string_view name) {
  for (const auto& [level, candidate] : level_names) {
    if (candidate == text) return level;
  }
  throw Error(ErrorCode::bad_input, std::string(name) + " is '" + std::string(text) +
                                        "', but must be trace, debug, info, warning, error or off");
}

Logger::Logger(LogLevel level, const std::string& speaker)
    : level_(level),
      logger_(std::make_shared<spdlog::logger>(speaker, std::make_shared<spdlog::sinks::stderr_sink_mt>())) {
  logger_->set_level(native_level(level));
  logger_->set_pattern("%H:%M:%S.%f stretto %l [%n] %v");
}

void Logger::write_line(LogLevel level, const std::string& line) const {
  logger_->log(native_level(level), spdlog::string_view_t(line));
}

}  // namespace stretto
