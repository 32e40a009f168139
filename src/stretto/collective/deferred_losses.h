#pragma once

#include <string>
#include <utility>
#include <vector>

#include "stretto/base/error.h"
#include "stretto/fabric/endpoint.h"
#include "stretto/fabric/item.h"

namespace stretto {

/// Peers that could not be sent what they wait for. They are declared lost when nobody is in the middle of a call: who
/// hears of a loss may be the one who is just telling of a failure. To note one takes no memory. Under the baton.
class DeferredLosses : private fabric::Item {
 public:
  explicit DeferredLosses(fabric::Endpoint& endpoint)
      : Item(&DeferredLosses::lose_all), endpoint_(endpoint), is_due_(endpoint.size()) {}
  DeferredLosses(const DeferredLosses&) = delete;
  DeferredLosses& operator=(const DeferredLosses&) = delete;

  void add(NodeId peer) noexcept {
    is_due_[peer] = true;
    if (!std::exchange(is_posted_, true)) endpoint_.context().post(this);
  }

 private:
  static void lose_all(Item* item) noexcept {
    auto& self = *static_cast<DeferredLosses*>(item);
    self.is_posted_ = false;
    for (NodeId peer = 0; peer < self.is_due_.size(); ++peer) {
      if (!self.is_due_[peer]) continue;
      self.is_due_[peer] = false;
      self.endpoint_.lose(peer, Error(ErrorCode::out_of_resources,
                                      "no memory to tell node " + std::to_string(peer) + " what it waits for"));
    }
  }

  fabric::Endpoint& endpoint_;
  std::vector<bool> is_due_;  // by node
  bool is_posted_ = false;
};

}  // namespace stretto
