#include "stretto/fabric/cluster/tcp/packets.h"

#include <algorithm>

namespace stretto::fabric::cluster::network {

std::span<iovec> Packets::next() noexcept {
  const std::size_t most = most_bytes - open_.bytes;
  std::size_t count = 0;
  bytes_ = 0;
  while (!left_.empty() && count < packet_.size() && bytes_ < most) {
    const iovec& piece = left_.front();
    const std::size_t taken = std::min(piece.iov_len - taken_, most - bytes_);
    if (taken > 0) packet_[count++] = {static_cast<char*>(piece.iov_base) + taken_, taken};
    bytes_ += taken;
    taken_ += taken;
    if (taken_ < piece.iov_len) continue;
    left_ = left_.subspan(1);
    taken_ = 0;
  }
  return std::span(packet_).first(count);
}

}  // namespace stretto::fabric::cluster::network
