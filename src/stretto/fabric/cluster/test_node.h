#pragma once

#include <poll.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "stretto/fabric/bootstrap/in_process.h"
#include "stretto/fabric/cluster/cluster_fabric.h"

namespace stretto::fabric {

/// For tests: a node of a cluster job that writes down what it hears.
class TestNode final : private MessageHandler, private EndpointObserver {
 public:
  struct Received {
    NodeId from;
    std::vector<std::byte> header;
    std::vector<std::byte> payload;
  };

  explicit TestNode(std::unique_ptr<Bootstrap> bootstrap, const ClusterOptions& options = small())
      : fabric_(make_cluster_fabric(std::move(bootstrap), options, nullptr)), endpoint_(*fabric_->endpoints()[0]) {
    endpoint_.set_handler(MessageType::test, *this);
    endpoint_.add_observer(*this);
  }

  static ClusterOptions small() {
    ClusterOptions options;
    options.segment_bytes = std::size_t{64} << 20U;
    return options;
  }

  Endpoint& endpoint() { return endpoint_; }
  Fabric& fabric() { return *fabric_; }
  void close() { fabric_->close(); }

  /// Runs `function(endpoint)` under the baton.
  template <class Function>
  void with(Function function) {
    endpoint_.context().enter([&] { function(endpoint_); });
  }
  void send(NodeId to, ConstByteSpan payload, ConstByteSpan header = {}) {
    with([&](Endpoint& endpoint) { endpoint.send(to, MessageType::test, header, payload); });
  }

  bool serve() { return endpoint_.context().serve(); }
  /// Serves until `done()`, asleep where there is nothing to do.
  template <class Done>
  void serve_until(Done done) {
    while (!done()) {
      if (!serve() && !done()) sleep();
    }
  }
  /// Sleeps as an engine does; returns whether it slept at all.
  bool sleep() {
    if (!endpoint_.arm(Alarm::none)) return false;
    pollfd query{endpoint_.descriptor(), POLLIN, 0};
    poll(&query, 1, -1);
    endpoint_.disarm();
    return true;
  }

  std::vector<Received> messages;
  std::vector<std::pair<NodeId, Notification>> notifications;
  std::map<NodeId, Error> lost;
  std::set<NodeId> ended;
  std::function<void(const Message&)> when_message;

 private:
  void on_message(const Message& message) override {
    messages.push_back({message.from,
                        {message.header.begin(), message.header.end()},
                        {message.payload.begin(), message.payload.end()}});
    if (when_message) when_message(message);
  }
  void on_notification(NodeId from, Notification notification) override {
    notifications.emplace_back(from, notification);
  }
  void on_peer_lost(NodeId peer, const Error& cause) override { lost.emplace(peer, cause); }
  void on_peer_ended(NodeId peer) override { ended.insert(peer); }

  std::unique_ptr<Fabric> fabric_;
  Endpoint& endpoint_;
};

/// For tests: counts how often it fired.
class TestCompletion final : public Completion {
 public:
  void complete(bool was_lost) noexcept override {
    ++fired;
    lost = was_lost;
  }
  int fired = 0;
  bool lost = false;
};

/// For tests: a whole job in this process, driven by one thread.
class TestJob {
 public:
  explicit TestJob(std::uint32_t size, const ClusterOptions& options = TestNode::small()) : nodes(size) {
    std::vector<std::unique_ptr<Bootstrap>> bootstraps = make_in_process_job(size);
    std::vector<std::thread> starters;  // starting is collective
    for (NodeId node = 0; node < size; ++node) {
      starters.emplace_back([this, node, &options, bootstrap = std::move(bootstraps[node])]() mutable {
        nodes[node] = std::make_unique<TestNode>(std::move(bootstrap), options);
      });
    }
    for (std::thread& starter : starters) starter.join();
  }

  TestNode& operator[](NodeId node) { return *nodes[node]; }

  bool serve() {
    bool happened = false;
    for (const auto& node : nodes) happened |= node != nullptr && node->serve();
    return happened;
  }
  template <class Done>
  void serve_until(Done done) {
    while (!done()) serve();
  }
  /// Serves for long enough that all news have arrived, also those that only descriptors tell.
  void settle() {
    for (int quiet = 0; quiet < 3; ++quiet) {
      for (const auto& node : nodes) {
        if (node != nullptr && node->endpoint().arm(Alarm::none)) node->endpoint().disarm();
      }
      while (serve()) {
      }
    }
  }

  std::vector<std::unique_ptr<TestNode>> nodes;
};

}  // namespace stretto::fabric
