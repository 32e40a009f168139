#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <optional>

#include "stretto/base/affinity.h"
#include "stretto/fabric/bootstrap/deployment.h"
#include "stretto/fabric/bootstrap/launcher.h"
#include "stretto/fabric/bootstrap/member_channel.h"
#include "stretto/fabric/bootstrap/process.h"
#include "stretto/fabric/bootstrap/process_set.h"
#include "stretto/fabric/bootstrap/socket.h"
#include "stretto/fabric/bootstrap/wire.h"

namespace stretto::fabric {
namespace {

/// Exactly `count` bytes of standard input.
std::vector<std::byte> read_input(std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (ByteSpan rest = bytes; !rest.empty();) {
    const ssize_t got = ::read(STDIN_FILENO, rest.data(), rest.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      throw Error(ErrorCode::bad_input,
                  "standard input ended before the deployment did: this command is for "
                  "`stretto run --hosts` to call, not for people");
    }
    rest = rest.subspan(static_cast<std::size_t>(got));
  }
  return bytes;
}

Deployment read_deployment() {
  const std::size_t length = WireReader(read_input(sizeof(std::uint32_t))).number<std::uint32_t>();
  if (length > max_deployment_bytes) {
    throw Error(ErrorCode::bad_input, "a deployment of " + std::to_string(length) + " bytes on standard input");
  }
  return decode_deployment(read_input(length));
}

/// Runs the ranks of one host on behalf of a launcher elsewhere.
class HostAgent {
 public:
  HostAgent(const Deployment& deployment, const Environment& environment)
      : deployment_(deployment),
        environment_(environment),
        secret_file_(secret_file(deployment.secret)),
        channel_(connect_to(parse_endpoint(deployment.endpoint)), deployment.secret, Role::agent, deployment.host,
                 deployment.size),
        output_(reactor_, STDOUT_FILENO, [this] { lose_launcher(); }),
        errors_(reactor_, STDERR_FILENO, [this] { lose_launcher(); }),
        ranks_(reactor_, output_, errors_, [this](NodeId rank, ExitStatus status) { report(rank, status); }) {
    reactor_.watch(channel_.descriptor(), POLLIN, [this](short) { obey(); });
    reactor_.watch(STDIN_FILENO, POLLIN, [this](short) { lose_launcher(); });
  }

  int run() {
    for (NodeId rank = deployment_.first; rank < deployment_.first + deployment_.ranks; ++rank) start(rank);
    obey();  // what came in one piece with the welcome
    while (!ranks_.empty() || (!launcher_lost_ && (output_.pending() || errors_.pending()))) reactor_.turn();
    if (launcher_lost_) return EXIT_FAILURE;
    channel_.send(Goodbye{});
    while (!std::holds_alternative<Farewell>(channel_.receive())) {  // a signal for ranks that ended meanwhile
    }
    return EXIT_SUCCESS;
  }

 private:
  void start(NodeId rank) {
    try {
      ranks_.start(rank, plan_rank(deployment_, rank, environment_, secret_file_.number(), usable_cores()),
                   tag_of(deployment_, rank));
    } catch (const Error& error) {
      errors_.write("stretto run: " + error.message() + "\n");
      report(rank, ExitStatus{false, 127});
    }
  }

  void report(NodeId rank, ExitStatus status) {
    if (launcher_lost_) return;
    try {
      channel_.send(Exited{rank, status.signalled, status.code});
    } catch (const Error&) {
      lose_launcher();
    }
  }

  void obey() {
    try {
      while (const auto message = channel_.poll()) {
        if (const auto* signal = std::get_if<Signal>(&*message)) ranks_.signal(signal->rank, signal->signal);
      }
    } catch (const Error&) {
      lose_launcher();
    }
  }

  /// Nobody is left to report to: the job is over.
  void lose_launcher() {
    if (launcher_lost_) return;
    launcher_lost_ = true;
    reactor_.forget(channel_.descriptor());
    reactor_.forget(STDIN_FILENO);
    ranks_.signal_all(SIGKILL);
  }

  const Deployment& deployment_;
  const Environment& environment_;
  Descriptor secret_file_;
  MemberChannel channel_;
  Reactor reactor_;
  bool launcher_lost_ = false;
  OutputStream output_;
  OutputStream errors_;
  ProcessSet ranks_;
};

}  // namespace

int serve_as_agent(const Environment& environment) {
  prepare_to_start_processes();
  ::signal(SIGPIPE, SIG_IGN);
  const Deployment deployment = read_deployment();
  return HostAgent(deployment, environment).run();
}

}  // namespace stretto::fabric
