#include "stretto/fabric/bootstrap/rendezvous.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include "stretto/fabric/bootstrap/bootstrap.h"

namespace stretto::fabric {
namespace {

constexpr std::size_t max_stored_bytes = std::size_t{16} << 20U;  // by one rank
constexpr std::size_t spare_strangers = 256;                      // connections not yet admitted, beyond one per rank
constexpr std::uint32_t max_reported_refusals = 8;

[[noreturn]] void violation(const std::string& what) { throw Error(ErrorCode::bad_input, what); }

}  // namespace

Rendezvous::Rendezvous(JobSecret secret, Options options) : secret_(secret), keep_going_(options.keep_going) {
  for (Host& host : options.hosts) {
    HostState state;
    state.first = size();
    state.agent_ended = !host.remote;
    RankState rank;
    rank.host = static_cast<std::uint32_t>(hosts_.size());
    ranks_.insert(ranks_.end(), host.ranks, rank);
    state.host = std::move(host);
    hosts_.push_back(std::move(state));
  }
  if (ranks_.empty() || ranks_.size() > max_nodes) {
    throw Error(ErrorCode::invalid_argument,
                "a job of " + std::to_string(ranks_.size()) + " ranks: give 1 to " + std::to_string(max_nodes));
  }
}

bool Rendezvous::awaits_members() const {
  return std::any_of(hosts_.begin(), hosts_.end(), awaits_agent) || std::any_of(ranks_.begin(), ranks_.end(), awaits);
}

// --- Events ---------------------------------------------------------------------------------------------------------

Instructions Rendezvous::connected(ConnectionId connection, const Nonce& nonce) {
  connections_[connection].nonce = nonce;
  limit_strangers();
  return take();
}

Instructions Rendezvous::received(ConnectionId connection, ConstByteSpan bytes) {
  const auto found = connections_.find(connection);
  if (found == connections_.end()) return take();  // closed by us; the rest of its bytes does not matter
  try {
    found->second.decoder.feed(bytes);
    // Looked up again each time: a message may end its own connection.
    for (auto now = found; now != connections_.end(); now = connections_.find(connection)) {
      const std::optional<Message> message = now->second.decoder.next();
      if (!message) break;
      handle(connection, *message);
    }
  } catch (const Error& error) {
    reject(connection, error);
  }
  return take();
}

Instructions Rendezvous::closed(ConnectionId connection) {
  drop(connection, "closed its connection without leaving the job");
  return take();
}

Instructions Rendezvous::rank_exited(NodeId rank, ExitStatus status) {
  end_process(rank, status);
  finish_if_all_ended();
  return take();
}

Instructions Rendezvous::agent_exited(std::uint32_t host, ExitStatus status) {
  HostState& state = hosts_[host];
  state.agent_ended = true;
  const NodeId end = state.first + state.host.ranks;
  bool orphans = false;
  for (NodeId rank = state.first; rank < end; ++rank) orphans = orphans || !ranks_[rank].ended;
  if (orphans) {
    const int code = status.success() ? 1 : status.shell_code();
    fail(code, "the agent of host " + state.host.name + " " + status.describe() + " before its ranks did");
  }
  for (NodeId rank = state.first; rank < end; ++rank) {
    ranks_[rank].ended = true;
    depart(rank, Presence::died, "was lost with the agent of its host, which " + status.describe());
  }
  if (state.agent) {
    out_.emplace_back(CloseConnection{*state.agent});
    connections_.erase(*std::exchange(state.agent, std::nullopt));
  }
  finish_if_all_ended();
  return take();
}

Instructions Rendezvous::interrupted(int signal) {
  signal_all(std::exchange(interrupted_, true) ? SIGKILL : signal);
  return take();
}

Instructions Rendezvous::grace_over() {
  if (ending_ == Ending::grace) {
    terminate();
  } else if (ending_ == Ending::terminating) {
    ending_ = Ending::killing;
    signal_all(SIGKILL);
  }
  return take();
}

Instructions Rendezvous::lasted(std::chrono::seconds time) {
  if (failure_) return take();
  for (const HostState& host : hosts_) {
    const std::string awaited = awaited_of(host);
    if (!awaited.empty()) say(std::to_string(time.count()) + " s after the start " + awaited);
  }
  return take();
}

// --- Admission ------------------------------------------------------------------------------------------------------

void Rendezvous::handle(ConnectionId id, const Message& message) {
  Connection& connection = connections_.at(id);
  if (connection.stage == Stage::hello) {
    const auto* hello = std::get_if<Hello>(&message);
    if (hello == nullptr) violation("the first message must be a hello");
    return handle_hello(id, connection, *hello);
  }
  if (connection.stage == Stage::response) {
    const auto* response = std::get_if<Response>(&message);
    if (response == nullptr) violation("the second message must be the response to the challenge");
    return handle_response(id, connection, *response);
  }
  if (connection.hello.role == Role::rank) return handle_rank(connection.hello.number, message);
  handle_agent(connection.hello.number, message);
}

void Rendezvous::handle_hello(ConnectionId id, Connection& connection, const Hello& hello) {
  if (hello.version != protocol_version) {
    violation("the launcher speaks version " + std::to_string(protocol_version) + " of the rendezvous, the program " +
              std::to_string(hello.version) + ": build both from the same Stretto");
  }
  if (hello.size != size()) {
    violation("a job of " + std::to_string(hello.size) + " ranks was claimed; this one has " + std::to_string(size()));
  }
  const std::size_t limit = hello.role == Role::rank ? ranks_.size() : hosts_.size();
  if (hello.number >= limit) {
    violation((hello.role == Role::rank ? "rank " : "the agent of host ") + std::to_string(hello.number) +
              " is outside of 0 to " + std::to_string(limit - 1));
  }
  connection.hello = hello;
  connection.stage = Stage::response;
  send(id, Challenge{connection.nonce, launcher_proof(secret_, hello, connection.nonce)});
}

void Rendezvous::handle_response(ConnectionId id, Connection& connection, const Response& response) {
  const Hello& hello = connection.hello;
  if (!equal(response.proof, joiner_proof(secret_, hello, connection.nonce))) {
    violation("wrong proof of the job secret: this process does not belong to this job");
  }
  if (hello.role == Role::rank) {
    admit_rank(id, hello.number);
  } else {
    HostState& host = hosts_[hello.number];
    if (!host.host.remote || host.agent || host.left || host.agent_ended) {
      violation("host " + host.host.name + " has or needs no further agent");
    }
    host.agent = id;
    send(id, Welcome{});
  }
  connection.stage = Stage::member;
  connection.decoder.set_limit(max_frame);
}

void Rendezvous::admit_rank(ConnectionId id, NodeId rank) {
  RankState& state = ranks_[rank];
  if (state.presence != Presence::expected) {
    violation(name_of(rank) + " has joined already: only one process can be this rank, once");
  }
  state.presence = Presence::joined;
  state.connection = id;
  send(id, Welcome{});
  for (NodeId other = 0; other < size(); ++other) {
    if (ranks_[other].presence == Presence::died) send(id, Lost{other, ranks_[other].reason});
  }
}

/// A stranger that says nothing costs a descriptor; when there are too many, the one that has been silent longest goes.
/// Those that have said who they are go last: a crowd must not push out a rank in the middle of its handshake.
void Rendezvous::limit_strangers() {
  std::size_t strangers = 0;
  std::optional<ConnectionId> silent;
  std::optional<ConnectionId> oldest;
  for (const auto& [id, connection] : connections_) {
    if (connection.stage == Stage::member) continue;
    ++strangers;
    if (!oldest) oldest = id;
    if (!silent && connection.stage == Stage::hello) silent = id;
  }
  if (strangers <= ranks_.size() + hosts_.size() + spare_strangers) return;
  reject(silent ? *silent : *oldest,
         Error(ErrorCode::out_of_resources, "too many connections that have not been admitted"));
}

// --- Members --------------------------------------------------------------------------------------------------------

void Rendezvous::handle_rank(NodeId rank, const Message& message) {
  RankState& state = ranks_[rank];
  if (const auto* value = std::get_if<Put>(&message)) {
    put(rank, *value);
  } else if (const auto* arrival = std::get_if<Fence>(&message)) {
    fence(rank, *arrival);
  } else if (const auto* question = std::get_if<Get>(&message)) {
    answer(rank, *question);
  } else if (const auto* abort = std::get_if<Abort>(&message)) {
    send(*state.connection, Farewell{});
    drop(*state.connection, "aborted the job: " + abort->reason);
    fail(EXIT_FAILURE, name_of(rank) + " aborted the job: " + abort->reason);
    terminate();
  } else if (std::holds_alternative<Goodbye>(message)) {
    const ConnectionId id = *state.connection;
    send(id, Farewell{});
    out_.emplace_back(CloseConnection{id});
    connections_.erase(id);
    state.connection.reset();
    depart(rank, Presence::left, "has left the job");
  } else {
    violation("a message that no rank may send");
  }
}

void Rendezvous::handle_agent(std::uint32_t host, const Message& message) {
  HostState& state = hosts_[host];
  if (const auto* exited = std::get_if<Exited>(&message)) {
    if (exited->rank < state.first || exited->rank - state.first >= state.host.ranks || ranks_[exited->rank].ended) {
      violation("the exit of rank " + std::to_string(exited->rank) + ", which does not run there");
    }
    end_process(exited->rank, ExitStatus{exited->signalled, exited->code});
  } else if (std::holds_alternative<Goodbye>(message)) {
    const ConnectionId id = *state.agent;
    state.left = true;
    send(id, Farewell{});
    drop(id, "");
  } else {
    violation("a message that no agent may send");
  }
}

void Rendezvous::put(NodeId rank, const Put& message) {
  RankState& state = ranks_[rank];
  if (message.key.empty()) violation("a value without a key");
  if (state.in_fence) violation("a value during a fence");
  state.stored_bytes += message.key.size() + message.value.size();
  if (state.stored_bytes > max_stored_bytes) {
    violation("more than " + std::to_string(max_stored_bytes) + " bytes published by one rank");
  }
  state.staged.insert_or_assign(message.key, message.value);
}

void Rendezvous::fence(NodeId rank, const Fence& message) {
  RankState& state = ranks_[rank];
  if (state.in_fence || message.count != state.fences + 1) {
    violation("fence " + std::to_string(message.count) + " after fence " + std::to_string(state.fences));
  }
  if (const auto gone = absent()) {
    send(*state.connection, FenceFailed{*gone, ranks_[*gone].reason});
    return;
  }
  state.in_fence = true;
  if (++in_fence_ < size()) return;
  in_fence_ = 0;
  for (RankState& each : ranks_) {
    each.in_fence = false;
    ++each.fences;
    for (auto& [key, value] : each.staged) each.published.insert_or_assign(key, std::move(value));
    each.staged.clear();
    send(*each.connection, FenceDone{each.fences});
  }
}

void Rendezvous::answer(NodeId rank, const Get& message) {
  if (message.rank >= size()) violation("a question about rank " + std::to_string(message.rank));
  const Values& values = ranks_[message.rank].published;
  const auto found = values.find(message.key);
  Value value;
  value.found = found != values.end();
  if (value.found) value.value = found->second;
  send(*ranks_[rank].connection, value);
}

// --- Ends -----------------------------------------------------------------------------------------------------------

/// Ends a connection that broke the protocol, and tells its owner why.
void Rendezvous::reject(ConnectionId id, const Error& error) {
  const Connection& connection = connections_.at(id);
  send(id, Rejected{error.message()});
  if (connection.stage == Stage::member) {
    const bool is_rank = connection.hello.role == Role::rank;
    say((is_rank ? name_of(connection.hello.number)
                 : "the agent of host " + hosts_[connection.hello.number].host.name) +
        " was disconnected: " + error.message());
  } else if (++refusals_ <= max_reported_refusals) {
    say("refused a connection: " + error.message() +
        (refusals_ == max_reported_refusals ? " (further refusals are not reported)" : ""));
  }
  drop(id, "was disconnected by the launcher: " + error.message());
}

/// Forgets a connection, whoever ended it; a rank on it has died for the reason `why`.
void Rendezvous::drop(ConnectionId id, std::string_view why) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  const bool member = found->second.stage == Stage::member;
  const Hello hello = found->second.hello;
  connections_.erase(found);
  out_.emplace_back(CloseConnection{id});
  if (!member) return;
  if (hello.role == Role::agent) {
    HostState& host = hosts_[hello.number];
    host.agent.reset();
    // Its ranks can no longer be heard of: end the agent program, whose exit decides.
    if (!host.left && !host.agent_ended) out_.emplace_back(SignalAgent{hello.number, SIGTERM});
    return;
  }
  ranks_[hello.number].connection.reset();
  depart(hello.number, Presence::died, std::string(why));
}

/// A rank is gone: tell those who stay, and end the fences that now can't complete.
void Rendezvous::depart(NodeId rank, Presence how, std::string reason) {
  RankState& state = ranks_[rank];
  if (state.presence == Presence::left || state.presence == Presence::died) return;
  if (state.connection) {
    out_.emplace_back(CloseConnection{*state.connection});
    connections_.erase(*std::exchange(state.connection, std::nullopt));
  }
  state.presence = how;
  state.reason = "on host " + hosts_[state.host].host.name + " " + std::move(reason);
  in_fence_ = 0;
  for (RankState& other : ranks_) {
    const bool waited = std::exchange(other.in_fence, false);
    if (!other.connection) continue;
    if (how == Presence::died) send(*other.connection, Lost{rank, state.reason});
    if (waited) send(*other.connection, FenceFailed{rank, state.reason});
  }
}

void Rendezvous::end_process(NodeId rank, ExitStatus status) {
  RankState& state = ranks_[rank];
  if (std::exchange(state.ended, true)) return;
  if (!status.success()) fail(status.shell_code(), name_of(rank) + " " + status.describe());
  depart(rank, Presence::died, status.describe() + (status.success() ? " without leaving the job" : ""));
}

/// Something that makes the whole job fail. The first one counts; what follows is most often its consequence.
void Rendezvous::fail(int exit_code, const std::string& line) {
  const bool first = !failure_;
  if (first) failure_ = exit_code;
  if (first || (keep_going_ && ending_ == Ending::none)) say(line);
  if (!first || keep_going_ || ending_ != Ending::none) return;
  ending_ = Ending::grace;
  out_.emplace_back(StartGrace{});
}

void Rendezvous::terminate() {
  if (ending_ == Ending::terminating || ending_ == Ending::killing) return;
  ending_ = Ending::terminating;
  signal_all(SIGTERM);
  out_.emplace_back(StartGrace{});
}

void Rendezvous::signal_all(int signal) {
  for (std::uint32_t index = 0; index < hosts_.size(); ++index) {
    const HostState& host = hosts_[index];
    // A kill ends the agent program itself: the far end then kills the ranks, and a hung connection can't stop it.
    if (host.host.remote && (!host.agent || signal == SIGKILL)) {
      if (!host.agent_ended) out_.emplace_back(SignalAgent{index, signal});
      continue;
    }
    for (NodeId rank = host.first; rank < host.first + host.host.ranks; ++rank) {
      if (ranks_[rank].ended) continue;
      if (host.host.remote) {
        send(*host.agent, Signal{rank, signal});
      } else {
        out_.emplace_back(SignalRank{rank, signal});
      }
    }
  }
}

void Rendezvous::finish_if_all_ended() {
  if (finished_) return;
  for (const RankState& rank : ranks_) {
    if (!rank.ended) return;
  }
  for (const HostState& host : hosts_) {
    if (!host.agent_ended) return;
  }
  finished_ = true;
  out_.emplace_back(Finish{failure_.value_or(0)});
}

// --- Small things ---------------------------------------------------------------------------------------------------

/// What of `host` the job waits for, in words; empty: nothing.
std::string Rendezvous::awaited_of(const HostState& host) const {
  if (awaits_agent(host)) {
    return "host " + host.host.name + " has not answered yet: is it reached, and does it reach this one?";
  }
  const auto joined = [](const RankState& rank) { return rank.presence != Presence::expected; };
  const auto first = ranks_.begin() + host.first;
  const auto end = first + host.host.ranks;
  const auto count = std::count_if(first, end, awaits);
  if (count == 0 || std::none_of(ranks_.begin(), ranks_.end(), joined)) return {};
  const auto rank = static_cast<NodeId>(std::find_if(first, end, awaits) - ranks_.begin());
  return name_of(rank) + (count == 1 ? "" : " and " + std::to_string(count - 1) + " more there") +
         (count == 1 ? " has" : " have") + " not joined the job yet";
}

std::optional<NodeId> Rendezvous::absent() const {
  for (NodeId rank = 0; rank < size(); ++rank) {
    if (ranks_[rank].presence == Presence::left || ranks_[rank].presence == Presence::died) return rank;
  }
  return std::nullopt;
}

std::string Rendezvous::name_of(NodeId rank) const {
  return "rank " + std::to_string(rank) + " on host " + hosts_[ranks_[rank].host].host.name;
}

void Rendezvous::send(ConnectionId id, const Message& message) {
  std::vector<std::byte> bytes = encode(message);
  auto* const last = out_.empty() ? nullptr : std::get_if<SendBytes>(&out_.back());
  if (last != nullptr && last->connection == id) {  // answers to several questions are sent as one
    last->bytes.insert(last->bytes.end(), bytes.begin(), bytes.end());
  } else {
    out_.emplace_back(SendBytes{id, std::move(bytes)});
  }
}

void Rendezvous::say(std::string line) { out_.emplace_back(Report{std::move(line)}); }

Instructions Rendezvous::take() { return std::exchange(out_, {}); }

}  // namespace stretto::fabric
