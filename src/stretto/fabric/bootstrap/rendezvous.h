#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "stretto/base/bytes.h"
#include "stretto/base/error.h"
#include "stretto/base/ids.h"
#include "stretto/fabric/bootstrap/exit_status.h"
#include "stretto/fabric/bootstrap/handshake.h"
#include "stretto/fabric/bootstrap/message.h"

namespace stretto::fabric {

/// The launcher's number for a connection; never reused.
using ConnectionId = std::uint64_t;

/// What the rendezvous wants done, in order. Signals concern processes that this launcher started itself: ranks, or the
/// agent programs that lead to other hosts.
struct SendBytes {
  ConnectionId connection;
  std::vector<std::byte> bytes;
};
/// Once what was sent before is written.
struct CloseConnection {
  ConnectionId connection;
};
struct SignalRank {
  NodeId rank;
  int signal;
};
struct SignalAgent {
  std::uint32_t host;
  int signal;
};
/// Call grace_over() one grace period from now.
struct StartGrace {};
/// Tell the user.
struct Report {
  std::string line;
};
/// Every process has ended.
struct Finish {
  int exit_code;
};
using Instruction = std::variant<SendBytes, CloseConnection, SignalRank, SignalAgent, StartGrace, Report, Finish>;
using Instructions = std::vector<Instruction>;

/// The launcher's side of a job: who may join, the published values, the fences, the deaths, the exit code.
///
/// A plain state machine without I/O, owned and driven by the launcher's one thread: each event returns instructions.
/// Every byte comes from an untrusted peer: what breaks the protocol costs its sender the connection, nobody else.
/// The rules for the end: 0 if all ranks exit with 0, else the code of the first that failed; after a failure the
/// others are told at once, and after a grace period terminated, one more and killed (never with `keep_going`).
class Rendezvous {
 public:
  struct Host {
    std::string name;
    std::uint32_t ranks = 0;
    bool remote = false;  ///< its ranks are started by an agent, which joins as Role::agent with the host's index
  };
  struct Options {
    std::vector<Host> hosts;  ///< ranks are numbered in blocks, in this order
    bool keep_going = false;
  };

  /// REQUIRES: at least one rank in all, at most max_nodes.
  Rendezvous(JobSecret secret, Options options);

  std::uint32_t size() const { return static_cast<std::uint32_t>(ranks_.size()); }

  /// Whether somebody who belongs to the job may still have to connect.
  bool awaits_members() const;

  /// Someone connected; `nonce` is fresh random bits for it.
  Instructions connected(ConnectionId connection, const Nonce& nonce);
  Instructions received(ConnectionId connection, ConstByteSpan bytes);
  /// The other side closed, or the connection broke. Not to be called after CloseConnection.
  Instructions closed(ConnectionId connection);
  /// The process of a local rank ended; what it had sent before must have been `received`.
  Instructions rank_exited(NodeId rank, ExitStatus status);
  /// The agent program of a remote host ended.
  Instructions agent_exited(std::uint32_t host, ExitStatus status);
  /// The user interrupts the launcher with `signal`: passed on the first time, then the ranks are killed.
  Instructions interrupted(int signal);
  Instructions grace_over();
  /// So long ago the job was started. Says what it may be waiting for: hosts whose agents have not answered, and ranks
  /// that have not joined where others have (a program that knows nothing of Stretto never does).
  Instructions lasted(std::chrono::seconds time);

 private:
  enum class Presence : std::uint8_t { expected, joined, left, died };
  enum class Stage : std::uint8_t { hello, response, member };
  enum class Ending : std::uint8_t { none, grace, terminating, killing };
  using Values = std::map<std::string, std::vector<std::byte>, std::less<>>;

  struct Connection {
    FrameDecoder decoder{max_stranger_frame};
    Stage stage = Stage::hello;
    Nonce nonce{};
    Hello hello;
  };
  struct RankState {
    std::uint32_t host = 0;
    Presence presence = Presence::expected;
    bool ended = false;  // its process
    std::optional<ConnectionId> connection;
    std::string reason;  // of its absence
    std::uint64_t fences = 0;
    bool in_fence = false;
    std::size_t stored_bytes = 0;
    Values staged;
    Values published;
  };
  struct HostState {
    Host host;
    NodeId first = 0;
    std::optional<ConnectionId> agent;
    bool left = false;         // the agent said goodbye
    bool agent_ended = false;  // its program
  };

  void handle(ConnectionId id, const Message& message);
  void handle_hello(ConnectionId id, Connection& connection, const Hello& hello);
  void handle_response(ConnectionId id, Connection& connection, const Response& response);
  void admit_rank(ConnectionId id, NodeId rank);
  void handle_rank(NodeId rank, const Message& message);
  void handle_agent(std::uint32_t host, const Message& message);
  void put(NodeId rank, const Put& message);
  void fence(NodeId rank, const Fence& message);
  void answer(NodeId rank, const Get& message);

  void reject(ConnectionId id, const Error& error);
  void drop(ConnectionId id, std::string_view why);
  void depart(NodeId rank, Presence how, std::string reason);
  void end_process(NodeId rank, ExitStatus status);
  void fail(int exit_code, const std::string& line);
  void terminate();
  void signal_all(int signal);
  void finish_if_all_ended();
  void limit_strangers();

  static bool awaits_agent(const HostState& host) {
    return host.host.remote && !host.agent && !host.left && !host.agent_ended;
  }
  static bool awaits(const RankState& rank) { return rank.presence == Presence::expected && !rank.ended; }
  std::string awaited_of(const HostState& host) const;
  std::optional<NodeId> absent() const;
  std::string name_of(NodeId rank) const;
  void send(ConnectionId id, const Message& message);
  void say(std::string line);
  Instructions take();

  JobSecret secret_;
  bool keep_going_;
  std::vector<HostState> hosts_;
  std::vector<RankState> ranks_;
  std::map<ConnectionId, Connection> connections_;  // in order of arrival
  std::uint32_t in_fence_ = 0;
  std::uint32_t refusals_ = 0;
  Ending ending_ = Ending::none;
  bool interrupted_ = false;
  bool finished_ = false;
  std::optional<int> failure_;
  Instructions out_;
};

}  // namespace stretto::fabric
