// How processes meet by TCP: strangers at the port, wrong addresses, several interfaces.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "stretto/base/error.h"
#include "stretto/fabric/bootstrap/socket.h"
#include "stretto/fabric/cluster/network/fake_node.h"
#include "stretto/fabric/cluster/tcp/frame_stream.h"
#include "stretto/fabric/cluster/tcp/test_support.h"

namespace stretto::fabric::cluster::network {
namespace {

using namespace test;
using network_test::pattern;

TEST(TcpMeeting, StrangersThatSpeakNonsenseAreHungUpOn) {
  End end;
  const Descriptor stranger = stranger_at(end);
  ASSERT_TRUE(drive({&end}, [&] { return connect_result(stranger) == 0; }));
  say(stranger, pattern(100, 1));
  ASSERT_TRUE(drive({&end}, [&] { return hung_up(stranger); }));
  EXPECT_TRUE(end.frames.empty());
  expect_service(end);
}

TEST(TcpMeeting, WhatAChildKeepsOpenIsForgotten) {
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

TEST(TcpMeeting, WhoMeansAnotherProcessIsHungUpOn) {
  End end;
  const Descriptor stranger = stranger_at(end);
  say(stranger, encode(Hello{process(1), process(2)}));
  ASSERT_TRUE(drive({&end}, [&] { return hung_up(stranger); }));
  expect_service(end);
}

TEST(TcpMeeting, SilentStrangersAreDroppedWhenThereAreTooMany) {
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
TEST(TcpMeeting, AsManyAsAreExpectedMayBeSilent) {
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

TEST(TcpMeeting, WhereDescriptorsAreShortAStrangerWaitsAndAnExpectedProcessIsNamed) {
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

TEST(TcpMeeting, WhereDescriptorsAreShortAStrangerWaitsThoughWhoWasExpectedHasLeft) {
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

TEST(TcpMeeting, TheNextAddressIsTriedWhereOneLeadsElsewhere) {
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

TEST(TcpMeeting, AnotherProcessAtTheAddressIsNotSpokenTo) {
  End end;
  End other;
  TcpAddress address = decode_tcp_address(other.carrier.address());
  address.process = process(9);
  end.carrier.connect(encode(address), end);
  ASSERT_TRUE(drive({&end, &other}, [&] { return !end.failure.empty(); }));
  EXPECT_NE(end.failure.find("cannot be reached"), std::string::npos) << end.failure;
  EXPECT_TRUE(other.frames.empty());
}

TEST(TcpMeeting, WhereNobodyListensThePeerCannotBeReached) {
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

TEST(TcpMeeting, AnInterfaceThatIsNotThereIsNamed) {
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

// All interfaces, as is the default: two ends in one process reach each other by any of them.
TEST(TcpMeeting, AllInterfacesAreOfferedWhereNoneIsNamed) {
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
