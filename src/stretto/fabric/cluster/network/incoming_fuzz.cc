// Whatever pieces a peer sends: puts stay within the segment and are told of when all their bytes have come, gets are
// answered by what was asked for, once, or it is an Error(bad_input).

#include <array>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <variant>
#include <vector>

#include "stretto/base/fuzz.h"
#include "stretto/fabric/cluster/network/incoming.h"

namespace {

using namespace stretto;
using namespace stretto::fabric;
using namespace stretto::fabric::cluster;
using fuzz::require;

constexpr std::size_t segment_bytes = 256;

struct Get final : Completion {
  explicit Get(std::size_t bytes) : destination(bytes) {}
  void complete(bool is_lost) noexcept override {
    require(!is_over);
    is_over = true;
    lost = is_lost;
  }

  std::vector<std::byte> destination;
  std::uint64_t came = 0;
  bool is_over = false;
  bool lost = false;
};

struct Sink final : TransportSink {
  void on_message(const Message&) override {}
  std::optional<ByteSpan> window(NodeId, Offset offset, std::uint64_t bytes) override {
    if (offset <= segment.size() && bytes <= segment.size() - offset) return ByteSpan(segment).subspan(offset, bytes);
    is_lost = true;
    return std::nullopt;
  }
  void complete_later(Completion* completion, bool lost) override { completion->complete(lost); }
  void on_notification(NodeId, Notification) override { ++notifications; }
  void on_peer_lost(NodeId, const Error&) override {}
  void lose_later(NodeId, const Error&) override {}
  void on_peer_left(NodeId) override {}
  void on_peer_ended(NodeId) override {}

  std::vector<std::byte> segment = std::vector<std::byte>(segment_bytes);
  bool is_lost = false;
  int notifications = 0;
};

/// A node that gets what the input says, and asks for some bytes now and then.
class Receiver {
 public:
  explicit Receiver(fuzz::Input& input) : input_(input) {}

  void run() {
    fuzz::takes([&] {
      while (!input_.empty() && !sink_.is_lost) step();
    });
    incoming_.drop();
    for (const Get& get : gets_) require(get.is_over && (get.lost || get.came == get.destination.size()));
  }

 private:
  void step() {
    switch (input_.below(4)) {
      case 0: ask(); break;
      case 1: answer(); break;
      default: put();
    }
  }

  void ask() {
    Get& get = gets_.emplace_back(input_.number());
    by_id_.emplace(incoming_.get(0, get.destination, &get).id, &get);
  }

  void answer() {
    network::GetPiece piece;
    piece.id = input_.below(4);
    piece.at = number();
    const std::vector<std::byte> data(input_.number());
    if (!reads(piece, data.size())) return;
    if (const ByteSpan place = incoming_.place_of(piece, data.size()); !place.empty())
      require(place.size() == data.size());
    incoming_.get_piece(piece, data);
    by_id_.at(piece.id)->came += data.size();
  }

  void put() {
    const std::size_t id = input_.below(4);
    network::PutPiece& piece = puts_[id];  // as the one before it, but mostly elsewhere
    piece.id = id;
    if (piece.bytes == 0 || input_.below(8) == 1) piece = {id, number(), number(), 0, input_.below(2)};
    piece.at = number();
    const std::vector<std::byte> data(input_.number());
    if (!reads(piece, data.size())) return;
    const int before = sink_.notifications;
    incoming_.put_piece(piece, data);
    if (sink_.is_lost) return;
    const bool is_over = data.size() == piece.bytes || is_last(piece, data.size());
    require(sink_.notifications == before + (is_over ? 1 : 0));
  }

  // Of a put of several pieces.
  bool is_last(const network::PutPiece& piece, std::size_t bytes) {
    std::uint64_t& came = came_[piece.id];
    came += bytes;
    require(came <= piece.bytes);
    if (came < piece.bytes) return false;
    came_.erase(piece.id);
    return true;
  }

  // Mostly little.
  std::uint64_t number() { return input_.below(8) == 0 ? input_.number<std::uint64_t>() : input_.number(); }

  // Whether such a frame comes through.
  static bool reads(const network::Frame& frame, std::size_t bytes) {
    network::FrameHeader header;
    network::encode(frame, header);
    return fuzz::takes([&] { network::decode(header.span(), bytes); });
  }

  fuzz::Input& input_;
  Sink sink_;
  network::Incoming incoming_{1, sink_};
  std::list<Get> gets_;
  std::map<std::uint64_t, Get*> by_id_;
  std::map<std::uint64_t, network::PutPiece> puts_;  // the last piece of each
  std::map<std::uint64_t, std::uint64_t> came_;      // of puts that have begun
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  fuzz::Input input(bytes, size);
  Receiver(input).run();
  return 0;
}
