#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/base/bytes.h"

struct ucp_ep;

namespace stretto::fabric::cluster::ucx {

/// UCX's end of a connection. Opaque here, and compared only.
using Connection = ::ucp_ep;

/// What hears of frames, from inside `Worker::progress`. It may send and connect from inside; it must neither close nor
/// progress.
class FrameSink {
 public:
  virtual ~FrameSink() = default;

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
  /// The frame has left, or never will: its memory is free again. From inside `Worker::progress` or `close`.
  virtual void sent() noexcept = 0;
};

/// Whoever made a connection.
class ConnectionOwner {
 public:
  virtual ~ConnectionOwner() = default;
  /// The connection is dead; it must still be closed, but not from inside this call.
  virtual void failed(const char* status) noexcept = 0;
};

/// A UCX context and worker: connections to other processes' workers with peer error handling, and active messages on
/// them. It knows bytes, not what they mean.
///
/// Owned by a UcxTransport; all calls under the node's baton. Which network it uses is the user's word (UCX_TLS,
/// UCX_NET_DEVICES, …), otherwise UCX's choice among all but shared memory, which has no failure detection.
class Worker {
 public:
  /// Throws Error(not_supported) when UCX finds no usable network, Error(io) when it fails otherwise.
  explicit Worker(FrameSink& sink);
  /// Closes nothing: REQUIRES that the owner has closed its connections, and progressed until its frames came back.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// What other workers `connect` to.
  std::vector<std::byte> address() const;

  /// Begins a connection; never waits. Connections that both ends begin become one. Throws Error(peer_lost), naming
  /// UCX's status, when it can't begin. REQUIRES: at most one connection to an address, ever.
  Connection* connect(ConstByteSpan address, ConnectionOwner& owner);
  /// Lets go of a connection at once. Frames that had not left are `sent`, here or in `progress`.
  void close(Connection* connection);

  /// Sends only if no memory of the caller's is needed after the call; returns whether it did.
  bool try_send(Connection* to, ConstByteSpan header, ConstByteSpan data);
  /// Sends; returns whether the frame has left. If not, header and data must stay as they are until `sending.sent()`,
  /// which is called in no other case. Throws Error(peer_lost), naming UCX's status.
  bool send(Connection* to, ConstByteSpan header, ConstByteSpan data, Sending& sending);

  bool progress();
  int descriptor() const noexcept { return descriptor_; }
  /// See Transport::arm.
  bool arm();
  /// Whether all that was sent has left this process. Where it has not, later calls, with progress between, say true.
  bool flush();

  /// The networks that a connection's frames travel on, such as "tcp/eth0": empty until UCX has decided.
  std::vector<std::string> networks(Connection* connection) const;

 private:
  struct Ucp;
  std::unique_ptr<Ucp> ucp_;
  int descriptor_ = -1;
  bool restless_ = false;     // a connection was closed, and UCX is not finished with it
  void* flushing_ = nullptr;  // UCX's request
};

/// The networks in what UCX prints of a connection: "lane[0]:  1:tcp/eth0.0 md[1] …" gives "tcp/eth0". A pure function.
std::vector<std::string> parse_networks(std::string_view printed);

}  // namespace stretto::fabric::cluster::ucx
