#include "stretto/fabric/cluster/host/edge.h"

#include "stretto/base/finish_look.h"

namespace stretto::fabric::cluster {

namespace {

constexpr auto other_ring = static_cast<std::uint8_t>(OwnKind::other_ring);

// About a microsecond: as long as a reader that runs takes for what makes room, and less than to wake one.
constexpr unsigned most_looks_for_room = 100;
// What an empty short ring has room for at all times (see credit_batch), but for the line that it keeps back.
constexpr std::uint32_t most_short_lines(std::uint32_t ring_lines) noexcept {
  return ring_lines - credit_batch(ring_lines) - 1;
}

}  // namespace

void EdgeWriter::wait_for_room(std::size_t lines) noexcept {
  if (is_in_long_ || lines > most_short_lines(short_.lines())) return;
  for (unsigned look = 0; look < most_looks_for_room && !short_.has_room(lines); ++look) finish_look();
}

bool EdgeWriter::try_write_otherwise(std::uint8_t kind, ConstByteSpan header, ConstByteSpan payload) noexcept {
  if (is_in_long_) {
    const std::size_t lines = lines_of(header.size() + payload.size());
    // Room for it means that the line that is kept back is free again, too.
    if (!is_kept_up_with() || !short_.has_room(lines) || !long_.try_write(other_ring, {}, {})) {
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

// The reader says each batch how far it is: it has said so since the long ring was entered, and is one behind at most.
bool EdgeWriter::is_kept_up_with() const noexcept {
  const std::uint32_t batch = credit_batch(long_.lines());
  return long_.position() - entered_ >= 2 * batch && long_.unread() <= batch;
}

}  // namespace stretto::fabric::cluster
