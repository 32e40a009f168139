#include "stretto/fabric/bootstrap/process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>

#include "stretto/base/error.h"
#include "stretto/fabric/bootstrap/socket.h"

namespace stretto::fabric {
namespace {

struct Pipe {
  Descriptor read_end;
  Descriptor write_end;

  Pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw_io("pipe");
    read_end = Descriptor(ends[0]);
    write_end = Descriptor(ends[1]);
  }
};

/// Arguments or variables in the form that exec wants. Made before fork: between fork and exec nothing may allocate.
std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

std::vector<std::string> lines_of(const Environment& environment) {
  std::vector<std::string> lines;
  for (const auto& [name, value] : environment) lines.push_back(name + "=" + value);
  return lines;
}

/// What the child does before it becomes the program.
struct ChildSetup {
  pid_t parent;
  int input;
  int output;
  int errors;
  int inherited;
  const char* folder;

  bool apply() const {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(EXIT_FAILURE);  // it died before we asked to be told
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::signal(SIGPIPE, SIG_DFL);
    if (inherited >= 0 && ::fcntl(inherited, F_SETFD, 0) != 0) return false;
    if (*folder != '\0' && ::chdir(folder) != 0) return false;
    return ::dup2(input, STDIN_FILENO) >= 0 && ::dup2(output, STDOUT_FILENO) >= 0 && ::dup2(errors, STDERR_FILENO) >= 0;
  }
};

void open_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) >= 0) continue;
    if (::open("/dev/null", O_RDWR) != stream) throw_io("cannot open /dev/null");  // the lowest number that is free
  }
}

void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

void make_non_blocking(const Descriptor& descriptor) {
  const int flags = ::fcntl(descriptor.number(), F_GETFL);
  if (flags < 0 || ::fcntl(descriptor.number(), F_SETFL, flags | O_NONBLOCK) < 0) throw_io("fcntl");
}

}  // namespace

void prepare_to_start_processes() {
  open_standard_streams();
  raise_descriptor_limit();
}

Process::Process(const ProcessPlan& plan) {
  std::vector<std::string> command = plan.command;
  std::vector<std::string> variables = lines_of(plan.environment);
  const std::vector<char*> arguments = pointers(command);
  const std::vector<char*> environment = pointers(variables);
  Pipe input;
  Pipe output;
  Pipe errors;
  Pipe trouble;  // tells why the program could not be started; closed by a successful exec
  const ChildSetup setup{::getpid(),     input.read_end.number(), output.write_end.number(), errors.write_end.number(),
                         plan.inherited, plan.folder.c_str()};
  id_ = ::fork();
  if (id_ < 0) throw_io("cannot start another process");
  if (id_ == 0) {
    if (setup.apply()) ::execvpe(arguments[0], arguments.data(), environment.data());
    const int reason = errno;
    [[maybe_unused]] const ssize_t written = ::write(trouble.write_end.number(), &reason, sizeof reason);
    ::_exit(127);
  }
  ::setpgid(id_, id_);  // both sides do, so that neither has to wait for the other
  trouble.write_end.reset();
  int reason = 0;
  ssize_t count = 0;
  while ((count = ::read(trouble.read_end.number(), &reason, sizeof reason)) < 0 && errno == EINTR) {
  }
  if (count != 0) {
    ::waitpid(id_, nullptr, 0);
    id_ = -1;
    const std::string folder = plan.folder.empty() ? "" : " in " + plan.folder;
    throw Error(ErrorCode::io,
                "cannot start " + plan.command.front() + folder + ": " + std::generic_category().message(reason));
  }
  // Not glibc's own pidfd_open: its header of 2.36 is not made for C++.
  handle_ = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, id_, 0)));
  output_ = std::move(output.read_end);
  errors_ = std::move(errors.read_end);
  if (plan.input) input_ = std::move(input.write_end);
  if (!handle_) {
    const int refusal = errno;
    signal(SIGKILL);
    ::waitpid(id_, nullptr, 0);
    errno = refusal;
    if (is_shortage(refusal)) throw_io("cannot watch another process");
    throw Error(ErrorCode::not_supported, "pidfd_open is refused here: `stretto run` needs Linux 5.3 or newer");
  }
  make_non_blocking(output_);
  make_non_blocking(errors_);
  if (input_) make_non_blocking(input_);
}

Process::~Process() {
  if (!handle_ || id_ < 0) return;
  signal(SIGKILL);
  ::waitpid(id_, nullptr, 0);
}

void Process::signal(int number) const {
  if (id_ < 0) return;
  ::kill(-id_, number);
  if (number == SIGKILL || number == SIGTERM) ::kill(-id_, SIGCONT);  // a stopped process must hear it, too
}

std::optional<ExitStatus> Process::collect() {
  int status = 0;
  if (id_ < 0 || ::waitpid(id_, &status, WNOHANG) != id_) return std::nullopt;
  id_ = -1;
  if (WIFSIGNALED(status)) return ExitStatus{true, WTERMSIG(status)};
  return ExitStatus{false, WEXITSTATUS(status)};
}

}  // namespace stretto::fabric
