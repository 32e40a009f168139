#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/base/bytes.h"
#include "stretto/fabric/cluster/network/carrier.h"

namespace stretto::fabric::cluster::network {

/// Carries frames by UCX: a context, a worker, connections with peer error handling, and active messages on them.
///
/// Which network it uses is the user's word (UCX_TLS, UCX_NET_DEVICES, …), otherwise UCX's choice among all but shared
/// memory, which has no failure detection. A dead peer is what UCX reports: a closed or reset connection at once, a
/// vanished host by the keep-alive of an idle connection (16 s unless UCX_TCP_* say otherwise) or, with data under way,
/// when the kernel gives up sending it. UCX must not be used in a child of fork().
class UcxCarrier final : public Carrier {
 public:
  /// Throws Error(not_supported) when UCX finds no usable network, Error(io) when it fails otherwise.
  explicit UcxCarrier(FrameSink& sink);
  ~UcxCarrier() override;

  std::vector<std::byte> address() const override;
  void expect(std::size_t /*processes*/) override {}  // UCX hears all
  Connection* connect(ConstByteSpan address, ConnectionOwner& owner) override;
  void close(Connection* connection) override;
  /// Just under the 64 KiB that UCX's TCP sends and receives as one (measured with bare UCX on a loopback: 5 to 7 GB/s,
  /// frames of 8 MiB 3).
  std::size_t piece_bytes() const noexcept override { return std::size_t{60} * 1024; }
  bool try_send(Connection* to, ConstByteSpan header, ConstByteSpan data) override;
  bool send(Connection* to, ConstByteSpan header, ConstByteSpan data, Sending& sending) override;
  bool progress() override;
  int descriptor() const noexcept override { return descriptor_; }
  bool arm(Alarm alarm) override;
  bool flush() override;
  std::vector<std::string> networks(Connection* connection) const override;

 private:
  struct Ucp;
  std::unique_ptr<Ucp> ucp_;
  int descriptor_ = -1;
  bool restless_ = false;     // a connection was closed, and UCX is not finished with it
  void* flushing_ = nullptr;  // UCX's request
};

/// The networks in what UCX prints of a connection: "lane[0]:  1:tcp/eth0.0 md[1] …" gives "tcp/eth0". A pure function.
std::vector<std::string> parse_networks(std::string_view printed);

}  // namespace stretto::fabric::cluster::network
