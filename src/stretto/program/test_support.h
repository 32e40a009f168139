#pragma once

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "stretto/base/error.h"
#include "stretto/core/test_support.h"

// What the tests of programs share.

namespace stretto::program::test {

/// A command line that must be refused, and what the refusal must name.
struct BadCommandLine {
  std::vector<const char*> arguments;
  const char* named;

  friend void PrintTo(const BadCommandLine& bad, std::ostream* out) {
    for (const char* const argument : bad.arguments) *out << argument << ' ';
    *out << "(" << bad.named << ")";
  }
};

/// `call` throws Error(invalid_argument), one line with `named` in it.
template <class Call>
void expect_refused(const Call& call, const std::string& named) {
  const std::optional<Error> error = stretto::test::error_of(call);
  ASSERT_TRUE(error.has_value()) << "accepted";
  EXPECT_EQ(error->code(), ErrorCode::invalid_argument);
  EXPECT_NE(error->message().find(named), std::string::npos) << error->message();
  EXPECT_EQ(error->message().find('\n'), std::string::npos) << error->message();
}

/// What `main` returns, a Task<Result>, at node 0 of such a job, whose nodes are all in this process.
template <class Result, class Main>
Result result_on(const std::string& fabric, const Main& main) {
  Result of_node_0;
  stretto::test::run_on(fabric, [&](Node& node) -> Task<> {
    Result result = co_await main(node);
    if (node.id() == 0) of_node_0 = std::move(result);
  });
  return of_node_0;
}

}  // namespace stretto::program::test
