#include "stretto/base/shared_memory.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <limits>
#include <string>

#include "stretto/base/error.h"
#include "stretto/base/page.h"

namespace stretto {
namespace {

class SharedMemoryTest : public testing::Test {
 protected:
  struct stat status() const {
    struct stat status{};
    EXPECT_EQ(fstat(memory_.number(), &status), 0);
    return status;
  }

  const std::size_t bytes_ = 8 * page_bytes();
  const Descriptor memory_ = make_shared_memory("test", bytes_);
};

TEST_F(SharedMemoryTest, KeepsItsLength) {
  EXPECT_EQ(status().st_size, static_cast<off_t>(bytes_));
  EXPECT_NE(ftruncate(memory_.number(), 0), 0);
  EXPECT_NE(ftruncate(memory_.number(), static_cast<off_t>(2 * bytes_)), 0);
  EXPECT_EQ(status().st_size, static_cast<off_t>(bytes_));
}

TEST_F(SharedMemoryTest, HasWhatIsSetAside) {
  EXPECT_EQ(status().st_blocks, 0);
  EXPECT_TRUE(set_aside(memory_.number(), page_bytes(), 2 * page_bytes()));
  EXPECT_GE(static_cast<std::size_t>(status().st_blocks) * 512, 2 * page_bytes());
  EXPECT_TRUE(set_aside(memory_.number(), 0, page_bytes()));
  EXPECT_GE(static_cast<std::size_t>(status().st_blocks) * 512, 3 * page_bytes());
}

TEST_F(SharedMemoryTest, SaysWhyThereIsNoRoom) {
  errno = 0;
  EXPECT_FALSE(set_aside(memory_.number(), bytes_, page_bytes())) << "beyond its end";
  EXPECT_EQ(errno, EPERM) << "it is sealed";
}

TEST(SharedMemory, WhatCannotBeMadeIsANamedError) {
  constexpr std::size_t bytes = std::numeric_limits<std::size_t>::max();
  try {
    make_shared_memory("too-long", bytes);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::out_of_resources);
    EXPECT_EQ(error.message().rfind("cannot create shared memory \"too-long\" of " + std::to_string(bytes), 0), 0U)
        << error.message();
  }
}

}  // namespace
}  // namespace stretto
