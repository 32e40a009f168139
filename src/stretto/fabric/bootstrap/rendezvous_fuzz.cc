// Whatever processes say to the launcher: who breaks the protocol is disconnected, a rank that keeps it is served, and
// the job ends when all its processes have.

#include <array>
#include <csignal>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "stretto/base/fuzz.h"
#include "stretto/fabric/bootstrap/rendezvous.h"

namespace {

using namespace stretto;
using namespace stretto::fabric;
using fuzz::require;

constexpr std::uint32_t local_ranks = 3;
constexpr std::uint32_t ranks = 5;
constexpr std::uint32_t remote_host = 1;
constexpr NodeId honest = 0;

JobSecret the_secret() { return JobSecret(std::array<std::byte, JobSecret::size>{}); }

/// Two hosts, the second one with an agent. Rank 0 keeps the protocol; all others do what the input says, some of them
/// as members.
class Job {
 public:
  explicit Job(fuzz::Input& input)
      : input_(input),
        rendezvous_(the_secret(),
                    {{{"here", local_ranks, false}, {"there", ranks - local_ranks, true}}, input.below(2) == 1}) {
    join(Role::rank, honest);
    require(connections_.size() == 1);
    honest_connection_ = connections_.begin()->first;
    for (NodeId rank = 1; rank < ranks; ++rank) {
      if (input.below(2) == 1) join(Role::rank, rank);
    }
    if (input.below(2) == 1) join(Role::agent, remote_host);
  }

  void step() {
    switch (input_.below(16)) {
      case 0: connect(); break;
      case 1: join(input_.below(3) == 1 ? Role::agent : Role::rank, input_.below(ranks + 1)); break;
      case 2:
        if (const ConnectionId id = any(); id != honest_connection_) close(id);
        break;
      case 3: end_rank(1 + static_cast<NodeId>(input_.below(local_ranks - 1))); break;
      case 4: end_agent(); break;
      case 5: perform(rendezvous_.interrupted(SIGINT)); break;
      case 6:
        if (graces_ > 0) {
          --graces_;
          perform(rendezvous_.grace_over());
        }
        break;
      case 7: perform(rendezvous_.lasted(std::chrono::seconds(10))); break;
      case 8:
        if (const ConnectionId id = any(); id != honest_connection_) hear(id, input_.bytes(input_.number()));
        break;
      default:
        if (const ConnectionId id = any(); id != honest_connection_) hear(id, encode(message()));
    }
  }

  void end() {
    put_and_ask();
    hear(honest_connection_, encode(Goodbye{}));
    require(!connections_.contains(honest_connection_));
    for (NodeId rank = 0; rank < local_ranks; ++rank) end_rank(rank);
    end_agent();
    require(finished_);
    require(exit_code_ != 0 || !any_failed_);
  }

 private:
  ConnectionId connect() {
    const ConnectionId id = next_++;
    connections_.try_emplace(id, max_frame);
    Nonce nonce{};
    nonce[0] = static_cast<std::byte>(id);
    perform(rendezvous_.connected(id, nonce));
    return id;
  }

  void join(Role role, std::size_t number) {
    const ConnectionId id = connect();
    Hello hello;
    hello.role = role;
    hello.number = static_cast<std::uint32_t>(number);
    hello.size = ranks;
    hear(id, encode(hello));
    const auto found = last_heard_.find(id);
    if (found == last_heard_.end() || !std::holds_alternative<Challenge>(found->second)) return;
    hear(id, encode(Response{joiner_proof(the_secret(), hello, std::get<Challenge>(found->second).nonce)}));
  }

  // What it has published comes back, whatever became of the others; nobody has to come to its fence.
  void put_and_ask() {
    hear(honest_connection_, encode(Put{"key", {std::byte{7}}}));
    hear(honest_connection_, encode(Get{honest, "key"}));
    require(std::holds_alternative<Value>(last_heard_.at(honest_connection_)));
  }

  // Mostly one that is there.
  ConnectionId any() {
    const std::size_t number = input_.number();
    auto found = connections_.begin();
    for (std::size_t i = number % (connections_.size() + 1); i > 0 && found != connections_.end(); --i) ++found;
    return found == connections_.end() ? next_ + number : found->first;
  }

  Message message() {
    const auto number = static_cast<std::uint32_t>(input_.below(ranks + 1));
    switch (input_.below(10)) {
      case 0: return Put{std::string(input_.below(3), 'k'), std::vector<std::byte>(input_.number())};
      case 1: return Put{"k", std::vector<std::byte>(input_.number<std::uint16_t>() * std::size_t{16})};
      case 2: return Fence{number};
      case 3: return Get{number, "k"};
      case 4: return Abort{"on purpose"};
      case 5: return Goodbye{};
      case 6: return Exited{number, input_.below(2) == 1, static_cast<std::int32_t>(input_.below(2))};
      case 7: return Hello{protocol_magic, input_.number(), Role::rank, number, ranks, {}};
      case 8: return Response{};
      default: return Lost{number, "it says"};
    }
  }

  void hear(ConnectionId id, ConstByteSpan bytes) { perform(rendezvous_.received(id, bytes)); }

  void close(ConnectionId id) {
    if (connections_.contains(id)) perform(rendezvous_.closed(id));
    require(!connections_.contains(id));
  }

  void end_rank(NodeId rank) {
    const ExitStatus status{false, input_.below(8) == 0 ? 7 : 0};
    if (!ended_.insert(rank).second) return;
    any_failed_ = any_failed_ || !status.success();
    perform(rendezvous_.rank_exited(rank, status));
  }

  void end_agent() {
    if (std::exchange(agent_ended_, true)) return;
    perform(rendezvous_.agent_exited(remote_host, {}));
  }

  void perform(const Instructions& instructions) {
    for (const Instruction& instruction : instructions) {
      std::visit([this](const auto& what) { carry_out(what); }, instruction);
    }
  }

  void carry_out(const SendBytes& send) {
    FrameDecoder& decoder = connections_.at(send.connection);
    decoder.feed(send.bytes);
    while (auto message = decoder.next()) last_heard_.insert_or_assign(send.connection, std::move(*message));
  }
  void carry_out(const CloseConnection& close) {
    require(connections_.erase(close.connection) == 1);
    require(close.connection != honest_connection_ ||
            std::holds_alternative<Farewell>(last_heard_.at(honest_connection_)));
  }
  void carry_out(const SignalRank& signal) { require(signal.rank < local_ranks && !ended_.contains(signal.rank)); }
  void carry_out(const SignalAgent& signal) { require(signal.host == remote_host && !agent_ended_); }
  void carry_out(const StartGrace&) { ++graces_; }
  void carry_out(const Report& report) { require(!report.line.empty()); }
  void carry_out(const Finish& finish) {
    require(!std::exchange(finished_, true) && agent_ended_ && ended_.size() == local_ranks);
    exit_code_ = finish.exit_code;
  }

  fuzz::Input& input_;
  Rendezvous rendezvous_;
  std::map<ConnectionId, FrameDecoder> connections_;  // that are open, with what the launcher says there
  std::map<ConnectionId, Message> last_heard_;
  ConnectionId next_ = 1;
  ConnectionId honest_connection_ = 0;
  std::set<NodeId> ended_;
  bool agent_ended_ = false;
  bool any_failed_ = false;
  bool finished_ = false;
  int exit_code_ = 0;
  int graces_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  fuzz::Input input(bytes, size);
  Job job(input);
  while (!input.empty()) job.step();
  job.end();
  return 0;
}
