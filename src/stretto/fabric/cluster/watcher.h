#pragma once

#include <cstdint>
#include <span>

#include "stretto/base/descriptor.h"

namespace stretto::fabric::cluster {

/// An epoll set whose members go by a tag of the caller's. Readable itself when a member is; level-triggered.
class Watcher {
 public:
  /// Throws Error(out_of_resources).
  Watcher();

  /// Throws Error(out_of_resources). A closed descriptor leaves by itself, unless it was passed on or duplicated.
  void add(int descriptor, std::uint64_t tag);
  void remove(int descriptor) noexcept;

  /// Writes the tags of members that are readable (or closed at their other end) to `tags`, as many as fit, and
  /// returns how many. Waits for the first one at most `timeout_ms`; for ever when negative.
  std::size_t wait(std::span<std::uint64_t> tags, int timeout_ms) const;

  int descriptor() const noexcept { return set_.number(); }

 private:
  Descriptor set_;
};

}  // namespace stretto::fabric::cluster
