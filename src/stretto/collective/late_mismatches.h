#pragma once

#include <string>

#include "stretto/base/bytes.h"
#include "stretto/collective/stream.h"
#include "stretto/collective/wire.h"
#include "stretto/core/cause.h"
#include "stretto/core/node.h"

namespace stretto {

/// Disagreements about calls that are over at this node: who only gives is through before it could hear of them. They
/// are told in the log, once a call. Under the node's baton.
class LateMismatches {
 public:
  explicit LateMismatches(const Node& node) noexcept : node_(node) {}

  /// This node's part has failed, and whoever waits for that hears of it, or nobody does.
  void note_failure(const Identity& identity, const Cause& cause, bool is_heard);
  /// A member speaks of another call than `ours`. Returns what that member is to be told.
  Cause note(const Stream::Past& ours, NodeId from, const CallHeader& theirs);
  /// A member's part has failed; null: ours is long over.
  void note(const Stream::Past* ours, const FailedHeader& header, ConstByteSpan text);

 private:
  void report(const Identity& identity, const std::string& text);
  std::string describe(const Stream::Past& ours) const;

  const Node& node_;
  Identity last_{};  // that was heard of
};

}  // namespace stretto
