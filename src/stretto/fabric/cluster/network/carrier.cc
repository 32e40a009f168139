#include "stretto/fabric/cluster/network/carrier.h"

#include "stretto/base/error.h"
#include "stretto/fabric/cluster/tcp/tcp_carrier.h"
#include "stretto/fabric/cluster/ucx/ucx_carrier.h"

namespace stretto::fabric::cluster::network {

namespace {

constexpr std::string_view tcp = "tcp";
constexpr std::string_view tcp_over = "tcp/";

}  // namespace

void check_network(std::string_view network) {
  if (network == "ucx" || network == tcp) return;
  if (network.starts_with(tcp_over) && network.size() > tcp_over.size()) return;
  throw Error(ErrorCode::invalid_argument,
              "STRETTO_NETWORK is \"" + std::string(network) + "\"; use tcp, tcp/INTERFACE (such as tcp/eth0) or ucx");
}

std::unique_ptr<Carrier> make_carrier(std::string_view network, FrameSink& sink) {
  check_network(network);
  if (network == "ucx") return std::make_unique<UcxCarrier>(sink);
  const std::string_view interface = network == tcp ? "" : network.substr(tcp_over.size());
  return std::make_unique<TcpCarrier>(sink, std::string(interface));
}

}  // namespace stretto::fabric::cluster::network
