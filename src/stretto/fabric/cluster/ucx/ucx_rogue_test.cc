#include <gtest/gtest.h>
#include <ucp/api/ucp.h>

#include <memory>
#include <utility>
#include <vector>

#include "stretto/fabric/cluster/network/rogue.h"

namespace stretto::fabric::cluster {
namespace {

using namespace network_test;

class UcxRogue final : public Rogue {
 public:
  UcxRogue() : Rogue("ucx") {}

  /// As our carrier never does.
  void say_by_rendezvous(const network::Frame& frame, std::size_t bytes) {
    network::encode(frame, header_);
    data_ = pattern(bytes, 1);
    ucp_request_param_t params{};
    params.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_CALLBACK;
    params.flags = UCP_AM_SEND_FLAG_REPLY | UCP_AM_SEND_FLAG_RNDV;
    params.cb.send = [](void* request, ucs_status_t, void*) { ucp_request_free(request); };
    ucp_am_send_nbx(reinterpret_cast<ucp_ep_h>(connection()), 0, header_.span().data(), header_.size, data_.data(),
                    bytes, &params);
  }

 private:
  network::FrameHeader header_;
  std::vector<std::byte> data_;
};

TEST_F(RogueTest, ARendezvousOfUcxEndsTheConnection) {
  auto rogue = std::make_unique<UcxRogue>();
  UcxRogue& speaker = *rogue;
  begin("ucx", std::move(rogue));
  befriend();
  speaker.say_by_rendezvous(network::PutPiece{1, 0, 900, 0, 5}, 900);
  expect_lost("it comes by rendezvous");
}

}  // namespace
}  // namespace stretto::fabric::cluster
