#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "stretto/base/ids.h"
#include "stretto/core/operations.h"

namespace stretto {

class Node;

/// What one look finds at a node, at most `most_told` sentences and how many more there are. Any thread that serves no
/// context.
std::vector<std::string> stalled_at(Node& node, Operations::Which which);
inline constexpr std::size_t most_told = 8;

/// Looks once in a while whether something at the nodes of this process waits for long, and has it told. A thread of
/// its own, asleep between looks.
class StallWatch {
 public:
  using Tell = std::function<void(NodeId, const std::string&)>;

  /// Looks every `seconds`. Throws Error(out_of_resources) where its thread cannot be started. REQUIRES: the nodes
  /// outlive the watch.
  StallWatch(std::span<const std::unique_ptr<Node>> nodes, double seconds, Tell tell);
  ~StallWatch();
  StallWatch(const StallWatch&) = delete;
  StallWatch& operator=(const StallWatch&) = delete;

 private:
  void watch();

  std::span<const std::unique_ptr<Node>> nodes_;
  double seconds_;
  Tell tell_;
  std::mutex mutex_;
  std::condition_variable ends_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace stretto
