#include "stretto/fabric/bootstrap/rendezvous_client.h"

#include <sodium.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "stretto/fabric/bootstrap/host_id.h"
#include "stretto/fabric/bootstrap/member_channel.h"
#include "stretto/fabric/bootstrap/socket.h"

namespace stretto::fabric {
namespace {

// So few that the launcher need not hold many answers, nor read while it writes.
constexpr std::uint32_t questions_at_once = 64;

class RendezvousClient final : public Bootstrap {
 public:
  RendezvousClient(MemberChannel channel, NodeId rank, std::uint32_t size, std::string host)
      : channel_(std::move(channel)),
        rank_(rank),
        size_(size),
        host_(std::move(host)),
        doorbell_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        failures_(::epoll_create1(EPOLL_CLOEXEC)) {
    if (!doorbell_ || !failures_) throw_io("cannot watch for the death of peers");
    for (const int descriptor : {channel_.descriptor(), doorbell_.number()}) {
      epoll_event event{};
      event.events = EPOLLIN;
      if (::epoll_ctl(failures_.number(), EPOLL_CTL_ADD, descriptor, &event) != 0) throw_io("epoll_ctl");
    }
    note_buffered_losses();
  }

  NodeId rank() const override { return rank_; }
  std::uint32_t size() const override { return size_; }
  std::string_view host() const override { return host_; }

  void put(std::string_view key, ConstByteSpan value) override {
    check_put(key, value);
    require_joined();
    channel_.send(Put{std::string(key), {value.begin(), value.end()}});
  }

  void fence() override {
    require_joined();
    channel_.send(Fence{fences_ + 1});
    const Message answer = next_answer();
    note_buffered_losses();
    if (const auto* done = std::get_if<FenceDone>(&answer); done != nullptr && done->count == fences_ + 1) {
      ++fences_;
    } else if (const auto* failed = std::get_if<FenceFailed>(&answer)) {
      throw Error(ErrorCode::peer_lost,
                  "the fence cannot complete: rank " + std::to_string(failed->rank) + " " + failed->reason);
    } else {
      throw_out_of_turn(answer);
    }
  }

  std::vector<std::byte> fetch(NodeId rank, std::string_view key) override {
    check_fetch(rank, key);
    require_joined();
    return std::move(ask(rank, rank + 1, key).front());
  }

  std::vector<std::vector<std::byte>> fetch_all(std::string_view key) override {
    check_fetch(0, key);
    require_joined();
    std::vector<std::vector<std::byte>> values;
    while (values.size() < size_) {
      const auto first = static_cast<NodeId>(values.size());
      std::ranges::move(ask(first, first + std::min(questions_at_once, size_ - first), key),
                        std::back_inserter(values));
    }
    return values;
  }

  void abort(const Error& error) noexcept override {
    try {
      require_joined();
      channel_.send(Abort{error.what()});
      const Message farewell = next_answer();
      channel_.close();
    } catch (...) {  // the launcher is gone, and the job with it
    }
  }

  void finalize() override {
    require_joined();
    channel_.send(Goodbye{});
    // The answer proves that the goodbye was read: a socket closed with unread bytes could take it back.
    const Message farewell = next_answer();
    if (!std::holds_alternative<Farewell>(farewell)) throw_out_of_turn(farewell);
    channel_.close();
  }

  int failure_descriptor() const override { return failures_.number(); }

  std::vector<PeerLoss> lost_peers() override {
    require_joined();
    eventfd_t ignored = 0;
    ::eventfd_read(doorbell_.number(), &ignored);
    while (const auto message = channel_.poll()) {
      if (!note_loss(*message)) throw_out_of_turn(*message);
    }
    return std::exchange(news_, {});
  }

 private:
  void require_joined() const {
    if (channel_.descriptor() >= 0) return;
    throw Error(ErrorCode::invalid_state, "the bootstrap was used after finalize() or abort()");
  }

  bool note_loss(const Message& message) {
    const auto* lost = std::get_if<Lost>(&message);
    if (lost == nullptr) return false;
    if (lost->rank >= size_) {
      throw Error(ErrorCode::bad_input, "the launcher tells of the death of rank " + std::to_string(lost->rank) +
                                            " in a job of " + std::to_string(size_));
    }
    news_.push_back({lost->rank, lost->reason});
    return true;
  }

  /// The next message that isn't a notice of death; those are kept, and the doorbell tells of them. Whoever expects no
  /// further answer has to look for notices behind it.
  Message next_answer() {
    Message answer = channel_.receive();
    for (; note_loss(answer); answer = channel_.receive()) ::eventfd_write(doorbell_.number(), 1);
    return answer;
  }

  /// What the ranks from `first` to before `end` published under `key`.
  std::vector<std::vector<std::byte>> ask(NodeId first, NodeId end, std::string_view key) {
    std::vector<Message> questions;
    for (NodeId rank = first; rank < end; ++rank) questions.emplace_back(Get{rank, std::string(key)});
    channel_.send(questions);
    std::vector<Value> answers;
    for (NodeId rank = first; rank < end; ++rank) answers.push_back(next_value());
    note_buffered_losses();
    std::vector<std::vector<std::byte>> values;
    for (NodeId rank = first; rank < end; ++rank) {
      Value& answer = answers[rank - first];
      if (!answer.found) {
        throw Error(ErrorCode::invalid_argument, "rank " + std::to_string(rank) + " published nothing under \"" +
                                                     std::string(key) +
                                                     "\"; a put can be fetched after the next fence");
      }
      values.push_back(std::move(answer.value));
    }
    return values;
  }

  Value next_value() {
    Message answer = next_answer();
    auto* value = std::get_if<Value>(&answer);
    if (value == nullptr) throw_out_of_turn(answer);
    return std::move(*value);
  }

  /// Notices that came in one piece with something else: the socket will not become readable for them.
  void note_buffered_losses() {
    while (const auto message = channel_.buffered()) {
      if (!note_loss(*message)) throw_out_of_turn(*message);
      ::eventfd_write(doorbell_.number(), 1);
    }
  }

  [[noreturn]] static void throw_out_of_turn(const Message& message) {
    throw Error(ErrorCode::bad_input, "message " + std::to_string(message.index()) + " from the launcher, out of turn");
  }

  MemberChannel channel_;
  NodeId rank_;
  std::uint32_t size_;
  std::string host_;
  Descriptor doorbell_;  // rung when news came in while something else was awaited
  Descriptor failures_;  // an epoll of the channel and the doorbell
  std::uint64_t fences_ = 0;
  std::vector<PeerLoss> news_;
};

/// Takes the secret out of the inherited descriptor and closes it, so that children of this process don't get it.
JobSecret read_secret(int number) {
  std::array<std::byte, JobSecret::size + 1> bytes;
  const ssize_t count = ::pread(number, bytes.data(), bytes.size(), 0);
  if (count == static_cast<ssize_t>(JobSecret::size)) {
    ::close(number);
    const JobSecret secret{std::span(bytes).first<JobSecret::size>()};
    sodium_memzero(bytes.data(), bytes.size());
    return secret;
  }
  throw Error(ErrorCode::bad_input,
              "STRETTO_JOB_SECRET_FD=" + std::to_string(number) +
                  " is not a descriptor that holds the job secret: `stretto run` opens it for its "
                  "ranks only; unset the STRETTO_JOB_* variables to run alone");
}

}  // namespace

std::unique_ptr<Bootstrap> join_rendezvous(Descriptor socket, const JobSecret& secret, NodeId rank, std::uint32_t size,
                                           std::string host) {
  MemberChannel channel(std::move(socket), secret, Role::rank, rank, size);
  return std::make_unique<RendezvousClient>(std::move(channel), rank, size, std::move(host));
}

std::unique_ptr<Bootstrap> join_rendezvous(const LauncherChoice& choice, const Environment& environment) {
  const std::string announced = "rank " + std::to_string(choice.rank) + " of the " + std::to_string(choice.size) +
                                " that `stretto run` announces cannot join its job at " + choice.endpoint + ": ";
  try {
    const JobSecret secret = read_secret(choice.secret_descriptor);
    return join_rendezvous(connect_to(parse_endpoint(choice.endpoint)), secret, choice.rank, choice.size,
                           host_id(environment));
  } catch (const Error& error) {
    throw Error(error.code(), announced + error.message());
  }
}

}  // namespace stretto::fabric
