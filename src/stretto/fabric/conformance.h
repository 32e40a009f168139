#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "stretto/base/random.h"
#include "stretto/fabric/endpoint.h"
#include "stretto/fabric/overflow.h"

/// For tests: what every fabric must do, asked of a whole job that lives in this process (conformance_test.cc).
namespace stretto::fabric::conformance {

/// A job under test, and how its fabric is driven.
class Job {
 public:
  virtual ~Job() = default;
  /// One per node, in order of their ids.
  virtual std::span<Endpoint* const> endpoints() = 0;
  /// Lets something happen. False: nothing can happen any more (or, in real time, nothing has for very long).
  virtual bool step() = 0;
};

/// How to make one: `nodes` nodes with segments of `segment_bytes`.
struct Kind {
  std::string_view name;
  std::function<std::unique_ptr<Job>(std::uint32_t nodes, std::size_t segment_bytes)> make;
};

/// For jobs in real time: tells a lull from the end.
class Patience {
 public:
  /// Returns false once nothing has happened for a time that no working fabric needs.
  bool after(bool something_happened) {
    if (something_happened) {
      since_ = std::chrono::steady_clock::now();
    } else {
      std::this_thread::yield();
    }
    return std::chrono::steady_clock::now() - since_ < std::chrono::seconds(60);
  }

 private:
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
};

/// A thread that serves the contexts handed over to it.
class ServingThread final : public Overflow {
 public:
  ServingThread() : thread_([this] { work(); }) {}
  ~ServingThread() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }

  void hand_over(Context& context) noexcept override {
    {
      const std::lock_guard lock(mutex_);
      contexts_.push_back(&context);
      ++handed_over_;
    }
    changed_.notify_one();
  }

  std::size_t handed_over() {
    const std::lock_guard lock(mutex_);
    return handed_over_;
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return stopping_ || !contexts_.empty(); });
      if (contexts_.empty()) return;
      const std::vector<Context*> contexts = std::exchange(contexts_, {});
      lock.unlock();
      for (Context* const context : contexts) context->serve();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Context*> contexts_;
  std::size_t handed_over_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

/// Writes down what a node hears. Touched under its baton only.
class Recorder final : public MessageHandler, public EndpointObserver {
 public:
  struct Received {
    NodeId from;
    MessageType type;
    std::vector<std::byte> header;
    std::vector<std::byte> payload;
  };

  explicit Recorder(Endpoint& endpoint) {
    endpoint.set_handler(MessageType::test, *this);
    endpoint.add_observer(*this);
  }

  void on_message(const Message& message) override {
    if (check) check(message);
    messages.push_back({message.from,
                        message.type,
                        {message.header.begin(), message.header.end()},
                        {message.payload.begin(), message.payload.end()}});
  }
  void on_notification(NodeId from, Notification notification) override {
    if (when_notified) when_notified(notification);
    notifications.emplace_back(from, notification);
  }
  void on_peer_lost(NodeId peer, const Error& cause) override { lost.emplace(peer, cause); }

  std::function<void(const Message&)> check;
  std::function<void(Notification)> when_notified;
  std::vector<Received> messages;
  std::vector<std::pair<NodeId, Notification>> notifications;
  std::multimap<NodeId, Error> lost;
};

/// Counts messages with one header, and hands on all others.
class Picker final : public MessageHandler {
 public:
  Picker(Endpoint& endpoint, std::vector<std::byte> header) : endpoint_(endpoint), header_(std::move(header)) {}

  void on_message(const Message& message) override {
    if (std::equal(header_.begin(), header_.end(), message.header.begin(), message.header.end())) {
      ++picked;
    } else {
      endpoint_.deliver(message);
    }
  }

  std::size_t picked = 0;

 private:
  Endpoint& endpoint_;
  std::vector<std::byte> header_;
};

/// Counts how often it fired.
class CountingCompletion final : public Completion {
 public:
  void complete(bool was_lost) noexcept override {
    ++fired;
    lost = was_lost;
  }
  int fired = 0;
  bool lost = false;
};

inline std::vector<std::byte> random_bytes(Random& random, std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

}  // namespace stretto::fabric::conformance
