#include "stretto/core/fabric_watch.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "stretto/fabric/segment.h"

namespace stretto {
namespace {

// An endpoint to which nothing comes.
class QuietEndpoint final : public fabric::Endpoint {
 public:
  explicit QuietEndpoint(fabric::Context& context)
      : Endpoint(0, 2, context, std::make_unique<fabric::Segment>(std::size_t{1} << 20U, false)) {}

  void send(NodeId, fabric::MessageType, ConstByteSpan, ConstByteSpan) override { count_request(); }
  void put(NodeId, fabric::Offset, ConstByteSpan, fabric::Notification, fabric::Completion*) override {}
  void get(NodeId, fabric::Offset, ByteSpan, fabric::Completion*) override {}
  bool maps(NodeId) const override { return false; }
  std::byte* peer_pointer(NodeId, fabric::Offset, std::size_t) override { return nullptr; }
  bool progress() override { return false; }
  int descriptor() const override { return 0; }
};

class FabricWatchTest : public ::testing::Test {
 protected:
  void start(unsigned workers_per_core) { watch_.start(endpoints_, false, workers_per_core); }
  // What the service thread sleeps that finds a worker at it each time.
  long tick() {
    watch_.service_woke_up(false);
    watch_.poll();
    const std::optional<timespec> time = watch_.tick_of_service(false);
    return time ? time->tv_sec * 1'000'000'000 + time->tv_nsec : -1;
  }

  fabric::Context context_{nullptr};
  QuietEndpoint endpoint_{context_};
  fabric::Endpoint* endpoints_[1] = {&endpoint_};
  FabricWatch watch_{[] { return 0.0; }, [] {}};
};

TEST_F(FabricWatchTest, TicksAreRarerWhereWorkersShareACore) {
  start(1);
  const long alone = tick();
  EXPECT_GT(alone, 0);
  FabricWatch crowded([] { return 0.0; }, [] {});
  crowded.start(endpoints_, false, 8);
  EXPECT_EQ(crowded.tick_of_service(false)->tv_nsec, 8 * alone);
}

TEST_F(FabricWatchTest, TicksAreNeverLongerThanAPartOfASecond) {
  start(1'000'000);
  watch_.service_woke_up(false);
  const std::optional<timespec> time = watch_.tick_of_service(false);
  EXPECT_EQ(time->tv_sec, 0);
  EXPECT_GT(time->tv_nsec, 0);
  EXPECT_LT(2 * time->tv_nsec, 1'000'000'000);
}

TEST_F(FabricWatchTest, CountsWhatPeersWereGivenToDo) {
  start(1);
  EXPECT_EQ(watch_.requests(), 0U);
  endpoint_.send(1, fabric::MessageType{}, {}, {});
  EXPECT_EQ(watch_.requests(), 1U);
}

}  // namespace
}  // namespace stretto
