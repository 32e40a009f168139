// What the network's tests cannot do for all carriers; how processes meet is in tcp_meeting_test.cc.

#include "stretto/fabric/cluster/tcp/tcp_carrier.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "stretto/fabric/cluster/network/fake_node.h"
#include "stretto/fabric/cluster/tcp/frame_stream.h"
#include "stretto/fabric/cluster/tcp/socket.h"
#include "stretto/fabric/cluster/tcp/test_support.h"

namespace stretto::fabric::cluster::network {
namespace {

using namespace test;
using network_test::pattern;

TEST(TcpCarrier, AStreamThatPromisesTooMuchIsNoFrame) {
  End end;
  const Descriptor rogue = stranger_at(end);
  const ProcessId caller = process(1);
  say(rogue, encode(Hello{caller, decode_tcp_address(end.carrier.address()).process}));
  const std::vector<std::byte> promise(8, std::byte{0xFF});
  say(rogue, promise);
  ASSERT_TRUE(drive({&end}, [&] { return !end.complaint.empty() && hung_up_after_answer(rogue); }));
  EXPECT_NE(end.complaint.find("promises a frame"), std::string::npos);
  EXPECT_TRUE(end.failure.empty());
}

/// Whether who sleeps at that end's descriptor is woken, at the latest after so long.
bool wakes(const End& end, int milliseconds) {
  pollfd sleep{end.carrier.descriptor(), POLLIN, 0};
  return poll(&sleep, 1, milliseconds) == 1;
}

constexpr int a_minute = 60'000;

/// A peer that sends a frame with 40,000 bytes of data half by half.
class HalfByHalf {
 public:
  explicit HalfByHalf(const End& end) : socket_(stranger_at(end)) {
    say(socket_, encode(Hello{process(1), decode_tcp_address(end.carrier.address()).process}));
    const std::vector<std::byte> header = pattern(24, 1);
    const FramePrefix prefix = prefix_of(header, data_);
    say(socket_, prefix);
    say(socket_, header);
  }
  const std::vector<std::byte>& data() const { return data_; }
  void say_first() { say(socket_, ConstByteSpan(data_).first(data_.size() / 2)); }
  void say_second() { say(socket_, ConstByteSpan(data_).subspan(data_.size() / 2)); }
  void say_more() {
    say(socket_, prefix_of({}, data_));
    say(socket_, data_);
  }
  void hang_up() { socket_.reset(); }

 private:
  const std::vector<std::byte> data_ = pattern(40000, 2);
  Descriptor socket_;
};

TEST(TcpCarrier, DataAreReceivedWhereTheyBelong) {
  End end;
  end.place.resize(40000);
  HalfByHalf peer(end);
  peer.say_first();
  // What has come is there before the frame is whole.
  ASSERT_TRUE(drive({&end}, [&] { return end.place[19999] == peer.data()[19999] && end.place[0] == peer.data()[0]; }));
  EXPECT_TRUE(end.frames.empty());
  peer.say_second();
  ASSERT_TRUE(drive({&end}, [&] { return end.frames.size() == 1; }));
  EXPECT_EQ(end.frames[0], (std::pair<std::size_t, std::size_t>(24, 40000)));
  EXPECT_EQ(end.last_data, end.place.data());
  EXPECT_EQ(end.place, peer.data());
}

TEST(TcpCarrier, NothingIsReceivedWhereItBelongsNoMore) {
  End end;
  end.place.resize(40000);
  HalfByHalf peer(end);
  peer.say_first();
  ASSERT_TRUE(drive({&end}, [&] { return end.place[19999] == peer.data()[19999]; }));
  const std::vector<std::byte> given_up = std::exchange(end.place, {});
  peer.say_second();
  ASSERT_TRUE(drive({&end}, [&] { return end.frames.size() == 1; }));
  EXPECT_EQ(end.frames[0], (std::pair<std::size_t, std::size_t>(24, 40000)));
  EXPECT_TRUE(std::all_of(given_up.begin() + 20000, given_up.end(), [](std::byte b) { return b == std::byte{}; }));
}

/// An end that sleeps in the middle of a frame, which it lets flow.
struct LettingFlow {
  LettingFlow() {
    EXPECT_FALSE(end.carrier.let_flow()) << "nothing is on its way";
    end.place.resize(40000);
    peer.say_first();
    EXPECT_TRUE(drive({&end}, [&] { return end.place[19999] == peer.data()[19999]; }));
    EXPECT_TRUE(end.carrier.let_flow());
    EXPECT_TRUE(end.carrier.arm(Alarm::soon));
  }
  bool has_frames(std::size_t count) {
    return drive({&end}, [&] { return end.frames.size() == count; });
  }

  void expect_the_second_half_wakes() {
    ASSERT_TRUE(drive({&end}, [&] { return end.carrier.arm(Alarm::none); }));
    peer.say_second();
    EXPECT_TRUE(wakes(end, a_minute));
    EXPECT_TRUE(has_frames(1));
  }

  End end;
  HalfByHalf peer{end};
};

TEST(TcpCarrier, WhatFlowsWakesNobody) {
  LettingFlow flow;
  flow.peer.say_second();
  EXPECT_FALSE(wakes(flow.end, 0));
  ASSERT_TRUE(flow.has_frames(1)) << "who wakes up by itself finds it";
  EXPECT_EQ(flow.end.place, flow.peer.data());
  EXPECT_FALSE(flow.end.carrier.let_flow()) << "the frame is whole";
  ASSERT_TRUE(drive({&flow.end}, [&] { return flow.end.carrier.arm(Alarm::none); }));
  flow.peer.say_more();
  EXPECT_TRUE(wakes(flow.end, a_minute));
}

TEST(TcpCarrier, MuchOfWhatFlowsWakes) {
  LettingFlow flow;
  flow.peer.say_second();
  std::size_t more = 0;
  for (; !wakes(flow.end, 0); ++more) {
    ASSERT_LT(more, 100U) << "nobody is ever woken";
    flow.peer.say_more();
  }
  EXPECT_TRUE(flow.has_frames(1 + more));
}

TEST(TcpCarrier, TheEndOfWhatFlowsWakes) {
  LettingFlow flow;
  flow.peer.hang_up();
  EXPECT_TRUE(wakes(flow.end, a_minute));
}

// Otherwise an idle job would go on looking for what does not come.
TEST(TcpCarrier, WhatStopsInTheMiddleIsLetFlowOnce) {
  LettingFlow flow;
  while (flow.end.carrier.progress()) {
  }
  EXPECT_FALSE(flow.end.carrier.let_flow());
  flow.expect_the_second_half_wakes();
}

// Who took over from the one that let it flow does not wake up by itself.
TEST(TcpCarrier, WhoArmsLaterHearsAllAgain) {
  LettingFlow flow;
  EXPECT_FALSE(flow.end.carrier.arm(Alarm::none)) << "there may be something to read";
  flow.expect_the_second_half_wakes();
}

// Who has slept finds somebody at work who does not read: nothing has come, as far as it knows.
TEST(TcpCarrier, WhatFlowedIsHeardThoughNobodyHasReadSince) {
  LettingFlow flow;
  EXPECT_FALSE(flow.end.carrier.let_flow()) << "nothing was seen to come";
  EXPECT_FALSE(flow.end.carrier.arm(Alarm::none)) << "there may be something to read";
  flow.expect_the_second_half_wakes();
}

TEST(TcpCarrier, APartOfASmallFrameIsNotLetFlow) {
  End end;
  const Descriptor peer = stranger_at(end);
  say(peer, encode(Hello{process(1), decode_tcp_address(end.carrier.address()).process}));
  const std::vector<std::byte> data = pattern(max_message_bytes, 3);
  say(peer, prefix_of({}, data));
  say(peer, ConstByteSpan(data).first(10000));
  while (end.carrier.progress()) {
  }
  EXPECT_FALSE(end.carrier.let_flow());
  say(peer, ConstByteSpan(data).subspan(10000));
  ASSERT_TRUE(drive({&end}, [&] { return end.frames.size() == 1; }));
}

// Who polls reads all that is there, however little it is.
TEST(TcpCarrier, WhoPollsWhatFlowedHearsAllAgain) {
  LettingFlow flow;
  while (flow.end.carrier.progress()) {
  }
  flow.peer.say_second();
  ASSERT_TRUE(flow.has_frames(1));
  for (std::size_t frames = 2; frames <= 4; ++frames) {
    flow.peer.say_more();
    ASSERT_TRUE(flow.has_frames(frames));
  }
}

/// Two ends of one connection, who have polled for so long that the kernel watches it for neither (decision 59).
class LongPolled {
 public:
  LongPolled() : to_other_(end.carrier.connect(other.carrier.address(), end)) {
    EXPECT_TRUE(drive({&end, &other}, [&] { return end.carrier.try_send(to_other_, pattern(4, 1), {}); }));
    EXPECT_TRUE(drive({&end, &other}, [&] { return other.frames.size() == 1; }));
    other.frames.clear();
    to_end_ = other.carrier.connect(end.carrier.address(), other);
    for (int i = 0; i < 1000; ++i) EXPECT_FALSE(end.carrier.progress() || other.carrier.progress());
  }
  Connection* to_other() const { return to_other_; }
  Connection* to_end() const { return to_end_; }
  bool say_to_end() { return other.carrier.try_send(to_end_, pattern(4, 1), {}); }

  End end;
  End other;

 private:
  Connection* to_other_;
  Connection* to_end_ = nullptr;
};

TEST(TcpCarrier, WhoPollsForLongReadsItsOnlyConnectionUnasked) {
  LongPolled ends;
  for (std::size_t frames = 1; frames <= 3; ++frames) {
    ASSERT_TRUE(ends.say_to_end());
    EXPECT_FALSE(wakes(ends.end, 0)) << "the kernel still watches it";
    ASSERT_TRUE(drive({&ends.end}, [&] { return ends.end.frames.size() == frames; }));
  }
}

TEST(TcpCarrier, WhoSleepsAfterLongPollingIsWoken) {
  LongPolled ends;
  ASSERT_TRUE(drive({&ends.end}, [&] { return ends.end.carrier.arm(Alarm::none); }));
  EXPECT_FALSE(wakes(ends.end, 0));
  ASSERT_TRUE(ends.say_to_end());
  EXPECT_TRUE(wakes(ends.end, a_minute));
  ASSERT_TRUE(drive({&ends.end}, [&] { return ends.end.frames.size() == 1; }));
}

// As threads do that do not take the watch from the one that sleeps.
TEST(TcpCarrier, WhoSleepsIsWokenThoughOthersPollForLong) {
  LongPolled ends;
  ASSERT_TRUE(drive({&ends.end}, [&] { return ends.end.carrier.arm(Alarm::none); }));
  for (int i = 0; i < 1000; ++i) ends.end.carrier.progress();
  EXPECT_FALSE(wakes(ends.end, 0));
  ASSERT_TRUE(ends.say_to_end());
  EXPECT_TRUE(wakes(ends.end, 0)) << "all that is sent on this host has arrived when the call that sends it returns";
  ASSERT_TRUE(drive({&ends.end}, [&] { return ends.end.frames.size() == 1; }));
}

TEST(TcpCarrier, WhatCameBeforeItIsArmedKeepsItAwake) {
  LongPolled ends;
  ASSERT_TRUE(drive({&ends.end}, [&] { return ends.end.carrier.arm(Alarm::none); }));
  ends.end.carrier.disarm();
  for (int i = 0; i < 1000; ++i) ends.end.carrier.progress();
  ASSERT_TRUE(ends.say_to_end());
  // All that is sent on this host has arrived when the call that sends it returns.
  EXPECT_FALSE(ends.end.carrier.arm(Alarm::none));
  ASSERT_TRUE(drive({&ends.end}, [&] { return ends.end.frames.size() == 1; }));
}

TEST(TcpCarrier, WhoPollsForLongNoticesWhoCalls) {
  LongPolled ends;
  const Descriptor stranger = stranger_at(ends.end);
  ASSERT_TRUE(drive({&ends.end}, [&] { return connect_result(stranger) == 0; }));
  say(stranger, pattern(100, 1));
  ASSERT_TRUE(drive({&ends.end}, [&] { return hung_up(stranger); }));
  ASSERT_TRUE(ends.say_to_end());
  ASSERT_TRUE(drive({&ends.end}, [&] { return ends.end.frames.size() == 1; }));
  expect_service(ends.end);
}

TEST(TcpCarrier, WhoPollsForLongNoticesTheEndOfItsPeer) {
  LongPolled ends;
  ends.other.carrier.close(ends.to_end());
  ASSERT_TRUE(drive({&ends.end}, [&] { return !ends.end.failure.empty(); }));
  ends.end.carrier.close(ends.to_other());
  expect_service(ends.end);
}

TEST(TcpCarrier, AConnectionThatCannotBeWatchedAnyMoreIsLost) {
  LongPolled ends;
  const Descriptor no_epoll_set(open("/dev/null", O_RDONLY | O_CLOEXEC));
  ASSERT_GE(dup2(no_epoll_set.number(), ends.end.carrier.descriptor()), 0);
  EXPECT_FALSE(ends.end.carrier.arm(Alarm::none));
  EXPECT_NE(ends.end.failure.find("cannot be watched"), std::string::npos) << ends.end.failure;
  ASSERT_TRUE(drive({&ends.other}, [&] { return !ends.other.failure.empty(); }));
}

struct Counted final : Sending {
  void sent() noexcept override { ++count; }
  int count = 0;
};

/// Two such ends, of which one has sent until the kernel took no more.
struct FilledUp : LongPolled {
  FilledUp() {
    while (send()) ++frames;
  }
  bool send() { return end.carrier.send(to_other(), header, data, sending); }

  const std::vector<std::byte> header = pattern(4, 1);
  const std::vector<std::byte> data = pattern(60'000, 2);
  Counted sending;
  std::size_t frames = 1;  // the last one waits
};

TEST(TcpCarrier, WhatTheKernelDoesNotTakeAtOnceLeavesAfterLongPolling) {
  FilledUp ends;
  for (int i = 0; i < 1000; ++i) ends.end.carrier.progress();
  EXPECT_EQ(ends.sending.count, 0);
  ASSERT_TRUE(drive({&ends.end, &ends.other}, [&] { return ends.other.frames.size() == ends.frames; }));
  EXPECT_EQ(ends.sending.count, 1);
  EXPECT_TRUE(ends.end.carrier.flush());
}

// As much as it may: until somebody is there again, who gives it what is left in time.
TEST(TcpCarrier, WhatIsLetFlowLeavesAtOnce) {
  FilledUp ends;
  ends.end.carrier.let_flow();
  EXPECT_EQ(ends.sending.count, 1);
  EXPECT_TRUE(ends.end.carrier.flush());
  EXPECT_TRUE(ends.send()) << "there is room for more";
  ends.end.carrier.progress();
  EXPECT_FALSE(ends.send()) << "there is none any more";
  ASSERT_TRUE(drive({&ends.end, &ends.other}, [&] { return ends.other.frames.size() == ends.frames + 2; }));
  EXPECT_EQ(ends.sending.count, 2);
}

}  // namespace
}  // namespace stretto::fabric::cluster::network
