#include "stretto/base/shared_memory.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

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
  set_aside(memory_.number(), page_bytes(), 2 * page_bytes());
  EXPECT_GE(static_cast<std::size_t>(status().st_blocks) * 512, 2 * page_bytes());
  EXPECT_TRUE(try_to_set_aside(memory_.number(), 0, page_bytes()));
  EXPECT_GE(static_cast<std::size_t>(status().st_blocks) * 512, 3 * page_bytes());
}

TEST_F(SharedMemoryTest, SaysWhatThereIsNoRoomFor) {
  EXPECT_FALSE(try_to_set_aside(memory_.number(), bytes_, page_bytes())) << "beyond its end";
  try {
    set_aside(memory_.number(), bytes_, page_bytes());
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::out_of_resources);
    EXPECT_NE(error.message().find("no further " + std::to_string(page_bytes()) + " bytes"), std::string::npos)
        << error.message();
  }
}

TEST(SharedMemory, CannotBeOfAnyLength) {
  EXPECT_THROW(make_shared_memory("test", std::numeric_limits<std::size_t>::max()), Error);
}

}  // namespace
}  // namespace stretto
