#include "stretto/fabric/cluster/network/outbox.h"

#include <algorithm>
#include <iterator>
#include <new>
#include <optional>
#include <utility>

#include "stretto/base/error.h"

namespace stretto::fabric::cluster::network {

/// A frame in memory of its own; a piece's data stays where it is.
class Outbox::Packet final : public Sending {
 public:
  explicit Packet(Outbox& outbox) noexcept : outbox_(outbox) {}

  void sent() noexcept override {
    Outbox& outbox = outbox_;
    outbox.take_back(std::unique_ptr<Packet>(this));
    outbox.pump();
  }

  FrameHeader header;
  std::vector<std::byte> data;
  std::optional<Transfers::iterator> piece_of;

 private:
  Outbox& outbox_;
};

Outbox::Outbox(Carrier& carrier, TransportSink& sink, ConnectionOwner& owner)
    : carrier_(carrier), sink_(sink), owner_(owner) {
  spare_.reserve(max_frames_under_way);  // to take a packet back needs no memory
}

Outbox::~Outbox() = default;

void Outbox::open(Connection* connection) {
  connection_ = connection;
  pump();
}

void Outbox::control(Connection* connection, const Frame& frame) {
  std::unique_ptr<Packet> packet = fresh_packet();
  encode(frame, packet->header);
  give(std::move(packet), connection, {});
}

void Outbox::message(MessageType type, ConstByteSpan header, ConstByteSpan payload) {
  FrameHeader frame;
  encode(MessageFrame{type, header}, frame);
  // Most messages leave at once, from the caller's memory.
  if (connection_ != nullptr && queue_.empty() && carrier_.try_send(connection_, frame.span(), payload)) {
    ++frames_;
    return;
  }
  enqueue(frame, payload);
}

void Outbox::request(const GetRequest& get) {
  FrameHeader frame;
  encode(get, frame);
  enqueue(frame, {});
}

void Outbox::put(Offset target, ConstByteSpan source, Notification notification, Completion* completion) {
  begin({true, {next_put_++, target, source.size(), 0, notification}, source, completion});
}

void Outbox::answer(std::uint64_t get, ConstByteSpan source) {
  begin({false, {get, 0, source.size(), 0, 0}, source, nullptr});
}

void Outbox::drop() {
  connection_ = nullptr;
  queue_.clear();
  for (auto next = transfers_.begin(); next != transfers_.end();) {
    const auto transfer = next++;
    transfer->all_given = true;
    transfer->dropped = true;
    finish_if_done(transfer);
  }
}

void Outbox::abandon() {
  for (Transfer& transfer : transfers_) transfer.completion = nullptr;
  drop();
}

void Outbox::enqueue(const FrameHeader& header, ConstByteSpan data) {
  std::unique_ptr<Packet> packet = fresh_packet();
  packet->header = header;
  packet->data.assign(data.begin(), data.end());
  queue_.push_back(std::move(packet));
  pump();
}

// Throws std::bad_alloc, and has done nothing then; what has begun goes on when a frame has left.
void Outbox::begin(Transfer transfer) {
  transfers_.push_back(transfer);
  const auto mine = std::prev(transfers_.end());
  try {
    pump();
  } catch (const std::bad_alloc&) {
    if (mine->next.at != 0) return;
    transfers_.erase(mine);
    throw;
  }
}

void Outbox::pump() {
  give_frames();
  give_pieces();
}

void Outbox::give_frames() {
  while (connection_ != nullptr && !queue_.empty() && under_way_ - pieces_under_way_ < max_frames_under_way) {
    std::unique_ptr<Packet> packet = std::move(queue_.front());
    queue_.pop_front();
    const ConstByteSpan data = packet->data;
    ++frames_;
    give(std::move(packet), connection_, data);
  }
}

void Outbox::give_pieces() {
  auto transfer = transfers_.begin();
  while (connection_ != nullptr && pieces_under_way_ < max_pieces_under_way) {
    transfer = std::find_if(transfer, transfers_.end(), [](const Transfer& t) { return !t.all_given; });
    if (transfer == transfers_.end()) return;
    const auto current = transfer;
    PutPiece& next = current->next;
    const ConstByteSpan data =
        current->source.subspan(next.at, std::min(carrier_.piece_bytes(), current->source.size() - next.at));
    std::unique_ptr<Packet> packet = fresh_packet();
    if (current->is_put) {
      encode(next, packet->header);
    } else {
      encode(GetPiece{next.id, next.at}, packet->header);
    }
    packet->piece_of = current;
    next.at += data.size();
    current->all_given = next.at == current->source.size();
    if (current->all_given) ++transfer;  // giving the last piece may end it
    ++frames_;
    give(std::move(packet), connection_, data);
  }
}

void Outbox::give(std::unique_ptr<Packet> packet, Connection* to, ConstByteSpan data) {
  ++under_way_;
  if (packet->piece_of) {
    ++pieces_under_way_;
    ++(*packet->piece_of)->pieces_under_way;
  }
  try {
    if (carrier_.send(to, packet->header.span(), data, *packet)) {
      take_back(std::move(packet));
    } else {
      (void)packet.release();  // comes back by `sent`
    }
  } catch (const Error& error) {
    connection_ = nullptr;
    if (packet->piece_of) (*packet->piece_of)->all_given = (*packet->piece_of)->dropped = true;
    take_back(std::move(packet));
    owner_.failed(error.message().c_str());
  }
}

void Outbox::take_back(std::unique_ptr<Packet> packet) {
  --under_way_;
  if (packet->piece_of) {
    --pieces_under_way_;
    --(*packet->piece_of)->pieces_under_way;
    finish_if_done(*packet->piece_of);
    packet->piece_of.reset();
  }
  if (spare_.size() < max_frames_under_way) spare_.push_back(std::move(packet));
}

void Outbox::finish_if_done(Transfers::iterator transfer) {
  if (!transfer->all_given || transfer->pieces_under_way != 0) return;
  Completion* const completion = transfer->completion;
  const bool lost = transfer->dropped;
  transfers_.erase(transfer);
  if (completion != nullptr) sink_.complete_later(completion, lost);
}

std::unique_ptr<Outbox::Packet> Outbox::fresh_packet() {
  if (spare_.empty()) return std::make_unique<Packet>(*this);
  std::unique_ptr<Packet> packet = std::move(spare_.back());
  spare_.pop_back();
  return packet;
}

}  // namespace stretto::fabric::cluster::network
