// What the launcher's tests run as the ranks of a job: launch_probe ACTION [ARGUMENT...]. Each action prints what it
// saw, one line per event; the tests compare. Nothing here sleeps: ranks wait for descriptors and signals only.

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "stretto/base/descriptor.h"
#include "stretto/base/error.h"
#include "stretto/fabric/bootstrap/bootstrap.h"
#include "stretto/fabric/bootstrap/socket.h"

namespace {

using stretto::Error;
using stretto::fabric::Bootstrap;
using stretto::fabric::Environment;
using Arguments = std::vector<std::string>;

void say(const std::string& line) { std::cout << line + "\n" << std::flush; }

std::vector<std::byte> bytes_of_text(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
  return {bytes.begin(), bytes.end()};
}

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

[[noreturn]] void wait_for_signals() {
  for (;;) ::pause();
}

std::unique_ptr<Bootstrap> join() { return stretto::fabric::connect(stretto::fabric::process_environment()); }

bool is_rank(const Bootstrap& mine, const Arguments& arguments) { return mine.rank() == std::stoul(arguments.at(0)); }

/// How many descriptors of the job's secret this process has.
int secrets_held() {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;  // that of the listing itself is
    const std::string target = std::filesystem::read_symlink(entry.path(), gone).string();
    if (target.find("stretto-job-secret") != std::string::npos) ++count;
  }
  return count;
}

/// Counts them before and after joining.
int secret(const Arguments&) {
  say("before " + std::to_string(secrets_held()));
  const auto mine = join();
  say("joined " + std::to_string(secrets_held()));
  mine->finalize();
  return 0;
}

/// Everyone publishes, everyone reads everything, twice.
int exchange(const Arguments&) {
  const auto mine = join();
  std::string hosts;
  for (const char* key : {"first", "second"}) {
    mine->put(key, bytes_of_text(std::string(mine->host()) + "#" + key + std::to_string(mine->rank())));
    mine->fence();
    hosts.clear();
    for (stretto::NodeId peer = 0; peer < mine->size(); ++peer) {
      const std::string card = text_of(mine->fetch(peer, key));
      const std::size_t mark = card.find('#');
      if (card.substr(mark) != "#" + std::string(key) + std::to_string(peer)) return 3;
      hosts += (hosts.empty() ? "" : ",") + card.substr(0, mark);
    }
  }
  say("rank " + std::to_string(mine->rank()) + " of " + std::to_string(mine->size()) + " hosts " + hosts);
  mine->fence();
  mine->finalize();
  return 0;
}

/// RANK kills itself after a fence; the others are told, and leave.
int die(const Arguments& arguments) {
  const auto mine = join();
  mine->fence();
  if (is_rank(*mine, arguments)) ::raise(SIGKILL);
  pollfd entry{mine->failure_descriptor(), POLLIN, 0};
  ::poll(&entry, 1, -1);
  for (const auto& loss : mine->lost_peers()) {
    say("rank " + std::to_string(mine->rank()) + " lost " + std::to_string(loss.rank));
  }
  mine->finalize();
  return 0;
}

/// RANK kills itself before it joins; the others wait for it in a fence.
int die_early(const Arguments& arguments) {
  if (arguments.at(0) == ::getenv("STRETTO_JOB_RANK")) ::raise(SIGKILL);
  const auto mine = join();
  try {
    mine->fence();
    return 3;
  } catch (const Error& error) {
    say("rank " + std::to_string(mine->rank()) + " " + std::string(stretto::name_of(error.code())));
  }
  mine->finalize();
  return 0;
}

/// RANK leaves with exit code CODE; the others wait for a signal.
int fail(const Arguments& arguments) {
  const auto mine = join();
  mine->fence();
  if (!is_rank(*mine, arguments)) wait_for_signals();
  mine->finalize();
  return std::stoi(arguments.at(1));
}

/// RANK aborts the job; the others wait for a signal.
int abort_job(const Arguments& arguments) {
  const auto mine = join();
  mine->fence();
  if (!is_rank(*mine, arguments)) wait_for_signals();
  mine->abort(Error(stretto::ErrorCode::deadlock, "nobody moves"));
  return 9;
}

/// Joins as one who knows where the job is, but not its secret; returns whether that was refused.
bool is_refused_without_secret() {
  const stretto::Descriptor file(::memfd_create("guess", MFD_CLOEXEC));
  const std::string guess(32, 'g');
  if (::write(file.number(), guess.data(), guess.size()) != 32) return false;
  Environment environment = stretto::fabric::process_environment();
  environment.insert_or_assign("STRETTO_JOB_SECRET_FD", std::to_string(file.number()));
  try {
    stretto::fabric::connect(environment);
    return false;
  } catch (const Error& error) {
    say(error.message());
    return true;
  }
}

/// The same before the job starts.
int wrong_secret(const Arguments&) {
  if (!is_refused_without_secret()) return 3;
  return exchange({});  // the true secret still works
}

/// Crowds of silent connections before the job starts.
int strangers(const Arguments&) {
  const auto endpoint = stretto::fabric::parse_endpoint(::getenv("STRETTO_JOB_ENDPOINT"));
  std::vector<stretto::Descriptor> silent;
  for (int i = 0; i < 100; ++i) silent.push_back(stretto::fabric::connect_to(endpoint));
  return exchange({});
}

/// As many silent connections as this process may have, once all are here; when these are gone, the next is heard.
int crowd(const Arguments&) {
  const auto mine = join();
  mine->fence();
  std::vector<stretto::Descriptor> silent;
  if (mine->rank() == 0) {
    const auto endpoint = stretto::fabric::parse_endpoint(::getenv("STRETTO_JOB_ENDPOINT"));
    try {
      for (;;) silent.push_back(stretto::fabric::connect_to(endpoint));
    } catch (const Error&) {
      say("crowded");
    }
  }
  mine->fence();
  silent.clear();
  if (mine->rank() == 0 && !is_refused_without_secret()) return 3;
  mine->fence();
  mine->finalize();
  return 0;
}

/// Says when all are here, then waits for SIGINT or SIGTERM and says which came.
int await_signal(const Arguments&) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  const auto mine = join();
  mine->fence();
  if (mine->rank() == 0) say("ready");
  int signal = 0;
  ::sigwait(&set, &signal);
  say("rank " + std::to_string(mine->rank()) + " signal " + std::to_string(signal));
  mine->finalize();
  return 0;
}

/// Holds the FIFO at PATH open while it lives, and writes there when the launcher is gone.
int outlive(const Arguments& arguments) {
  const stretto::Descriptor fifo(::open(arguments.at(0).c_str(), O_WRONLY | O_CLOEXEC));
  const auto mine = join();
  mine->fence();
  if (mine->rank() == 0) say("ready");
  pollfd entry{mine->failure_descriptor(), POLLIN, 0};
  ::poll(&entry, 1, -1);
  std::string line = "peers\n";
  try {
    mine->lost_peers();
  } catch (const Error& error) {
    line = std::string(stretto::name_of(error.code())) + "\n";
  }
  return ::write(fifo.number(), line.data(), line.size()) < 0 ? 3 : 0;
}

int show_arguments(const Arguments& arguments) {
  for (const std::string& argument : arguments) say("<" + argument + ">");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, std::function<int(const Arguments&)>> actions{
      {"exchange", exchange},
      {"secret", secret},
      {"die", die},
      {"die-early", die_early},
      {"fail", fail},
      {"abort", abort_job},
      {"wrong-secret", wrong_secret},
      {"strangers", strangers},
      {"await-signal", await_signal},
      {"crowd", crowd},
      {"outlive", outlive},
      {"show-arguments", show_arguments},
  };
  const auto action = actions.find(argc > 1 ? argv[1] : "");
  if (action == actions.end()) {
    std::cerr << "launch_probe: give one of its actions\n";
    return 2;
  }
  try {
    return action->second(Arguments(argv + 2, argv + argc));
  } catch (const Error& error) {
    std::cerr << std::string("launch_probe: ") + error.what() + "\n";
    return 4;
  }
}
