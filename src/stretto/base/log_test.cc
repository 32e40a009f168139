#include "stretto/base/log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "stretto/base/error.h"

namespace stretto {
namespace {

using testing::internal::CaptureStderr;
using testing::internal::GetCapturedStderr;

TEST(Logger, WritesItsLevelAndAbove) {
  const Logger log(LogLevel::warning, "node 3");
  CaptureStderr();
  log.trace("a");
  log.debug("b");
  log.info("c");
  log.warning("peer ", 2, " died");
  log.error("gone");
  const std::string written = GetCapturedStderr();
  EXPECT_EQ(std::count(written.begin(), written.end(), '\n'), 2) << written;
  EXPECT_NE(written.find(" stretto warning [node 3] peer 2 died\n"), std::string::npos) << written;
  EXPECT_NE(written.find(" stretto error [node 3] gone\n"), std::string::npos) << written;
}

TEST(Logger, WritesNothingWhenOff) {
  const Logger log(LogLevel::off, "node 3");
  EXPECT_FALSE(log.writes(LogLevel::off));
  CaptureStderr();
  log.error("gone");
  EXPECT_EQ(GetCapturedStderr(), "");
}

TEST(Logger, TakesBracesForText) {
  const Logger log(LogLevel::trace, "node {}");
  CaptureStderr();
  log.trace("{} %v {0}");
  EXPECT_NE(GetCapturedStderr().find(" stretto trace [node {}] {} %v {0}\n"), std::string::npos);
}

struct Unprintable {
  static inline int printed = 0;
  friend std::ostream& operator<<(std::ostream& out, const Unprintable&) {
    ++printed;
    return out;
  }
};

TEST(Logger, DoesNotFormatWhatItSuppresses) {
  const Logger log(LogLevel::info, "node 3");
  log.debug(Unprintable{});
  EXPECT_EQ(Unprintable::printed, 0);
}

TEST(Logger, KeepsTheLinesOfThreadsWhole) {
  const Logger log(LogLevel::info, "node 3");
  const std::string text(200, 'x');
  CaptureStderr();
  {
    std::vector<std::jthread> threads;
    threads.reserve(4);
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([log, &text] {
        for (int i = 0; i < 50; ++i) log.info(text);
      });
    }
  }
  std::istringstream written(GetCapturedStderr());
  int lines = 0;
  for (std::string line; std::getline(written, line); ++lines) {
    ASSERT_TRUE(line.ends_with("[node 3] " + text)) << line;
  }
  EXPECT_EQ(lines, 200);
}

TEST(LogLevel, IsReadByItsName) {
  for (const LogLevel level :
       {LogLevel::trace, LogLevel::debug, LogLevel::info, LogLevel::warning, LogLevel::error, LogLevel::off}) {
    EXPECT_EQ(parse_log_level(name_of(level)), level);
  }
  EXPECT_EQ(name_of(static_cast<LogLevel>(99)), "unknown");
  try {
    parse_log_level("loud", "STRETTO_LOG");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "STRETTO_LOG is 'loud', but must be trace, debug, info, warning, error or off");
  }
}

}  // namespace
}  // namespace stretto
