#include "stretto/fabric/bootstrap/in_process.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>

#include "stretto/fabric/bootstrap/host_id.h"

namespace stretto::fabric {
namespace {

using Values = std::map<std::string, std::vector<std::byte>, std::less<>>;

enum class Presence : std::uint8_t { present, left, died };

/// What the ranks share. Guarded by `mutex` throughout.
struct Job {
  struct Rank {
    Presence presence = Presence::present;
    std::string reason;
    Values staged;
    Values published;
    std::vector<PeerLoss> news;
    int doorbell = -1;  // an eventfd, rung with each entry of `news`
  };

  explicit Job(std::uint32_t size) : ranks(size) {
    for (Rank& rank : ranks) {
      rank.doorbell = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
      if (rank.doorbell < 0) {
        throw Error(ErrorCode::out_of_resources, "eventfd: " + std::generic_category().message(errno) +
                                                     "; raise the limit of open files (ulimit -n)");
      }
    }
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  ~Job() {
    for (const Rank& rank : ranks) {
      if (rank.doorbell >= 0) ::close(rank.doorbell);
    }
  }

  /// The first rank that is gone, if any.
  std::optional<NodeId> absent() const {
    for (NodeId id = 0; id < ranks.size(); ++id) {
      if (ranks[id].presence != Presence::present) return id;
    }
    return std::nullopt;
  }

  void publish_all() {
    for (Rank& rank : ranks) {
      for (auto& [key, value] : rank.staged) rank.published.insert_or_assign(key, std::move(value));
      rank.staged.clear();
    }
  }

  void depart(NodeId id, Presence how, const std::string& reason) {
    const std::lock_guard lock(mutex);
    if (ranks[id].presence != Presence::present) return;
    ranks[id].presence = how;
    ranks[id].reason = reason;
    if (how == Presence::died) {
      for (Rank& rank : ranks) {
        if (rank.presence != Presence::present) continue;
        rank.news.push_back({id, reason});
        ::eventfd_write(rank.doorbell, 1);
      }
    }
    changed.notify_all();
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Rank> ranks;
  std::uint32_t arrived = 0;
  std::uint64_t fences = 0;
};

class InProcessBootstrap final : public Bootstrap {
 public:
  InProcessBootstrap(std::shared_ptr<Job> job, NodeId rank, std::string host)
      : job_(std::move(job)), rank_(rank), host_(std::move(host)) {}

  ~InProcessBootstrap() override { job_->depart(rank_, Presence::died, "ended without leaving the job"); }

  NodeId rank() const override { return rank_; }
  std::uint32_t size() const override { return static_cast<std::uint32_t>(job_->ranks.size()); }
  std::string_view host() const override { return host_; }

  void put(std::string_view key, ConstByteSpan value) override {
    check_put(key, value);
    const std::lock_guard lock(job_->mutex);
    job_->ranks[rank_].staged.insert_or_assign(std::string(key), std::vector<std::byte>(value.begin(), value.end()));
  }

  void fence() override {
    std::unique_lock lock(job_->mutex);
    const std::uint64_t mine = job_->fences;
    if (++job_->arrived == size() && !job_->absent()) {
      job_->publish_all();
      job_->arrived = 0;
      ++job_->fences;
      job_->changed.notify_all();
      return;
    }
    job_->changed.wait(lock, [&] { return job_->fences != mine || job_->absent(); });
    if (job_->fences != mine) return;
    const NodeId gone = *job_->absent();
    throw Error(ErrorCode::peer_lost,
                "the fence cannot complete: rank " + std::to_string(gone) + " " + job_->ranks[gone].reason);
  }

  std::vector<std::byte> fetch(NodeId rank, std::string_view key) override {
    check_fetch(rank, key);
    const std::lock_guard lock(job_->mutex);
    const Values& values = job_->ranks[rank].published;
    const auto found = values.find(key);
    if (found != values.end()) return found->second;
    throw Error(ErrorCode::invalid_argument, "rank " + std::to_string(rank) + " published nothing under \"" +
                                                 std::string(key) + "\"; a put can be fetched after the next fence");
  }

  void abort(const Error& error) noexcept override {
    try {
      job_->depart(rank_, Presence::died, std::string("aborted: ") + error.what());
    } catch (...) {  // out of memory: the destructor will report the death, with less to say
    }
  }

  void finalize() override { job_->depart(rank_, Presence::left, "has left the job"); }

  int failure_descriptor() const override { return job_->ranks[rank_].doorbell; }

  std::vector<PeerLoss> lost_peers() override {
    const std::lock_guard lock(job_->mutex);
    eventfd_t ignored = 0;
    ::eventfd_read(job_->ranks[rank_].doorbell, &ignored);
    return std::exchange(job_->ranks[rank_].news, {});
  }

 private:
  std::shared_ptr<Job> job_;
  NodeId rank_;
  std::string host_;
};

}  // namespace

std::vector<std::unique_ptr<Bootstrap>> make_in_process_job(std::uint32_t size, std::vector<std::string> hosts) {
  if (size == 0 || size > max_nodes || (!hosts.empty() && hosts.size() != size)) {
    throw Error(ErrorCode::invalid_argument, "in-process job of " + std::to_string(size) + " ranks on " +
                                                 std::to_string(hosts.size()) + " hosts: give 1 to " +
                                                 std::to_string(max_nodes) + " ranks and a host for each, or none");
  }
  if (hosts.empty()) hosts.assign(size, host_id(process_environment()));
  const auto job = std::make_shared<Job>(size);
  std::vector<std::unique_ptr<Bootstrap>> ranks;
  for (NodeId id = 0; id < size; ++id) {
    ranks.push_back(std::make_unique<InProcessBootstrap>(job, id, std::move(hosts[id])));
  }
  return ranks;
}

}  // namespace stretto::fabric
