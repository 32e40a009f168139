#include "stretto/fabric/bootstrap/bootstrap.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <functional>
#include <thread>

#include "stretto/fabric/bootstrap/in_process.h"
#include "stretto/fabric/bootstrap/member_channel.h"
#include "stretto/fabric/bootstrap/reactor.h"
#include "stretto/fabric/bootstrap/rendezvous.h"
#include "stretto/fabric/bootstrap/rendezvous_client.h"
#include "stretto/fabric/bootstrap/socket.h"
#include "stretto/fabric/bootstrap/test_support.h"

namespace stretto::fabric {
namespace {

using test::SocketPair;

std::vector<std::byte> bytes_of_text(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
  return {bytes.begin(), bytes.end()};
}

/// Serves a rendezvous over socket pairs, on a thread of its own, until every rank has closed its end.
class RendezvousThread {
 public:
  RendezvousThread(const JobSecret& secret, std::uint32_t size) : rendezvous_(secret, {{{"here", size, false}}, true}) {
    for (ConnectionId id = 0; id < size; ++id) {
      SocketPair pair;
      clients.push_back(std::move(pair.near));
      perform(rendezvous_.connected(id, random_nonce()));
      far_ends.emplace_back(::dup(pair.far.number()));
      sockets_[id] = std::move(pair.far);
      reactor_.watch(sockets_[id].number(), POLLIN, [this, id](short) { serve(id); });
    }
    thread_ = std::thread([this] {
      while (!sockets_.empty()) reactor_.turn();
    });
  }
  RendezvousThread(const RendezvousThread&) = delete;
  RendezvousThread& operator=(const RendezvousThread&) = delete;
  ~RendezvousThread() { thread_.join(); }

  std::vector<Descriptor> clients;
  std::vector<Descriptor> far_ends;  // of them, for what no rendezvous would say

 private:
  void serve(ConnectionId id) {
    const auto found = sockets_.find(id);
    if (found == sockets_.end()) return;
    std::array<std::byte, 4096> buffer;
    const ssize_t count = ::recv(found->second.number(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (count > 0) {
      perform(rendezvous_.received(id, ConstByteSpan(buffer).first(static_cast<std::size_t>(count))));
    } else if (count == 0) {
      close(id);
      perform(rendezvous_.closed(id));
    }
  }

  void perform(const Instructions& instructions) {
    for (const Instruction& instruction : instructions) {
      if (const auto* send = std::get_if<SendBytes>(&instruction);
          send != nullptr && sockets_.contains(send->connection)) {
        ::send(sockets_[send->connection].number(), send->bytes.data(), send->bytes.size(), MSG_NOSIGNAL);
      } else if (const auto* closing = std::get_if<CloseConnection>(&instruction)) {
        close(closing->connection);
      }
    }
  }

  void close(ConnectionId id) {
    const auto found = sockets_.find(id);
    if (found == sockets_.end()) return;
    reactor_.forget(found->second.number());
    sockets_.erase(found);
  }

  Rendezvous rendezvous_;
  Reactor reactor_;
  std::map<ConnectionId, Descriptor> sockets_;
  std::thread thread_;
};

/// A job of `size` ranks of some kind; runs `body` once per rank, each on its own thread.
using Body = std::function<void(std::unique_ptr<Bootstrap>)>;
using Runner = std::function<void(std::uint32_t size, const Body& body)>;

void run_threads(std::uint32_t size, const std::function<void(NodeId)>& body) {
  std::vector<std::thread> threads;
  for (NodeId rank = 0; rank < size; ++rank) threads.emplace_back(body, rank);
  for (std::thread& thread : threads) thread.join();
}

void run_in_process(std::uint32_t size, const Body& body) {
  auto job = make_in_process_job(size);
  run_threads(size, [&](NodeId rank) { body(std::move(job[rank])); });
}

void run_rendezvous(std::uint32_t size, const Body& body) {
  const JobSecret secret = JobSecret::random();
  RendezvousThread server(secret, size);
  run_threads(size,
              [&](NodeId rank) { body(join_rendezvous(std::move(server.clients[rank]), secret, rank, size, "here")); });
}

struct Kind {
  const char* name;
  Runner run;
};

class BootstrapOfAnyKind : public testing::TestWithParam<Kind> {};

INSTANTIATE_TEST_SUITE_P(Bootstrap, BootstrapOfAnyKind,
                         testing::Values(Kind{"InProcess", run_in_process}, Kind{"Rendezvous", run_rendezvous}),
                         [](const auto& instance) { return instance.param.name; });

TEST_P(BootstrapOfAnyKind, ExchangesValuesThroughManyFences) {
  GetParam().run(5, [](std::unique_ptr<Bootstrap> mine) {
    EXPECT_EQ(mine->size(), 5U);
    EXPECT_FALSE(mine->host().empty());
    for (int round = 0; round < 20; ++round) {
      mine->put("card", bytes_of_text(std::to_string(mine->rank()) + "/" + std::to_string(round)));
      mine->fence();
      for (NodeId peer = 0; peer < mine->size(); ++peer) {
        EXPECT_EQ(mine->fetch(peer, "card"), bytes_of_text(std::to_string(peer) + "/" + std::to_string(round)));
      }
      mine->fence();
    }
    mine->finalize();
  });
}

TEST_P(BootstrapOfAnyKind, CarriesEmptyAndLargestValues) {
  GetParam().run(2, [](std::unique_ptr<Bootstrap> mine) {
    mine->put("empty", {});
    mine->put(std::string(Bootstrap::max_key_bytes, 'k'), std::vector<std::byte>(Bootstrap::max_value_bytes));
    mine->fence();
    EXPECT_TRUE(mine->fetch(1 - mine->rank(), "empty").empty());
    EXPECT_EQ(mine->fetch(1 - mine->rank(), std::string(Bootstrap::max_key_bytes, 'k')).size(),
              Bootstrap::max_value_bytes);
    mine->fence();
    mine->finalize();
  });
}

TEST_P(BootstrapOfAnyKind, FetchesWhatAllHavePublished) {
  GetParam().run(70, [](std::unique_ptr<Bootstrap> mine) {  // more than are asked for at once
    mine->put("card", bytes_of_text(std::to_string(mine->rank())));
    if (mine->rank() != 65) mine->put("other", {});
    mine->fence();
    EXPECT_THROW(mine->fetch_all("other"), Error) << "rank 65 has none";
    const auto cards = mine->fetch_all("card");
    ASSERT_EQ(cards.size(), mine->size());
    for (NodeId rank = 0; rank < mine->size(); ++rank) EXPECT_EQ(cards[rank], bytes_of_text(std::to_string(rank)));
    mine->fence();
    mine->finalize();
  });
}

TEST_P(BootstrapOfAnyKind, RefusesMisuseAndLivesOn) {
  GetParam().run(2, [](std::unique_ptr<Bootstrap> mine) {
    const auto code_of = [](const std::function<void()>& call) -> std::optional<ErrorCode> {
      try {
        call();
      } catch (const Error& error) {
        return error.code();
      }
      return std::nullopt;
    };
    EXPECT_EQ(code_of([&] { mine->put("", {}); }), ErrorCode::invalid_argument);
    EXPECT_EQ(code_of([&] { mine->put(std::string(Bootstrap::max_key_bytes + 1, 'k'), {}); }),
              ErrorCode::invalid_argument);
    EXPECT_EQ(code_of([&] { mine->put("k", std::vector<std::byte>(Bootstrap::max_value_bytes + 1)); }),
              ErrorCode::invalid_argument);
    EXPECT_EQ(code_of([&] { mine->fetch(2, "k"); }), ErrorCode::invalid_argument);
    mine->put("k", {});
    EXPECT_EQ(code_of([&] { mine->fetch(mine->rank(), "k"); }), ErrorCode::invalid_argument) << "not fenced yet";
    mine->fence();
    EXPECT_EQ(code_of([&] { mine->fetch(mine->rank(), "other"); }), ErrorCode::invalid_argument);
    mine->fence();
    mine->finalize();
  });
}

TEST_P(BootstrapOfAnyKind, TellsOfADeathOnceAndFailsEveryLaterFence) {
  GetParam().run(3, [](std::unique_ptr<Bootstrap> mine) {
    mine->put("k", bytes_of_text("v"));
    mine->fence();
    if (mine->rank() == 1) return;  // dies: destroyed without finalize
    pollfd entry{mine->failure_descriptor(), POLLIN, 0};
    ASSERT_EQ(::poll(&entry, 1, -1), 1);
    const auto lost = mine->lost_peers();
    ASSERT_EQ(lost.size(), 1U);
    EXPECT_EQ(lost[0].rank, 1U);
    EXPECT_FALSE(lost[0].reason.empty());
    EXPECT_TRUE(mine->lost_peers().empty());
    EXPECT_EQ(::poll(&entry, 1, 0), 0) << "no news, no wake-up";
    for (int attempt = 0; attempt < 2; ++attempt) {
      try {
        mine->fence();
        ADD_FAILURE() << "a fence without a rank";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::peer_lost) << error.what();
      }
    }
    EXPECT_EQ(mine->fetch(1, "k"), bytes_of_text("v")) << "what it published stays";
    // No fence can hold the two together any more: whoever leaves first is no death to the other.
    mine->finalize();
  });
}

TEST_P(BootstrapOfAnyKind, ADeathDuringAFenceFailsItAndIsStillAnnounced) {
  GetParam().run(2, [](std::unique_ptr<Bootstrap> mine) {
    mine->fence();
    if (mine->rank() == 1) return;
    EXPECT_THROW(mine->fence(), Error);
    pollfd entry{mine->failure_descriptor(), POLLIN, 0};
    ASSERT_EQ(::poll(&entry, 1, -1), 1) << "the news that came in during the fence";
    EXPECT_EQ(mine->lost_peers().size(), 1U);
    mine->finalize();
  });
}

TEST_P(BootstrapOfAnyKind, ACleanLeaveIsNoDeath) {
  GetParam().run(2, [](std::unique_ptr<Bootstrap> mine) {
    mine->fence();
    if (mine->rank() == 0) {
      try {
        mine->fence();
        ADD_FAILURE() << "a fence without a rank";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::peer_lost);
        EXPECT_NE(error.message().find("left"), std::string::npos) << error.what();
      }
      EXPECT_TRUE(mine->lost_peers().empty());
    }
    mine->finalize();
  });
}

TEST_P(BootstrapOfAnyKind, AnAbortGivesItsReasonToThePeers) {
  GetParam().run(2, [](std::unique_ptr<Bootstrap> mine) {
    mine->fence();
    if (mine->rank() == 1) {
      mine->abort(Error(ErrorCode::deadlock, "nobody moves"));
      return;
    }
    EXPECT_THROW(mine->fence(), Error);
    const auto lost = mine->lost_peers();
    ASSERT_EQ(lost.size(), 1U);
    EXPECT_NE(lost[0].reason.find("nobody moves"), std::string::npos) << lost[0].reason;
    mine->finalize();
  });
}

TEST(RendezvousClient, ALateComerIsWokenForTheDeathsItMissed) {
  const JobSecret secret = JobSecret::random();
  RendezvousThread server(secret, 3);
  join_rendezvous(std::move(server.clients[1]), secret, 1, 3, "here").reset();
  const auto first = join_rendezvous(std::move(server.clients[0]), secret, 0, 3, "here");
  EXPECT_THROW(first->fence(), Error) << "now the death is known";
  const auto late = join_rendezvous(std::move(server.clients[2]), secret, 2, 3, "here");
  pollfd entry{late->failure_descriptor(), POLLIN, 0};
  ASSERT_EQ(::poll(&entry, 1, -1), 1);
  EXPECT_EQ(late->lost_peers().size(), 1U);
  late->finalize();
  first->finalize();
}

TEST(RendezvousClient, ADeathOfNobodyIsRefused) {
  const JobSecret secret = JobSecret::random();
  RendezvousThread server(secret, 1);
  const auto mine = join_rendezvous(std::move(server.clients[0]), secret, 0, 1, "here");
  const std::vector<std::byte> bytes = encode(Lost{1, "died"});
  ASSERT_EQ(::send(server.far_ends[0].number(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  try {
    while (mine->lost_peers().empty()) {
    }
    FAIL() << "it was believed";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_input) << error.message();
  }
}

TEST(InProcess, PretendsToBeSeveralHosts) {
  const auto job = make_in_process_job(3, {"a", "a", "b"});
  EXPECT_EQ(job[0]->host(), job[1]->host());
  EXPECT_NE(job[0]->host(), job[2]->host());
  EXPECT_THROW(make_in_process_job(3, {"a"}), Error);
  EXPECT_THROW(make_in_process_job(0), Error);
}

TEST(Connect, IsAJobOfOneWhereNobodyAnnouncesMore) {
  const auto alone = connect({});
  EXPECT_EQ(alone->rank(), 0U);
  EXPECT_EQ(alone->size(), 1U);
  alone->put("k", bytes_of_text("v"));
  alone->fence();
  EXPECT_EQ(alone->fetch(0, "k"), bytes_of_text("v"));
  alone->finalize();
}

// --- The joining side against launchers that aren't -----------------------------------------------------------------

std::string failure_of_joining(const std::function<void(Descriptor)>& impostor) {
  SocketPair pair;
  std::thread other(impostor, std::move(pair.far));
  std::string words = "joined";
  try {
    join_rendezvous(std::move(pair.near), JobSecret::random(), 0, 2, "here");
  } catch (const Error& error) {
    words = error.what();
  }
  other.join();
  return words;
}

/// Reads the hello, then answers with `bytes`.
std::string failure_when_answered(std::vector<std::byte> bytes) {
  return failure_of_joining([bytes = std::move(bytes)](const Descriptor& socket) {
    std::array<std::byte, 256> hello;
    ASSERT_GT(::recv(socket.number(), hello.data(), hello.size(), 0), 0);
    ::send(socket.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    while (::recv(socket.number(), hello.data(), hello.size(), 0) > 0) {
    }
  });
}

TEST(Joining, ShowsNoProofToALauncherThatCannotProveItself) {
  EXPECT_NE(failure_when_answered(encode(Challenge{})).find("cannot prove"), std::string::npos);
  EXPECT_NE(failure_when_answered(encode(Welcome{})).find("out of turn"), std::string::npos);
  EXPECT_NE(failure_when_answered(bytes_of_text("HTTP/1.1 400 Bad Request\r\n")).find("bad_input"), std::string::npos);
}

TEST(Joining, PassesOnWhyItWasRejected) {
  EXPECT_NE(failure_when_answered(encode(Rejected{"not today"})).find("not today"), std::string::npos);
}

TEST(Joining, NoticesALauncherThatCloses) {
  EXPECT_NE(failure_of_joining([](const Descriptor&) {}).find("peer_lost"), std::string::npos);
}

TEST(Joining, AnnouncedRanksThatCannotBeReachedAreFatal) {
  Environment environment{{"STRETTO_JOB_ENDPOINT", "127.0.0.1:1"},
                          {"STRETTO_JOB_RANK", "0"},
                          {"STRETTO_JOB_SIZE", "2"},
                          {"STRETTO_JOB_SECRET_FD", "1048576"}};
  try {
    connect(environment);
    FAIL() << "a job of size 1 in silence";
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("STRETTO_JOB_SECRET_FD"), std::string::npos) << error.what();
  }
}

TEST(HostPort, IsReadAndWritten) {
  EXPECT_EQ(parse_endpoint("alpha:80").host, "alpha");
  EXPECT_EQ(parse_endpoint("[::1]:80").host, "::1");
  EXPECT_EQ(parse_endpoint("[::1]:80").text(), "[::1]:80");
  EXPECT_EQ(parse_endpoint("10.0.0.1:8080").text(), "10.0.0.1:8080");
  for (const char* bad : {"", ":", "alpha", "alpha:", ":80", "::1:80", "alpha:8o", "alpha:123456", "[]:1"}) {
    EXPECT_THROW(parse_endpoint(bad), Error) << bad;
  }
}

TEST(HostPort, ListensWhereItIsToldOnly) {
  const Listener listener = listen_on("127.0.0.1");
  EXPECT_EQ(listener.endpoint.host, "127.0.0.1");
  EXPECT_TRUE(connect_to(listener.endpoint));
  EXPECT_THROW(listen_on("0.0.0.0"), Error);
  EXPECT_THROW(listen_on("::"), Error);
  EXPECT_THROW(listen_on("203.0.113.1"), Error) << "not an address of this machine";
}

int option_of(const Descriptor& socket, int level, int option) {
  int value = -1;
  socklen_t size = sizeof value;
  EXPECT_EQ(::getsockopt(socket.number(), level, option, &value, &size), 0);
  return value;
}

// Otherwise the other end of a host that vanished would wait for two hours and more.
TEST(HostPort, BothEndsAskWhetherTheOtherHostIsThere) {
  const Listener listener = listen_on("127.0.0.1");
  const Descriptor caller = connect_to(listener.endpoint);
  ASSERT_TRUE(wait_for(listener.descriptor.number(), POLLIN, std::chrono::minutes(1)));
  const Descriptor called = accept_at(listener.descriptor.number());
  ASSERT_TRUE(called);
  for (const Descriptor* const end : {&caller, &called}) {
    EXPECT_EQ(option_of(*end, SOL_SOCKET, SO_KEEPALIVE), 1);
    EXPECT_LE(option_of(*end, IPPROTO_TCP, TCP_KEEPIDLE), 30);
    EXPECT_LE(option_of(*end, IPPROTO_TCP, TCP_KEEPINTVL), 10);
    EXPECT_LE(option_of(*end, IPPROTO_TCP, TCP_KEEPCNT), 5);
  }
}

}  // namespace
}  // namespace stretto::fabric
