#include "stretto/fabric/bootstrap/launcher.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "stretto/base/affinity.h"
#include "stretto/fabric/bootstrap/deployment.h"
#include "stretto/fabric/bootstrap/host_id.h"
#include "stretto/fabric/bootstrap/process.h"
#include "stretto/fabric/bootstrap/process_set.h"
#include "stretto/fabric/bootstrap/socket.h"
#include "stretto/fabric/bootstrap/timer.h"

namespace stretto::fabric {
namespace {

constexpr std::size_t max_unsent_bytes = std::size_t{4} << 20U;

/// The signals that the launcher passes on, as a descriptor; SIGPIPE becomes an error of write. Undone at the end.
class Signals {
 public:
  Signals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
    ::sigprocmask(SIG_BLOCK, &set, &before_);
    pipe_before_ = ::signal(SIGPIPE, SIG_IGN);
    descriptor_ = Descriptor(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!descriptor_) throw_io("signalfd");
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  ~Signals() {
    ::signal(SIGPIPE, pipe_before_);
    ::sigprocmask(SIG_SETMASK, &before_, nullptr);
  }

  int descriptor() const { return descriptor_.number(); }
  /// The next signal that came; 0 if none did.
  int next() const {
    signalfd_siginfo info{};
    return ::read(descriptor_.number(), &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo) : 0;
  }

 private:
  sigset_t before_{};
  void (*pipe_before_)(int) = SIG_DFL;
  Descriptor descriptor_;
};

/// The I/O around a Rendezvous: sockets, processes, signals and a timer in, instructions out.
class JobLauncher {
 public:
  JobLauncher(const LaunchOptions& options, const Environment& environment)
      : options_(options),
        environment_(environment),
        hosts_(share_out(options)),
        secret_(JobSecret::random()),
        secret_file_(secret_file(secret_)),
        rendezvous_(secret_, {hosts_, options.keep_going}),
        listener_(listen_on(options.bind_address)),
        grace_(reactor_, [this] { carry_out(rendezvous_.grace_over()); }),
        patience_(reactor_, [this] { lose_patience(); }),
        output_(reactor_, STDOUT_FILENO, [this] { lose_output(); }),
        errors_(reactor_, STDERR_FILENO, [this] { lose_output(); }),
        ranks_(reactor_, output_, errors_, [this](NodeId rank, ExitStatus status) { rank_ended(rank, status); }),
        agents_(reactor_, output_, errors_,
                [this](std::uint32_t host, ExitStatus status) { agent_ended(host, status); }) {
    reactor_.watch(signals_.descriptor(), POLLIN, [this](short) {
      const int signal = signals_.next();
      if (signal == 0) return;
      hurried_ = exit_code_.has_value();
      interrupt(signal);
    });
    hear_callers();
  }

  int run() {
    start_all();
    patience_.start(options_.patience);
    while (!exit_code_ || (!hurried_ && (output_.pending() || errors_.pending()))) reactor_.turn();
    flush_closing();
    return *exit_code_;
  }

 private:
  struct Connection {
    Descriptor socket;
    std::vector<std::byte> unsent;
    bool closing = false;
  };

  Deployment deployment_of(std::uint32_t host, NodeId first) const {
    Deployment deployment{secret_, listener_.endpoint.text(), host,         rendezvous_.size(),
                          first,   hosts_[host].ranks,        options_.tag, {},
                          {},      options_.command};
    if (!hosts_[host].remote) return deployment;
    deployment.folder = std::filesystem::current_path().string();
    for (const auto& [name, value] : environment_) {
      // The host id names this host, and no other.
      const bool setting = name.starts_with("STRETTO_") && name != "STRETTO_HOST_ID";
      const bool asked = std::ranges::find(options_.exported, name) != options_.exported.end();
      if (setting || asked) deployment.environment.emplace(name, value);
    }
    return deployment;
  }

  void start_all() {
    NodeId first = 0;
    for (std::uint32_t host = 0; host < hosts_.size(); ++host) {
      const Deployment deployment = deployment_of(host, first);
      first += deployment.ranks;
      if (hosts_[host].remote) {
        start_agent(deployment);
        continue;
      }
      for (NodeId rank = deployment.first; rank < first; ++rank) {
        ranks_.start(rank, plan_rank(deployment, rank, environment_, secret_file_.number(), usable_cores()),
                     tag_of(deployment, rank));
      }
    }
  }

  // Both streams may tell of it, and a second signal would kill.
  void lose_output() {
    if (!std::exchange(output_lost_, true)) interrupt(SIGTERM);
  }

  void start_agent(const Deployment& deployment) {
    ProcessPlan plan;
    plan.command = {options_.agent, hosts_[deployment.host].name};
    plan.command.insert(plan.command.end(), options_.agent_command.begin(), options_.agent_command.end());
    plan.environment = environment_;
    plan.input = true;
    agents_.start(deployment.host, plan, "");
    // The pipe stays open: its end tells the far side that we are gone.
    agents_.feed(deployment.host, encode(deployment));
  }

  // Events.

  void hear_callers() {
    reactor_.watch(listener_.descriptor.number(), POLLIN, [this](short) { accept_all(); });
  }

  // Where there is no descriptor for the next caller, it may be one that the job needs, or else a stranger, who waits
  // until a connection has gone.
  Descriptor next_caller() {
    try {
      return accept_at(listener_.descriptor.number());
    } catch (const Error&) {
      if (rendezvous_.awaits_members()) throw;
      reactor_.forget(listener_.descriptor.number());
      return {};
    }
  }

  void accept_all() {
    while (Descriptor socket = next_caller()) {
      const ConnectionId id = next_connection_++;
      const int number = socket.number();
      connections_[id].socket = std::move(socket);
      reactor_.watch(number, POLLIN, [this, id](short ready) { serve(id, ready); });
      carry_out(rendezvous_.connected(id, random_nonce()));
      read_from(id);  // most say hello at once, which tells them from the silent ones
    }
  }

  void serve(ConnectionId id, short ready) {
    if ((ready & POLLOUT) != 0) flush(id);
    read_from(id);
  }

  void read_from(ConnectionId id) {
    std::array<std::byte, 65536> buffer;
    for (;;) {
      const auto found = connections_.find(id);
      if (found == connections_.end() || found->second.unsent.size() > max_unsent_bytes) return;
      const ssize_t count = ::recv(found->second.socket.number(), buffer.data(), buffer.size(), 0);
      if (count > 0) {
        carry_out(rendezvous_.received(id, ConstByteSpan(buffer).first(static_cast<std::size_t>(count))));
      } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
        const bool ours = found->second.closing;
        forget(id);
        if (!ours) carry_out(rendezvous_.closed(id));
        return;
      } else if (errno == EAGAIN) {
        return;
      }
    }
  }

  void rank_ended(NodeId rank, ExitStatus status) {
    // What it sent before its end has arrived: it must be heard before the end is.
    accept_all();
    std::vector<ConnectionId> ids;
    for (const auto& [id, connection] : connections_) ids.push_back(id);
    for (const ConnectionId id : ids) read_from(id);
    carry_out(rendezvous_.rank_exited(rank, status));
  }

  void agent_ended(std::uint32_t host, ExitStatus status) { carry_out(rendezvous_.agent_exited(host, status)); }

  void interrupt(int signal) { carry_out(rendezvous_.interrupted(signal)); }

  void lose_patience() {
    waited_ = std::max(3 * waited_, options_.patience);
    carry_out(rendezvous_.lasted(std::chrono::floor<std::chrono::seconds>(waited_)));
    patience_.start(2 * waited_);
  }

  // Instructions.

  void carry_out(const Instructions& instructions) {
    for (const Instruction& instruction : instructions) {
      std::visit([this](const auto& one) { perform(one); }, instruction);
    }
  }

  void perform(const SendBytes& send) {
    const auto found = connections_.find(send.connection);
    if (found == connections_.end()) return;
    found->second.unsent.insert(found->second.unsent.end(), send.bytes.begin(), send.bytes.end());
    flush(send.connection);
  }

  void perform(const CloseConnection& close) {
    const auto found = connections_.find(close.connection);
    if (found == connections_.end()) return;
    found->second.closing = true;
    flush(close.connection);
  }

  void perform(const SignalRank& signal) { ranks_.signal(signal.rank, signal.signal); }
  void perform(const SignalAgent& signal) { agents_.signal(signal.host, signal.signal); }
  void perform(const Report& report) { errors_.write("stretto run: " + report.line + "\n"); }
  void perform(const Finish& finish) { exit_code_ = finish.exit_code; }

  void perform(const StartGrace&) { grace_.start(options_.grace); }

  void flush(ConnectionId id) {
    Connection& connection = connections_.at(id);
    ConstByteSpan rest = connection.unsent;
    while (!rest.empty()) {
      const ssize_t sent = ::send(connection.socket.number(), rest.data(), rest.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0 && errno != EAGAIN) rest = {};  // broken: reading tells
      if (sent < 0) break;
      rest = rest.subspan(static_cast<std::size_t>(sent));
    }
    const std::size_t done = connection.unsent.size() - rest.size();
    connection.unsent.erase(connection.unsent.begin(), connection.unsent.begin() + static_cast<std::ptrdiff_t>(done));
    if (connection.closing && connection.unsent.empty()) return forget(id);
    short events = connection.unsent.size() > max_unsent_bytes ? 0 : POLLIN;
    if (!connection.unsent.empty()) events = static_cast<short>(events | POLLOUT);
    reactor_.change(connection.socket.number(), events);
  }

  void flush_closing() {
    for (auto& [id, connection] : connections_) {
      if (!connection.unsent.empty()) {
        ::send(connection.socket.number(), connection.unsent.data(), connection.unsent.size(), MSG_NOSIGNAL);
      }
    }
  }

  void forget(ConnectionId id) {
    const auto found = connections_.find(id);
    reactor_.forget(found->second.socket.number());
    connections_.erase(found);
    hear_callers();
  }

  const LaunchOptions& options_;
  const Environment& environment_;
  std::vector<Rendezvous::Host> hosts_;
  Signals signals_;  // before any process is started
  JobSecret secret_;
  Descriptor secret_file_;
  Rendezvous rendezvous_;
  Reactor reactor_;
  Listener listener_;
  Timer grace_;
  Timer patience_;
  std::chrono::milliseconds waited_{0};  // when it was last said for whom
  std::map<ConnectionId, Connection> connections_;
  ConnectionId next_connection_ = 1;
  bool output_lost_ = false;
  std::optional<int> exit_code_;
  bool hurried_ = false;  // interrupted when all that was left to do was to wait for a reader
  OutputStream output_;
  OutputStream errors_;
  ProcessSet ranks_;
  ProcessSet agents_;
};

void check(const LaunchOptions& options, const Environment& environment) {
  if (options.ranks == 0 || options.ranks > max_nodes) {
    throw Error(ErrorCode::invalid_argument,
                "-n " + std::to_string(options.ranks) + ": a job has 1 to " + std::to_string(max_nodes) + " ranks");
  }
  if (options.command.empty()) {
    throw Error(ErrorCode::invalid_argument, "no program to run: give it and its arguments last");
  }
  const auto fabric = environment.find("STRETTO_FABRIC");
  if (fabric != environment.end() && !fabric->second.empty() && !fabric->second.starts_with("cluster")) {
    throw Error(ErrorCode::invalid_argument,
                "STRETTO_FABRIC=" + fabric->second +
                    " would make every rank a job of its own: unset it, or start the program without `stretto run`");
  }
}

}  // namespace

std::vector<Rendezvous::Host> share_out(const LaunchOptions& options) {
  if (options.hosts.empty()) return {{host_name(), options.ranks, false}};
  const auto count = static_cast<std::uint32_t>(options.hosts.size());
  std::vector<Rendezvous::Host> hosts;
  for (std::uint32_t index = 0; index < count; ++index) {
    const std::uint32_t share = options.ranks / count + (index < options.ranks % count ? 1 : 0);
    if (share > 0) hosts.push_back({options.hosts[index], share, true});
  }
  return hosts;
}

int launch(const LaunchOptions& options, const Environment& environment) {
  check(options, environment);
  prepare_to_start_processes();
  return JobLauncher(options, environment).run();
}

}  // namespace stretto::fabric
