#include "stretto/fabric/cluster/network/carrier.h"

#include "stretto/base/error.h"
#include "stretto/fabric/cluster/tcp/tcp_carrier.h"
#include "stretto/fabric/cluster/ucx/ucx_carrier.h"

namespace stretto::fabric::cluster::network {

std::unique_ptr<Carrier> make_carrier(std::string_view network, FrameSink& sink) {
  constexpr std::string_view tcp = "tcp";
  if (network == "ucx") return std::make_unique<UcxCarrier>(sink);
  if (network == tcp) return std::make_unique<TcpCarrier>(sink, "");
  if (network.starts_with("tcp/") && network.size() > tcp.size() + 1) {
    return std::make_unique<TcpCarrier>(sink, std::string(network.substr(tcp.size() + 1)));
  }
  throw Error(ErrorCode::invalid_argument,
              "STRETTO_NETWORK is \"" + std::string(network) + "\"; use tcp, tcp/INTERFACE (such as tcp/eth0) or ucx");
}

}  // namespace stretto::fabric::cluster::network
