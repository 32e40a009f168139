#pragma once

#include <optional>
#include <span>

#include "stretto/base/descriptor.h"
#include "stretto/fabric/bootstrap/handshake.h"
#include "stretto/fabric/bootstrap/message.h"

namespace stretto::fabric {

/// The connection of a rank, or of a host's agent, to the launcher: proves itself, then carries messages.
///
/// Owned by whoever joined; one thread at a time. The other side is trusted only after its proof, and even then every
/// message is decoded with bounds. Every call throws Error(peer_lost) when the launcher is gone, and Error(bad_input)
/// with the launcher's words when it rejected us.
class MemberChannel {
 public:
  /// Joins over a connected, blocking stream; returns when admitted. Error(bad_input): the other side can't prove that
  /// it is the launcher of this job, or speaks another protocol. Error(io): no answer within launcher_patience.
  MemberChannel(Descriptor socket, const JobSecret& secret, Role role, std::uint32_t number, std::uint32_t size);

  void send(const Message& message) { send(std::span(&message, 1)); }
  void send(std::span<const Message> messages);
  /// Waits for the next message.
  Message receive();
  /// The next message if it has come already.
  std::optional<Message> poll();
  /// The next message that was read along with an earlier one: the descriptor does not tell of those any more.
  std::optional<Message> buffered();

  int descriptor() const { return socket_.number(); }
  void close() { socket_.reset(); }

 private:
  Message receive_patiently();
  /// Reads once; false when nothing was there and `wait` is not set.
  bool read_some(bool wait);

  Descriptor socket_;
  FrameDecoder decoder_{max_stranger_frame};
};

}  // namespace stretto::fabric
