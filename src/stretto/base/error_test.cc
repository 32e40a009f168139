#include "stretto/base/error.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace stretto {
namespace {

TEST(Error, KeepsItsCodeAndMessage) {
  const Error error(ErrorCode::peer_lost, "node 3 died");
  EXPECT_EQ(error.code(), ErrorCode::peer_lost);
  EXPECT_EQ(error.message(), "node 3 died");
  EXPECT_STREQ(error.what(), "peer_lost: node 3 died");
}

TEST(Error, IsCaughtAsStandardException) {
  try {
    throw Error(ErrorCode::io, "cannot read");
  } catch (const std::exception& error) {
    EXPECT_STREQ(error.what(), "io: cannot read");
  }
}

TEST(Error, SurvivesItsOriginalsEnd) {
  Error copy(ErrorCode::internal, "");
  {
    const Error original(ErrorCode::bad_input, std::string(100, 'x'));
    copy = original;
  }
  EXPECT_EQ(copy.code(), ErrorCode::bad_input);
  EXPECT_EQ(std::string(copy.what()), "bad_input: " + std::string(100, 'x'));
}

TEST(Error, EveryCodeHasANameOfItsOwn) {
  std::set<std::string_view> names;
  const auto last = static_cast<unsigned>(ErrorCode::internal);
  for (unsigned code = 0; code <= last; ++code) names.insert(name_of(static_cast<ErrorCode>(code)));
  EXPECT_EQ(names.size(), last + 1U);
  EXPECT_FALSE(names.contains("unknown"));
  EXPECT_EQ(name_of(static_cast<ErrorCode>(last + 1U)), "unknown");
}

}  // namespace
}  // namespace stretto
