// What the network's tests cannot do for all carriers: strangers at the port, wrong addresses, several interfaces.

#include "stretto/fabric/cluster/tcp/tcp_carrier.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "stretto/base/error.h"
#include "stretto/fabric/bootstrap/socket.h"
#include "stretto/fabric/cluster/network/fake_node.h"
#include "stretto/fabric/cluster/tcp/frame_stream.h"
#include "stretto/fabric/cluster/tcp/socket.h"

namespace stretto::fabric::cluster::network {
namespace {

using network_test::pattern;

const std::string loopback = "lo";

/// One carrier, with all that it was told laid open.
struct End final : FrameSink, ConnectionOwner {
  ByteSpan place_for(Connection*, ConstByteSpan, std::size_t bytes) noexcept override {
    return bytes == place.size() ? ByteSpan(place) : ByteSpan();
  }
  void on_frame(Connection* from, ConstByteSpan header, ConstByteSpan data) noexcept override {
    last = from;
    frames.emplace_back(header.size(), data.size());
    last_data = data.data();
  }
  void on_no_frame(Connection*, const char* why) noexcept override { complaint = why; }
  void failed(const char* why) noexcept override { failure = why; }

  std::vector<std::byte> place;  // of frames with so many bytes of data
  std::vector<std::pair<std::size_t, std::size_t>> frames;
  const std::byte* last_data = nullptr;
  Connection* last = nullptr;
  std::string complaint;
  std::string failure;
  TcpCarrier carrier{*this, loopback};
};

bool drive(std::vector<End*> ends, const std::function<bool()>& done) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!done()) {
    for (End* const end : ends) end->carrier.progress();
    if (std::chrono::steady_clock::now() > limit) return false;
  }
  return true;
}

void say(const Descriptor& socket, ConstByteSpan bytes) {
  OpenPacket open;
  while (!bytes.empty()) {
    const iovec piece{const_cast<std::byte*>(bytes.data()), bytes.size()};
    bytes = bytes.subspan(send_some(socket, open, {&piece, 1}).bytes);
  }
}

Descriptor stranger_at(const End& end) {
  const TcpAddress address = decode_tcp_address(end.carrier.address());
  Descriptor socket = begin_connect(address.interfaces.at(0), address.port);
  EXPECT_TRUE(socket);
  return socket;
}

/// Whether the other end has hung up on a stranger.
bool hung_up(const Descriptor& socket) {
  std::byte b{};
  return receive_some(socket, {}, {&b, 1}).ended;
}

/// The same, of one that was greeted first.
bool hung_up_after_answer(const Descriptor& socket) {
  std::array<std::byte, 64> bytes{};
  return receive_some(socket, {}, bytes).ended;
}

ProcessId process(int number) {
  ProcessId id{};
  id.fill(std::byte(number));
  return id;
}

/// Both ends still find each other.
void expect_service(End& end) {
  End other;
  other.carrier.connect(end.carrier.address(), other);
  Connection* const connection = end.carrier.connect(other.carrier.address(), end);
  const std::size_t before = other.frames.size();
  ASSERT_TRUE(drive({&end, &other}, [&] { return end.carrier.try_send(connection, pattern(4, 1), {}); }));
  ASSERT_TRUE(drive({&end, &other}, [&] { return other.frames.size() == before + 1; }));
}

TEST(TcpCarrier, StrangersThatSpeakNonsenseAreHungUpOn) {
  End end;
  const Descriptor stranger = stranger_at(end);
  ASSERT_TRUE(drive({&end}, [&] { return connect_result(stranger) == 0; }));
  say(stranger, pattern(100, 1));
  ASSERT_TRUE(drive({&end}, [&] { return hung_up(stranger); }));
  EXPECT_TRUE(end.frames.empty());
  expect_service(end);
}

TEST(TcpCarrier, WhatAChildKeepsOpenIsForgotten) {
  End end;
  const Descriptor stranger = stranger_at(end);
  ASSERT_TRUE(drive({&end}, [&] { return connect_result(stranger) == 0; }));
  end.carrier.progress();
  std::array<int, 2> life{};
  ASSERT_EQ(pipe2(life.data(), O_CLOEXEC), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    char ignored = 0;
    close(life[1]);
    _exit(read(life[0], &ignored, 1) < 0 ? 1 : 0);
  }
  close(life[0]);
  say(stranger, pattern(100, 1));
  // Dropped, but the child keeps it from being hung up.
  for (int quiet = 0; quiet < 100; quiet = end.carrier.progress() ? 0 : quiet + 1) {
  }
  say(stranger, pattern(100, 1));
  EXPECT_FALSE(end.carrier.progress()) << "the dropped connection is still watched";
  close(life[1]);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  expect_service(end);
}

TEST(TcpCarrier, WhoMeansAnotherProcessIsHungUpOn) {
  End end;
  const Descriptor stranger = stranger_at(end);
  say(stranger, encode(Hello{process(1), process(2)}));
  ASSERT_TRUE(drive({&end}, [&] { return hung_up(stranger); }));
  expect_service(end);
}

TEST(TcpCarrier, SilentStrangersAreDroppedWhenThereAreTooMany) {
  End end;
  std::vector<Descriptor> strangers;
  for (int i = 0; i < 140; ++i) {
    strangers.push_back(stranger_at(end));
    end.carrier.progress();
  }
  ASSERT_TRUE(drive({&end}, [&] { return hung_up(strangers[0]) && hung_up(strangers[5]); }));
  EXPECT_FALSE(hung_up(strangers.back()));
  expect_service(end);
}

// Who is expected may take its time: a job's processes call one another all at once, before any has said a word.
TEST(TcpCarrier, AsManyAsAreExpectedMayBeSilent) {
  End end;
  end.carrier.expect(100);
  std::vector<Descriptor> expected;
  for (int i = 0; i < 140; ++i) {
    expected.push_back(stranger_at(end));
    end.carrier.progress();
  }
  expect_service(end);
  for (const Descriptor& one : expected) EXPECT_FALSE(hung_up(one));
}

/// While it lives, this process can open nothing.
class NoMoreDescriptors {
 public:
  NoMoreDescriptors() {
    getrlimit(RLIMIT_NOFILE, &before_);
    const Descriptor next(dup(0));  // the lowest free number
    rlimit limit = before_;
    limit.rlim_cur = static_cast<rlim_t>(next.number());
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  NoMoreDescriptors(const NoMoreDescriptors&) = delete;
  NoMoreDescriptors& operator=(const NoMoreDescriptors&) = delete;
  ~NoMoreDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

// For which a sanitizer needs descriptors at its first look at each.
void look_at_all_classes() {
  End end;
  expect_service(end);
  try {
    errno = EMFILE;
    throw_io("like this");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::out_of_resources);
  }
}

TEST(TcpCarrier, WhereDescriptorsAreShortAStrangerWaitsAndAnExpectedProcessIsNamed) {
  look_at_all_classes();
  End end;
  const Descriptor caller = stranger_at(end);
  {
    const NoMoreDescriptors shortage;
    for (int i = 0; i < 100; ++i) end.carrier.progress();
  }
  End other;
  const Descriptor another = stranger_at(other);
  other.carrier.expect(1);
  const NoMoreDescriptors shortage;
  try {
    drive({&other}, [] { return false; });
    ADD_FAILURE() << "the caller was never missed";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::out_of_resources);
    EXPECT_NE(error.message().find("ulimit -n"), std::string::npos);
  }
}

TEST(TcpCarrier, WhereDescriptorsAreShortAStrangerWaitsThoughWhoWasExpectedHasLeft) {
  look_at_all_classes();
  End end;
  end.carrier.expect(1);
  {
    const Descriptor peer = stranger_at(end);
    say(peer, encode(Hello{process(1), decode_tcp_address(end.carrier.address()).process}));
    say(peer, prefix_of({}, pattern(1, 1)));
    say(peer, pattern(1, 1));
    ASSERT_TRUE(drive({&end}, [&] { return end.frames.size() == 1; }));
  }
  for (int i = 0; i < 100; ++i) end.carrier.progress();
  const Descriptor caller = stranger_at(end);
  const NoMoreDescriptors shortage;
  for (int i = 0; i < 100; ++i) end.carrier.progress();
}

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

TEST(TcpCarrier, TheNextAddressIsTriedWhereOneLeadsElsewhere) {
  End end;
  End other;
  TcpAddress address = decode_tcp_address(other.carrier.address());
  // 127.0.0.77 is this host, too, but the other end listens at 127.0.0.1 only.
  const IpAddress right = address.interfaces.at(0);
  IpAddress nobody = right;
  nobody.bytes[3] = std::byte{77};
  address.interfaces = {nobody, right};
  Connection* const connection = end.carrier.connect(encode(address), end);
  ASSERT_TRUE(drive({&end, &other}, [&] { return end.carrier.try_send(connection, pattern(4, 1), pattern(9, 1)); }));
  ASSERT_TRUE(drive({&end, &other}, [&] { return other.frames.size() == 1; }));
  EXPECT_EQ(other.frames[0], (std::pair<std::size_t, std::size_t>(4, 9)));
  EXPECT_EQ(end.carrier.networks(connection), std::vector<std::string>{"tcp/lo"});
  EXPECT_TRUE(end.failure.empty());
}

TEST(TcpCarrier, AnotherProcessAtTheAddressIsNotSpokenTo) {
  End end;
  End other;
  TcpAddress address = decode_tcp_address(other.carrier.address());
  address.process = process(9);
  end.carrier.connect(encode(address), end);
  ASSERT_TRUE(drive({&end, &other}, [&] { return !end.failure.empty(); }));
  EXPECT_NE(end.failure.find("cannot be reached"), std::string::npos) << end.failure;
  EXPECT_TRUE(other.frames.empty());
}

TEST(TcpCarrier, WhereNobodyListensThePeerCannotBeReached) {
  End end;
  std::vector<std::byte> address;
  {
    const End gone;
    address = gone.carrier.address();
  }
  Connection* const connection = end.carrier.connect(address, end);
  ASSERT_TRUE(drive({&end}, [&] { return !end.failure.empty(); }));
  EXPECT_NE(end.failure.find("Connection refused"), std::string::npos) << end.failure;
  EXPECT_FALSE(end.carrier.try_send(connection, pattern(1, 1), {}));
  EXPECT_TRUE(end.carrier.networks(connection).empty());
  end.carrier.close(connection);
}

TEST(TcpCarrier, AnInterfaceThatIsNotThereIsNamed) {
  End sink;
  try {
    const TcpCarrier carrier(sink, "no-such-device");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::not_supported);
    EXPECT_NE(error.message().find("no-such-device"), std::string::npos);
  }
  for (const char* const network : {"", "udp", "tcp/", "TCP", "ucx/eth0"}) {
    try {
      (void)make_carrier(network, sink);
      FAIL() << network;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << network;
      EXPECT_NE(error.message().find("STRETTO_NETWORK"), std::string::npos);
    }
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

TEST(TcpCarrier, WhatCameBeforeItIsArmedKeepsItAwake) {
  LongPolled ends;
  ASSERT_TRUE(drive({&ends.end}, [&] { return ends.end.carrier.arm(Alarm::none); }));
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

// All interfaces, as is the default: two ends in one process reach each other by any of them.
TEST(TcpCarrier, AllInterfacesAreOfferedWhereNoneIsNamed) {
  End sink;
  TcpCarrier carrier(sink, "");
  EXPECT_GE(decode_tcp_address(carrier.address()).interfaces.size(), 1U);
  End end;
  Connection* const connection = end.carrier.connect(carrier.address(), end);
  ASSERT_TRUE(drive({&end}, [&] {
    carrier.progress();
    return end.carrier.try_send(connection, pattern(4, 1), {});
  }));
}

}  // namespace
}  // namespace stretto::fabric::cluster::network
