#pragma once

#include <cstddef>

namespace stretto::fabric {

/// What is known of a message that is looked for. Hints: any other message may come.
struct Awaited {
  std::size_t bytes = 0;  ///< of header and payload
  /// Whether it is likely to be on its way, as where two nodes send to each other; or it is not waited for now.
  bool is_due = false;
};

}  // namespace stretto::fabric
