#pragma once

#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "stretto/base/descriptor.h"
#include "stretto/fabric/bootstrap/bootstrap.h"

namespace stretto::fabric {

/// A pipe that one process opens for another: to order what they do without sleeping. Made before the fork.
class Gate {
 public:
  Gate() {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) throw Error(ErrorCode::out_of_resources, "no pipe");
    out_ = Descriptor(ends[0]);
    in_ = Descriptor(ends[1]);
  }
  void open() { [[maybe_unused]] const ssize_t written = write(in_.number(), "x", 1); }
  /// Blocks until it was opened once more than it was waited for.
  void wait() {
    char byte = 0;
    while (read(out_.number(), &byte, 1) < 0) {
    }
  }

 private:
  Descriptor out_;
  Descriptor in_;
};

/// A job of forked processes for tests and benchmarks: their bootstrap is memory that they inherit.
class ForkJob {
 public:
  explicit ForkJob(std::uint32_t size, std::vector<std::string> hosts = {})
      : hosts_(hosts.empty() ? std::vector<std::string>(size, "here") : std::move(hosts)) {
    bytes_ = sizeof(Shared) + size * sizeof(Rank);
    void* const memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw Error(ErrorCode::out_of_resources, "no memory for a job");
    shared_ = new (memory) Shared;
    ranks_ = reinterpret_cast<Rank*>(shared_ + 1);
  }
  ForkJob(const ForkJob&) = delete;
  ForkJob& operator=(const ForkJob&) = delete;
  ~ForkJob() { munmap(shared_, bytes_); }

  std::uint32_t size() const { return static_cast<std::uint32_t>(hosts_.size()); }

  std::unique_ptr<Bootstrap> bootstrap(NodeId rank) { return std::make_unique<Member>(*this, rank); }

  /// Forks a process that runs `body` and ends with its result as exit code; an Error ends it with 99.
  pid_t start(NodeId rank, const std::function<int(std::unique_ptr<Bootstrap>)>& body) {
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child < 0) throw Error(ErrorCode::out_of_resources, "cannot fork");
    if (child > 0) return child;
    int code = 99;
    try {
      code = body(bootstrap(rank));
    } catch (const Error& error) {
      std::fprintf(stderr, "rank %u: %s\n", rank, error.what());
    }
    std::fflush(nullptr);
    _exit(code);
  }

  /// Waits for its end: the exit code, or minus the number of the signal that killed it.
  static int result_of(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  struct Value {
    std::array<char, 32> key;
    std::uint32_t size;
    std::array<std::byte, 4064> bytes;
  };
  struct Rank {
    std::array<Value, 8> values;
  };
  struct Shared {
    std::atomic<std::uint32_t> arrived{0};
    std::atomic<std::uint32_t> fences{0};
  };

  class Member final : public Bootstrap {
   public:
    Member(ForkJob& job, NodeId rank) : job_(job), rank_(rank) {}
    NodeId rank() const override { return rank_; }
    std::uint32_t size() const override { return job_.size(); }
    std::string_view host() const override { return job_.hosts_[rank_]; }
    void put(std::string_view key, ConstByteSpan value) override {
      for (Value& slot : job_.ranks_[rank_].values) {
        if (slot.size != 0 && key != slot.key.data()) continue;
        key.copy(slot.key.data(), slot.key.size() - 1);
        if (value.size() > slot.bytes.size()) break;
        std::memcpy(slot.bytes.data(), value.data(), value.size());
        slot.size = static_cast<std::uint32_t>(value.size());
        return;
      }
      throw Error(ErrorCode::out_of_resources, "no room for the value");
    }
    void fence() override {
      const std::uint32_t mine = job_.shared_->fences.load();
      if (job_.shared_->arrived.fetch_add(1) + 1 == size()) {
        job_.shared_->arrived.store(0);
        job_.shared_->fences.fetch_add(1);
      }
      while (job_.shared_->fences.load() == mine) sched_yield();
    }
    std::vector<std::byte> fetch(NodeId rank, std::string_view key) override {
      for (const Value& slot : job_.ranks_[rank].values) {
        if (slot.size != 0 && key == slot.key.data()) return {slot.bytes.begin(), slot.bytes.begin() + slot.size};
      }
      throw Error(ErrorCode::invalid_argument, "nothing under this key");
    }
    void abort(const Error&) noexcept override {}
    void finalize() override {}
    int failure_descriptor() const override { return -1; }
    std::vector<PeerLoss> lost_peers() override { return {}; }

   private:
    ForkJob& job_;
    NodeId rank_;
  };

  std::vector<std::string> hosts_;
  std::size_t bytes_;
  Shared* shared_;
  Rank* ranks_;
};

}  // namespace stretto::fabric
