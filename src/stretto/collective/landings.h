#pragma once

#include <cstdint>
#include <map>

namespace stretto {

class CollectiveOperation;

/// The names of large receives over wires, by which their senders notify pieces. Under the node's baton.
class Landings {
 public:
  struct Landing {
    CollectiveOperation* operation;
    std::uint32_t step;
  };

  /// A name that none had before.
  std::uint64_t add(CollectiveOperation& operation, std::uint32_t step) {
    landings_.emplace(next_, Landing{&operation, step});
    return next_++;
  }
  void forget(std::uint64_t name) { landings_.erase(name); }
  /// Null: there is none of that name, or none any more.
  const Landing* find(std::uint64_t name) const {
    const auto found = landings_.find(name);
    return found == landings_.end() ? nullptr : &found->second;
  }

 private:
  std::map<std::uint64_t, Landing> landings_;
  std::uint64_t next_ = 1;
};

}  // namespace stretto
