#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/base/bytes.h"
#include "stretto/fabric/alarm.h"

namespace stretto::fabric::cluster::network {

/// A carrier's end of a connection. Compared here, and given back to the carrier, nothing else.
class Connection;

/// The most bytes of a put or get that one frame carries.
inline constexpr std::size_t most_piece_bytes = std::size_t{64} * 1024;

/// What hears of frames, from inside `Carrier::progress`. It may send and connect from inside; it must neither close
/// nor progress.
class FrameSink {
 public:
  virtual ~FrameSink() = default;

  /// Where the data of a frame belong that is arriving on `from`, all `bytes` of them; empty: nowhere in particular, or
  /// nowhere any more. A carrier that can put data there before the frame is whole asks each time that it does, and
  /// hands the frame over with its data there.
  virtual ByteSpan place_for(Connection* /*from*/, ConstByteSpan /*header*/, std::size_t /*bytes*/) noexcept {
    return {};
  }
  /// A frame arrived on `from`; the spans are valid during the call. `from` is null when the sender withheld it, and
  /// unknown when the other end made it: `connect` to that end then returns it.
  virtual void on_frame(Connection* from, ConstByteSpan header, ConstByteSpan data) noexcept = 0;
  /// What arrived on `from` can't be a frame of Stretto's.
  virtual void on_no_frame(Connection* from, const char* why) noexcept = 0;
};

/// A frame on its way.
class Sending {
 public:
  virtual ~Sending() = default;
  /// The frame has left, or never will: its memory is free again. From inside `Carrier::progress`, `arm`, `let_flow`
  /// or `close`.
  virtual void sent() noexcept = 0;
};

/// Whoever made a connection.
class ConnectionOwner {
 public:
  virtual ~ConnectionOwner() = default;
  /// The connection is dead; it must still be closed, but not from inside this call. From where frames are `sent`.
  virtual void failed(const char* why) noexcept = 0;
};

/// Moves frames between this process and others of other hosts, over a network, and notices when one of them dies. It
/// knows bytes, not what they mean.
///
/// Owned by a NetworkTransport; all calls but `disarm` under the node's baton. The owner closes its connections, and
/// progresses until its frames came back, before it destroys the carrier.
class Carrier {
 public:
  Carrier() = default;
  virtual ~Carrier() = default;
  Carrier(const Carrier&) = delete;
  Carrier& operator=(const Carrier&) = delete;

  /// What other processes `connect` to.
  virtual std::vector<std::byte> address() const = 0;
  /// Tells how many processes will connect: of more that do, the rest are strangers.
  virtual void expect(std::size_t processes) = 0;

  /// Begins a connection; never waits. Connections that both ends begin become one. Throws Error(peer_lost) when it
  /// can't begin, Error(bad_input) for what is no address. REQUIRES: at most one connection to an address, ever.
  virtual Connection* connect(ConstByteSpan address, ConnectionOwner& owner) = 0;
  /// Lets go of a connection at once. Frames that had not left are `sent`, here or in `progress`.
  virtual void close(Connection* connection) = 0;

  /// How many bytes of a put or get go best into one frame. Small frames may overtake between two pieces.
  virtual std::size_t piece_bytes() const noexcept { return most_piece_bytes; }

  /// Sends only if no memory of the caller's is needed after the call; returns whether it did.
  virtual bool try_send(Connection* to, ConstByteSpan header, ConstByteSpan data) = 0;
  /// Sends; returns whether the frame has left. If not, header and data must stay as they are until `sending.sent()`,
  /// which is called in no other case. Throws Error(peer_lost), naming the reason.
  virtual bool send(Connection* to, ConstByteSpan header, ConstByteSpan data, Sending& sending) = 0;

  /// Throws Error(out_of_resources) where an expected process connects and there is no descriptor for it.
  virtual bool progress() = 0;
  virtual int descriptor() const noexcept = 0;
  /// See Transport::arm.
  virtual bool arm(Alarm alarm) = 0;
  /// See Transport::disarm. Any thread.
  virtual void disarm() noexcept {}
  /// See Endpoint.
  virtual bool let_flow() { return false; }
  /// Whether all that was sent has left this process. Where it has not, later calls, with progress between, say true.
  virtual bool flush() = 0;

  /// The networks that a connection's frames travel on, such as "tcp/eth0": empty until that is known.
  virtual std::vector<std::string> networks(Connection* connection) const = 0;
};

/// Throws Error(invalid_argument) for what names no network: "tcp" (over any interface), "tcp/eth0" (over that one) and
/// "ucx" do.
void check_network(std::string_view network);

/// Makes the carrier for that network. Throws as check_network; Error(not_supported) where there is no such network,
/// Error(io) when it fails otherwise.
std::unique_ptr<Carrier> make_carrier(std::string_view network, FrameSink& sink);

}  // namespace stretto::fabric::cluster::network
