#include "stretto/core/stall_watch.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "stretto/core/node.h"
#include "stretto/core/start_thread.h"

namespace stretto {

std::vector<std::string> stalled_at(Node& node, Operations::Which which) {
  std::vector<std::string> sentences;
  node.endpoint().context().enter([&] {
    for (Operations* const part : node.operations()) part->look(which, sentences);
  });
  if (sentences.size() <= most_told) return sentences;
  const std::size_t more = sentences.size() - most_told;
  sentences.resize(most_told);
  sentences.push_back("and " + std::to_string(more) + " more");
  return sentences;
}

namespace {
constexpr double longest_seconds = 1e9;  // thirty years, which the clock can count
}

StallWatch::StallWatch(std::span<const std::unique_ptr<Node>> nodes, double seconds, Tell tell)
    : nodes_(nodes), seconds_(std::min(seconds, longest_seconds)), tell_(std::move(tell)) {
  thread_ = start_thread("the thread that watches for what waits for long", "do without it (STRETTO_STALL_SECONDS=0)",
                         [this] { watch(); });
}

StallWatch::~StallWatch() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  ends_.notify_one();
  thread_.join();
}

void StallWatch::watch() {
  std::unique_lock lock(mutex_);
  while (!ends_.wait_for(lock, std::chrono::duration<double>(seconds_), [this] { return over_; })) {
    for (const std::unique_ptr<Node>& node : nodes_) {
      for (const std::string& sentence : stalled_at(*node, Operations::Which::since_last_look)) {
        tell_(node->id(), sentence);
      }
    }
  }
}

}  // namespace stretto
