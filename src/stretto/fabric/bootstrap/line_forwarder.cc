#include "stretto/fabric/bootstrap/line_forwarder.h"

#include <algorithm>
#include <utility>

namespace stretto::fabric {

std::string LineForwarder::feed(std::string_view piece) {
  std::string out;
  while (!piece.empty()) {
    const std::size_t end = std::min(piece.find('\n'), piece.size() - 1) + 1;
    const std::size_t room = max_line_bytes - line_.size();
    const std::size_t taken = std::min(end, room);
    line_ += piece.substr(0, taken);
    piece.remove_prefix(taken);
    if (line_.back() != '\n' && line_.size() < max_line_bytes) continue;
    out += tag_ + line_;
    if (!tag_.empty() && line_.back() != '\n') out += '\n';
    line_.clear();
  }
  return out;
}

std::string LineForwarder::finish() {
  if (line_.empty()) return {};
  return tag_ + std::exchange(line_, {}) + (tag_.empty() ? "" : "\n");
}

}  // namespace stretto::fabric
