#include "stretto/fabric/cluster/cluster_fabric.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "stretto/fabric/bootstrap/host_id.h"
#include "stretto/fabric/cluster/cluster_endpoint.h"
#include "stretto/fabric/cluster/host/host_transport.h"
#include "stretto/fabric/cluster/network/network_transport.h"
#include "stretto/fabric/cluster/occupancy.h"
#include "stretto/fabric/cluster/resting_memory.h"

namespace stretto::fabric {

namespace {

// Keys of the bootstrap's store.
constexpr std::string_view host_key = "cluster.host";
constexpr std::string_view machine_key = "cluster.machine";
constexpr std::string_view cores_key = "cluster.cores";
constexpr std::string_view tuning_key = "cluster.tuning";
constexpr std::string_view card_key = "cluster.card";
constexpr std::string_view network_key = "cluster.network";

// Of one core.
std::size_t second_level_cache_bytes() noexcept {
  constexpr std::size_t usual = std::size_t{1} << 20U;
  const long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return bytes > 0 ? static_cast<std::size_t>(bytes) : usual;
}

class ClusterFabric final : public Fabric {
 public:
  ClusterFabric(std::unique_ptr<Bootstrap> bootstrap, const ClusterOptions& options, Overflow* overflow)
      : bootstrap_(std::move(bootstrap)),
        context_(overflow),
        endpoint_(*bootstrap_, context_, std::make_unique<Segment>(options.segment_bytes, true)) {
    join(options);
    endpoint_.open();
    context_.set_poll([](void* endpoint) { return static_cast<ClusterEndpoint*>(endpoint)->progress(); }, &endpoint_);
  }

  std::string_view name() const override { return "cluster"; }
  std::span<Endpoint* const> endpoints() override { return {&only_, 1}; }
  std::uint32_t size() const override { return endpoint_.size(); }
  std::string host_of(NodeId node) const override { return hosts_.at(node); }
  Occupancy occupancy() const override { return occupancy_; }
  std::vector<std::string> networks_to(NodeId node) override {
    if (hosts_.at(node) == hosts_[endpoint_.self()]) return {"memory"};
    std::vector<std::string> networks;
    context_.enter([&] { networks = network_->networks(node); });
    return networks;
  }

  void close() override {
    if (std::exchange(closed_, true)) return;
    context_.enter([this] { endpoint_.close_ears(); });
    progress_until([this](bool) { return endpoint_.flushed(); });
    context_.enter([this] { endpoint_.leave(); });
    progress_until([this](bool moved) { return !moved && endpoint_.left(); });
    bootstrap_->finalize();
  }

 private:
  void join(const ClusterOptions& options) {
    const cluster::HostOptions host_options{options.ring_lines, options.peer_pointer, options.process_reads};
    auto host =
        std::make_unique<cluster::HostTransport>(endpoint_.self(), endpoint_.segment(), host_options, endpoint_.sink());
    const std::string_view own_host = bootstrap_->host();
    bootstrap_->put(host_key, std::as_bytes(std::span(own_host.data(), own_host.size())));
    const std::string machine = machine_id(own_host);
    bootstrap_->put(machine_key, std::as_bytes(std::span(machine)));
    const auto cores = static_cast<std::uint32_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
    bootstrap_->put(cores_key, bytes_of(cores));
    bootstrap_->put(tuning_key, bytes_of(options.tuning_digest));
    bootstrap_->put(card_key, host->address());
    bootstrap_->fence();
    require_one_tuning();
    hosts_ = published_texts(host_key);
    std::vector<NodeId> near;
    std::vector<NodeId> far;
    for (NodeId node = 0; node < size(); ++node) {
      if (node != endpoint_.self()) (hosts_[node] == own_host ? near : far).push_back(node);
    }
    occupancy_ = fullest_machine();
    endpoint_.segment().let_rest(cluster::resting_bytes(occupancy_, second_level_cache_bytes()));
    host->start(near, addresses(card_key));
    endpoint_.add_transport(std::move(host), near);
    // All nodes come to the same conclusion here: a job on one host never touches a network.
    if (std::any_of(hosts_.begin(), hosts_.end(), [this](const std::string& name) { return name != hosts_[0]; })) {
      join_other_hosts(far, options.network);
    }
  }

  std::vector<std::string> published_texts(std::string_view key) {
    std::vector<std::string> texts;
    for (const std::vector<std::byte>& bytes : bootstrap_->fetch_all(key)) {
      texts.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    return texts;
  }

  // A number that each node has published, or 0 where it is none.
  template <class Number>
  std::vector<Number> published_numbers(std::string_view key) {
    std::vector<Number> numbers;
    for (const std::vector<std::byte>& bytes : bootstrap_->fetch_all(key)) {
      Number number = 0;
      if (bytes.size() == sizeof number) std::memcpy(&number, bytes.data(), sizeof number);
      numbers.push_back(number);
    }
    return numbers;
  }

  // All nodes compare all, so that all come to the same conclusion.
  void require_one_tuning() {
    const auto digests = published_numbers<std::uint64_t>(tuning_key);
    for (NodeId node = 1; node < size(); ++node) {
      if (digests[node] == digests[0]) continue;
      throw Error(ErrorCode::mismatch, "nodes 0 and " + std::to_string(node) +
                                           " have different tuning tables, and would choose different schedules; give "
                                           "all nodes the same file by STRETTO_TUNING, or none");
    }
  }

  Occupancy fullest_machine() {
    const std::vector<std::string> machines = published_texts(machine_key);
    const auto cores = published_numbers<std::uint32_t>(cores_key);
    std::vector<cluster::Whereabouts> nodes;
    for (NodeId node = 0; node < size(); ++node) nodes.push_back({machines[node], cores[node]});
    return cluster::fullest_machine(nodes);
  }

  void join_other_hosts(std::span<const NodeId> far, std::string_view network) {
    auto transport = std::make_unique<cluster::NetworkTransport>(endpoint_.self(), endpoint_.sink(), network);
    bootstrap_->put(network_key, transport->address());
    bootstrap_->fence();
    transport->start(far, addresses(network_key));
    network_ = transport.get();
    endpoint_.add_transport(std::move(transport), far);
    network_->connect_all();
    await_connections();
    // So that nothing but greetings arrives at a node that is not complete.
    bootstrap_->fence();
  }

  void await_connections() {
    while (!network_->all_connected()) {
      const bool moved = network_->progress();
      endpoint_.throw_early_loss();
      if (moved) continue;
      if (!bootstrap_->lost_peers().empty()) return;  // the fence reports it
      if (!network_->arm(Alarm::none)) continue;
      std::array<pollfd, 2> sleep{{{network_->descriptor(), POLLIN, 0}, {bootstrap_->failure_descriptor(), POLLIN, 0}}};
      poll(sleep.data(), sleep.size(), -1);
      network_->disarm();
    }
  }

  cluster::Transport::AddressOf addresses(std::string_view key) {
    return [all = bootstrap_->fetch_all(key)](NodeId node) { return all[node]; };
  }

  // Sleeps where it has to wait for peers: one may be stopped for long.
  template <class Condition>
  void progress_until(Condition condition) {
    for (;;) {
      bool moved = false;
      bool reached = false;
      context_.enter([&] {
        moved = endpoint_.progress();
        reached = condition(moved);
      });
      if (reached) return;
      if (moved || !endpoint_.arm(Alarm::none)) continue;
      pollfd sleep{endpoint_.descriptor(), POLLIN, 0};
      poll(&sleep, 1, -1);
      endpoint_.disarm();
    }
  }

  std::unique_ptr<Bootstrap> bootstrap_;
  Context context_;
  ClusterEndpoint endpoint_;
  Endpoint* only_ = &endpoint_;
  std::vector<std::string> hosts_;
  cluster::NetworkTransport* network_ = nullptr;  // the endpoint's; null where the job has one host
  Occupancy occupancy_;
  bool closed_ = false;
};

}  // namespace

std::unique_ptr<Fabric> make_cluster_fabric(std::unique_ptr<Bootstrap> bootstrap, const ClusterOptions& options,
                                            Overflow* overflow) {
  return std::make_unique<ClusterFabric>(std::move(bootstrap), options, overflow);
}

}  // namespace stretto::fabric
