#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "stretto/base/bytes.h"
#include "stretto/base/ids.h"

namespace stretto::fabric {

/// What a message is about. The layers above the fabric own the values; each registers its handler.
enum class MessageType : std::uint8_t {
  event_subscribe = 1,
  event_trigger,
  barrier_arrive,
  task_spawn,
  task_done,
  bulk_offer,
  bulk_fetched,
  collective_data,
  collective_ready,
  collective_failed,
  collective_hello,
  collective_grant,
  collective_done,
  collective_landed,
  collective_taken,
  collective_released,
  collective_held,
  collective_pull,
  collective_used,
  collective_whole_grant,
  test = 62,
  test_reply = 63,
};
inline constexpr std::size_t message_types = 64;

/// The most bytes of header and payload together that one message carries. More goes by put or get.
inline constexpr std::size_t max_message_bytes = 16 * 1024;
inline constexpr std::size_t max_header_bytes = 256;

/// A message as it is handed to its handler. The spans are valid until the handler returns.
struct Message {
  NodeId from;  ///< known by the connection that carried it, never read from the message
  MessageType type;
  ConstByteSpan header;
  ConstByteSpan payload;
};

/// Throws Error(bad_input): a message's header should have so many bytes.
[[noreturn]] void refuse_header(const Message& message, std::size_t expected);

/// Copies the header of a message into a trivially copyable struct, since shared memory may change under a
/// reader. Throws Error(bad_input) when the size is not exactly that of `Header`.
template <class Header>
Header read_header(const Message& message) {
  static_assert(std::is_trivially_copyable_v<Header> && sizeof(Header) <= max_header_bytes);
  if (message.header.size() != sizeof(Header)) refuse_header(message, sizeof(Header));
  Header header;
  std::memcpy(&header, message.header.data(), sizeof(Header));
  return header;
}

}  // namespace stretto::fabric
