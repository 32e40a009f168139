#include "stretto/fabric/cluster/host/edge.h"

#include "stretto/base/finish_look.h"

namespace stretto::fabric::cluster {

namespace {

constexpr auto other_ring = static_cast<std::uint8_t>(OwnKind::other_ring);

// Some microseconds: as long as a reader that runs takes for what makes room, and less than to wake one.
constexpr unsigned most_looks_for_room = 100;
// What an empty short ring has room for at all times (see credit_batch), but for the line that it keeps back.
constexpr std::uint32_t most_short_lines = short_ring_lines - credit_batch(short_ring_lines) - 1;
// How long the long ring is stayed in, so that its reader shows whether it keeps up.
constexpr std::uint64_t least_long_lines = 256;

}  // namespace

void EdgeWriter::wait_for_room(std::size_t lines) noexcept {
  if (is_in_long_ || lines > most_short_lines) return;
  for (unsigned look = 0; look < most_looks_for_room && !short_.has_room(lines); ++look) finish_look();
}

bool EdgeWriter::try_write_otherwise(std::uint8_t kind, ConstByteSpan header, ConstByteSpan payload) noexcept {
  if (is_in_long_) {
    const bool fits = lines_of(header.size() + payload.size()) <= most_short_lines;
    if (!fits || !is_kept_up_with() || !long_.try_write(other_ring, {}, {})) {
      return long_.try_write(kind, header, payload);
    }
    is_in_long_ = false;
    return short_.try_write(kind, header, payload);
  }
  short_.write_in_reserve(other_ring);
  is_in_long_ = true;
  entered_ = long_.position();
  return long_.try_write(kind, header, payload);
}

bool EdgeWriter::is_kept_up_with() const noexcept {
  return long_.position() - entered_ >= least_long_lines && long_.unread() <= credit_batch(long_.lines());
}

}  // namespace stretto::fabric::cluster
