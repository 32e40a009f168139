// Processes that may start no thread.

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "stretto/base/refuse_call.h"
#include "stretto/core/test_support.h"

namespace stretto {
namespace {

// Exit codes of the child.
constexpr int as_expected = 0;
constexpr int cannot_refuse = 1;
constexpr int otherwise = 2;

int start_without_threads() {
  if (!test::refuse_call(SYS_clone3, EAGAIN) || !test::refuse_call(SYS_clone, EAGAIN)) return cannot_refuse;
  const auto error = test::error_of([] { Runtime runtime(test::options_for("local:2")); });
  const bool named = error && error->code() == ErrorCode::out_of_resources &&
                     error->message().find("STRETTO_WORKERS") != std::string::npos;
  return named ? as_expected : otherwise;
}

TEST(ThreadShortage, IsAnErrorThatNamesTheRemedy) {
  const pid_t child = fork();
  if (child == 0) _exit(start_without_threads());
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == cannot_refuse) GTEST_SKIP() << "the kernel lets nobody filter system calls";
  EXPECT_EQ(WEXITSTATUS(status), as_expected);
}

}  // namespace
}  // namespace stretto
