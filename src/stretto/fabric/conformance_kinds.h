#pragma once

#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "stretto/fabric/bootstrap/in_process.h"
#include "stretto/fabric/cluster/cluster_fabric.h"
#include "stretto/fabric/conformance.h"
#include "stretto/fabric/local/local_fabric.h"
#include "stretto/fabric/sim/sim_fabric.h"

/// For tests: the fabrics that must pass conformance_test.cc. A new one is a Job and a line in `kinds`.
namespace stretto::fabric::conformance {

/// Driven by the test's thread alone.
class LocalJob final : public Job {
 public:
  explicit LocalJob(const LocalOptions& options) : fabric_(options, nullptr) {}
  std::span<Endpoint* const> endpoints() override { return fabric_.endpoints(); }
  bool step() override {
    bool happened = false;
    for (Endpoint* const endpoint : fabric_.endpoints()) happened |= endpoint->context().serve();
    return happened;
  }

 private:
  LocalFabric fabric_;
};

/// Driven by the test's thread and another one that takes over what is too much for it.
class ThreadedLocalJob final : public Job {
 public:
  explicit ThreadedLocalJob(const LocalOptions& options) : fabric_(options, &thread_) {}
  std::span<Endpoint* const> endpoints() override { return fabric_.endpoints(); }
  bool step() override { return patience_.after(false); }

 private:
  ServingThread thread_;
  LocalFabric fabric_;
  Patience patience_;
};

class SimJob final : public Job {
 public:
  explicit SimJob(const SimOptions& options) : fabric_(options) {}
  std::span<Endpoint* const> endpoints() override { return fabric_.endpoints(); }
  bool step() override { return fabric_.timeline().step(); }

 private:
  SimFabric fabric_;
};

/// A fabric for each node, as if it were a process, each served in turn.
class ClusterJob final : public Job {
 public:
  ClusterJob(std::uint32_t nodes, const ClusterOptions& options) : fabrics_(nodes) {
    auto bootstraps = make_in_process_job(nodes);
    std::vector<std::thread> starters;  // starting is collective
    for (NodeId node = 0; node < nodes; ++node) {
      starters.emplace_back([this, node, &options, bootstrap = std::move(bootstraps[node])]() mutable {
        fabrics_[node] = make_cluster_fabric(std::move(bootstrap), options, nullptr);
      });
    }
    for (std::thread& starter : starters) starter.join();
    for (const auto& fabric : fabrics_) endpoints_.push_back(fabric->endpoints().front());
  }
  ~ClusterJob() override {
    std::vector<std::thread> leavers;  // so is leaving
    for (const auto& fabric : fabrics_) leavers.emplace_back([&fabric] { fabric->close(); });
    for (std::thread& leaver : leavers) leaver.join();
  }
  std::span<Endpoint* const> endpoints() override { return endpoints_; }
  bool step() override {
    bool happened = false;
    for (Endpoint* const endpoint : endpoints_) happened |= endpoint->context().serve();
    return patience_.after(happened);
  }

 private:
  std::vector<std::unique_ptr<Fabric>> fabrics_;
  std::vector<Endpoint*> endpoints_;
  Patience patience_;
};

inline LocalOptions local_options(std::uint32_t nodes, std::size_t segment_bytes, Reach reach) {
  return {.nodes = nodes, .reach = reach, .segment_bytes = segment_bytes};
}

inline ClusterOptions cluster_options(std::size_t segment_bytes, bool peer_pointer) {
  ClusterOptions options;
  options.segment_bytes = segment_bytes;
  options.peer_pointer = peer_pointer;
  options.process_reads = cluster::ProcessReads::on;
  return options;
}

inline SimOptions sim_options(std::uint32_t nodes, std::size_t segment_bytes) {
  SimOptions options;
  options.nodes = nodes;
  options.segment_bytes = segment_bytes;
  return options;
}

inline SimOptions disordered(SimOptions options) {
  options.seed = 5;
  options.jitter = 3e-6;
  options.reorder = 0.3;
  options.delay_probability = 0.1;
  options.delay = 50e-6;
  return options;
}

inline SimOptions looked_for(SimOptions options) {
  options.early = 0.5;
  return options;
}

inline const Kind kinds[] = {
    {"local",
     [](auto nodes, auto bytes) { return std::make_unique<LocalJob>(local_options(nodes, bytes, Reach::everything)); }},
    {"local_without_peer_pointer",
     [](auto nodes, auto bytes) { return std::make_unique<LocalJob>(local_options(nodes, bytes, Reach::messages)); }},
    {"local_segments",
     [](auto nodes, auto bytes) { return std::make_unique<LocalJob>(local_options(nodes, bytes, Reach::segments)); }},
    {"local_reads",
     [](auto nodes, auto bytes) { return std::make_unique<LocalJob>(local_options(nodes, bytes, Reach::reads)); }},
    {"local_with_threads",
     [](auto nodes, auto bytes) {
       return std::make_unique<ThreadedLocalJob>(local_options(nodes, bytes, Reach::everything));
     }},
    {"sim", [](auto nodes, auto bytes) { return std::make_unique<SimJob>(sim_options(nodes, bytes)); }},
    {"sim_disordered",
     [](auto nodes, auto bytes) { return std::make_unique<SimJob>(disordered(sim_options(nodes, bytes))); }},
    {"sim_segments",
     [](auto nodes, auto bytes) {
       SimOptions options = disordered(sim_options(nodes, bytes));
       options.reach = Reach::segments;
       return std::make_unique<SimJob>(options);
     }},
    {"sim_early",
     [](auto nodes, auto bytes) {
       return std::make_unique<SimJob>(looked_for(disordered(sim_options(nodes, bytes))));
     }},
    {"cluster",
     [](auto nodes, auto bytes) { return std::make_unique<ClusterJob>(nodes, cluster_options(bytes, true)); }},
    {"cluster_without_peer_pointer",
     [](auto nodes, auto bytes) { return std::make_unique<ClusterJob>(nodes, cluster_options(bytes, false)); }},
};

}  // namespace stretto::fabric::conformance
