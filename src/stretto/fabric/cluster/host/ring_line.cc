#include "stretto/fabric/cluster/host/ring_line.h"

#include "stretto/fabric/endpoint.h"

namespace stretto::fabric::cluster {

namespace {

struct Sizes {
  std::size_t header;
  bool payload;
};

// What a kind of the transport's own must look like.
constexpr Sizes sizes_of(OwnKind kind) noexcept {
  switch (kind) {
    case OwnKind::notification: return {sizeof(Notification), false};
    case OwnKind::put_piece: return {sizeof(PutPieceHeader), true};
    case OwnKind::get_request: return {sizeof(GetRequestHeader), false};
    case OwnKind::get_piece: return {sizeof(GetPieceHeader), true};
    case OwnKind::multicast_begin: return {sizeof(MulticastHeader), false};
    case OwnKind::multicast_end:
    case OwnKind::other_ring: return {0, false};
  }
  return {0, false};
}

}  // namespace

std::string_view fault_of(LineHead head) noexcept {
  if (head.kind == no_kind || head.kind >= end_of_kinds) return "its kind is unknown";
  if (head.header_bytes > max_header_bytes) return "its header is too long";
  if (head.bytes() > max_message_bytes) return "it is too long";
  if (head.kind < first_own_kind) return {};
  const Sizes sizes = sizes_of(static_cast<OwnKind>(head.kind));
  if (head.header_bytes != sizes.header) return "its header has the wrong length";
  if (head.payload_bytes != 0 && !sizes.payload) return "it has a payload where none belongs";
  return {};
}

}  // namespace stretto::fabric::cluster
