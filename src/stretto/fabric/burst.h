#pragma once

#include "stretto/fabric/endpoint.h"

namespace stretto::fabric {

/// Several messages that are sent one after the other. Under the baton; bursts are not nested, and their sender waits
/// for nobody meanwhile.
class Burst {
 public:
  explicit Burst(Endpoint& endpoint) noexcept : endpoint_(endpoint) { endpoint_.begin_burst(); }
  Burst(const Burst&) = delete;
  Burst& operator=(const Burst&) = delete;
  ~Burst() { endpoint_.end_burst(); }

 private:
  Endpoint& endpoint_;
};

}  // namespace stretto::fabric
