// Processes that may start no thread.

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "stretto/base/refuse_call.h"
#include "stretto/core/stall_watch.h"
#include "stretto/core/test_support.h"

namespace stretto {
namespace {

// Exit codes of the child.
constexpr int as_expected = 0;
constexpr int cannot_refuse = 1;
constexpr int otherwise = 2;

// What needs a thread, and what its error names as the remedy.
struct Need {
  void (*start)();
  std::string_view remedy;
};

int start_without_threads(const Need& need) {
  if (!test::refuse_call(SYS_clone3, EAGAIN) || !test::refuse_call(SYS_clone, EAGAIN)) return cannot_refuse;
  const auto error = test::error_of(need.start);
  const bool named = error && error->code() == ErrorCode::out_of_resources &&
                     error->message().find("Resource temporarily unavailable") != std::string::npos &&
                     error->message().find(need.remedy) != std::string::npos;
  return named ? as_expected : otherwise;
}

class ThreadShortage : public testing::TestWithParam<Need> {};

TEST_P(ThreadShortage, IsAnErrorThatNamesTheRemedy) {
  const pid_t child = fork();
  if (child == 0) _exit(start_without_threads(GetParam()));
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == cannot_refuse) GTEST_SKIP() << "the kernel lets nobody filter system calls";
  EXPECT_EQ(WEXITSTATUS(status), as_expected);
}

INSTANTIATE_TEST_SUITE_P(Workers, ThreadShortage,
                         testing::Values(Need{[] { Runtime runtime(test::options_for("local:2")); },
                                              "STRETTO_WORKERS"}));
INSTANTIATE_TEST_SUITE_P(Watches, ThreadShortage,
                         testing::Values(Need{[] { const StallWatch watch({}, 1, [](NodeId, const std::string&) {}); },
                                              "STRETTO_STALL_SECONDS=0"}));

}  // namespace
}  // namespace stretto
