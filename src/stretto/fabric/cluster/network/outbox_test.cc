#include "stretto/fabric/cluster/network/outbox.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "stretto/base/memory_requests.h"
#include "stretto/fabric/cluster/network/carrier.h"
#include "stretto/fabric/cluster/transport.h"

namespace stretto::fabric::cluster::network {
namespace {

using test::Shortage;

/// Keeps what it is given until it is told to let it go.
class KeepingCarrier final : public Carrier {
 public:
  KeepingCarrier() { kept_.reserve(100); }

  std::vector<std::byte> address() const override { return {}; }
  void expect(std::size_t /*processes*/) override {}
  Connection* connect(ConstByteSpan /*address*/, ConnectionOwner& /*owner*/) override { return nullptr; }
  void close(Connection* /*connection*/) override {}
  bool try_send(Connection* /*to*/, ConstByteSpan /*header*/, ConstByteSpan /*data*/) override { return false; }
  bool send(Connection* /*to*/, ConstByteSpan /*header*/, ConstByteSpan data, Sending& sending) override {
    bytes += data.size();
    kept_.push_back(&sending);
    return false;
  }
  bool progress() override { return false; }
  int descriptor() const noexcept override { return -1; }
  bool arm(Alarm /*alarm*/) override { return true; }
  bool flush() override { return true; }
  std::vector<std::string> networks(Connection* /*connection*/) const override { return {}; }

  void let_go() {
    while (!kept_.empty()) {
      Sending* const sending = kept_.back();
      kept_.pop_back();
      sending->sent();
    }
  }

  std::size_t bytes = 0;  ///< of data that it was given

 private:
  std::vector<Sending*> kept_;
};

/// Counts what is complete.
class CountingSink final : public TransportSink {
 public:
  void on_message(const Message& /*message*/) override {}
  std::optional<ByteSpan> window(NodeId /*from*/, Offset /*offset*/, std::uint64_t /*bytes*/) override { return {}; }
  void complete_later(Completion* /*completion*/, bool lost) override { ++(lost ? failed : completed); }
  void on_notification(NodeId /*from*/, Notification /*notification*/) override {}
  void on_peer_lost(NodeId /*peer*/, const Error& /*cause*/) override {}
  void lose_later(NodeId /*peer*/, const Error& /*cause*/) override {}
  void on_peer_left(NodeId /*peer*/) override {}
  void on_peer_ended(NodeId /*peer*/) override {}

  int completed = 0;
  int failed = 0;
};

class PatientOwner final : public ConnectionOwner {
 public:
  void failed(const char* why) noexcept override { ADD_FAILURE() << why; }
};

struct NoCompletion final : Completion {
  void complete(bool /*lost*/) noexcept override {}
};

// Who is refused keeps its completion; what has begun ends as ever. `number`: the request that finds no memory. Returns
// whether there were so many.
bool put_where_memory_is_short(std::uint64_t number) {
  KeepingCarrier carrier;
  CountingSink sink;
  PatientOwner owner;
  Outbox outbox(carrier, sink, owner);
  outbox.open(reinterpret_cast<Connection*>(&carrier));
  const std::vector<std::byte> source(3 * most_piece_bytes);
  NoCompletion completion;
  bool refused = false;
  bool has_come = false;
  {
    const Shortage shortage(number);
    try {
      outbox.put(0, source, 1, &completion);
    } catch (const std::bad_alloc&) {
      refused = true;
    }
    has_come = Shortage::has_come();
  }
  if (refused) {
    EXPECT_TRUE(outbox.idle());
    outbox.put(0, source, 1, &completion);
  }
  carrier.let_go();
  EXPECT_TRUE(outbox.idle());
  EXPECT_EQ(carrier.bytes, source.size());
  EXPECT_EQ(sink.completed, 1);
  EXPECT_EQ(sink.failed, 0);
  return has_come;
}

TEST(Outbox, APutForWhichThereIsNoMemoryIsNotBegun) {
  std::uint64_t requests = 0;
  while (put_where_memory_is_short(requests + 1)) ++requests;
  EXPECT_GE(requests, 3U) << "the put, and its frames";
}

}  // namespace
}  // namespace stretto::fabric::cluster::network
