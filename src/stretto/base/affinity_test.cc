#include "stretto/base/affinity.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

namespace stretto {
namespace {

// In a process of its own, which ends there.
TEST(AffinityDeathTest, AProcessIsKeptOnOneCoreWithItsThreads) {
  ASSERT_GE(usable_cores(), 1U);
  EXPECT_EXIT(
      {
        bind_process_to_core(usable_cores() + 1);  // counted round
        unsigned of_a_later_thread = 0;
        std::thread([&] { of_a_later_thread = usable_cores(); }).join();
        std::_Exit(usable_cores() == 1 && of_a_later_thread == 1 ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace stretto
