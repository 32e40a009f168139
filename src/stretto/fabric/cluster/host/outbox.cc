#include "stretto/fabric/cluster/host/outbox.h"

#include <algorithm>
#include <utility>

namespace stretto::fabric::cluster {

namespace {

constexpr std::uint8_t kind_of(OwnKind kind) noexcept { return static_cast<std::uint8_t>(kind); }

}  // namespace

void Outbox::enqueue(std::uint8_t kind, ConstByteSpan header, ConstByteSpan payload) {
  Message message{kind, header.size(), {}};
  message.bytes.reserve(header.size() + payload.size());
  message.bytes.insert(message.bytes.end(), header.begin(), header.end());
  message.bytes.insert(message.bytes.end(), payload.begin(), payload.end());
  queue_.emplace_back(std::move(message));
}

void Outbox::put(Offset target, ConstByteSpan source, Notification notification, Completion* completion) {
  std::byte* const place = direct_ ? peer_.segment(target, source.size()) : nullptr;
  start(Put{target, source, place, 0, notification, completion});
}

bool Outbox::get(Offset source, ByteSpan destination, Completion* completion) {
  const std::byte* const place = direct_ ? peer_.segment(source, destination.size()) : nullptr;
  if (place == nullptr) return false;
  start(Get{destination, place, 0, completion});
  return true;
}

void Outbox::reply(std::uint64_t id, ConstByteSpan source) { start(Reply{id, source, 0}); }

// Small jobs are done at once when nothing is before them.
void Outbox::start(Job job) {
  if (queue_.empty() && std::visit([this](auto& one) { return step(one); }, job) == Step::finished) return;
  queue_.push_back(std::move(job));
}

bool Outbox::advance() {
  if (queue_.empty()) return false;
  bool moved = false;
  // As many small jobs as there is room for, but at most one piece of a large one.
  while (!queue_.empty()) {
    const Step result = std::visit([this](auto& one) { return step(one); }, queue_.front());
    if (result == Step::finished) queue_.pop_front();
    moved |= result != Step::blocked;
    if (result != Step::finished) break;
  }
  return moved;
}

Outbox::Step Outbox::step(Message& message) {
  const ConstByteSpan bytes(message.bytes);
  const bool written = write(message.kind, bytes.first(message.header_bytes), bytes.subspan(message.header_bytes));
  return written ? Step::finished : Step::blocked;
}

Outbox::Step Outbox::step(Put& put) {
  const std::uint64_t left = put.source.size() - put.at;
  if (put.place != nullptr) {
    const std::size_t piece = std::min<std::uint64_t>(left, copy_piece_bytes);
    copy_.copy(put.place + put.at, put.source.subspan(put.at, piece));
    put.at += piece;
    if (piece < left) return Step::moved;
    if (!write(kind_of(OwnKind::notification), bytes_of(put.notification), {})) {
      return piece != 0 ? Step::moved : Step::blocked;
    }
  } else {
    const std::size_t piece = std::min<std::uint64_t>(left, message_piece_bytes);
    const PutPieceHeader header{put.target, put.source.size(), put.at, put.notification};
    if (!write(kind_of(OwnKind::put_piece), bytes_of(header), put.source.subspan(put.at, piece))) return Step::blocked;
    put.at += piece;
    if (piece < left) return Step::moved;
  }
  complete(put.completion, false);
  return Step::finished;
}

Outbox::Step Outbox::step(Get& get) {
  const std::size_t piece = std::min<std::uint64_t>(get.destination.size() - get.at, copy_piece_bytes);
  copy_bytes(get.destination.data() + get.at, {get.place + get.at, piece});
  get.at += piece;
  if (get.at < get.destination.size()) return Step::moved;
  complete(get.completion, false);
  return Step::finished;
}

Outbox::Step Outbox::step(Reply& reply) {
  const std::size_t piece = std::min<std::uint64_t>(reply.source.size() - reply.at, message_piece_bytes);
  const GetPieceHeader header{reply.id, reply.at};
  if (!write(kind_of(OwnKind::get_piece), bytes_of(header), reply.source.subspan(reply.at, piece))) {
    return Step::blocked;
  }
  reply.at += piece;
  return reply.at < reply.source.size() ? Step::moved : Step::finished;
}

bool Outbox::can_advance() noexcept {
  if (queue_.empty()) return false;
  const std::size_t lines = lines_needed(queue_.front());
  return lines == 0 || writer_.has_room(lines);
}

// How much room the next step of a job needs; 0 when it needs none.
std::size_t Outbox::lines_needed(const Job& job) noexcept {
  const auto piece_of = [](std::uint64_t left) {
    return static_cast<std::size_t>(std::min<std::uint64_t>(left, message_piece_bytes));
  };
  if (const auto* const message = std::get_if<Message>(&job)) return lines_of(message->bytes.size());
  if (const auto* const put = std::get_if<Put>(&job)) {
    const std::uint64_t left = put->source.size() - put->at;
    if (put->place != nullptr) return left == 0 ? 1 : 0;
    return lines_of(sizeof(PutPieceHeader) + piece_of(left));
  }
  if (const auto* const reply = std::get_if<Reply>(&job)) {
    return lines_of(sizeof(GetPieceHeader) + piece_of(reply->source.size() - reply->at));
  }
  return 0;
}

void Outbox::drop() {
  for (Job& job : std::exchange(queue_, {})) {
    if (const auto* const put = std::get_if<Put>(&job)) complete(put->completion, true);
    if (const auto* const get = std::get_if<Get>(&job)) complete(get->completion, true);
  }
}

void Outbox::complete(Completion* completion, bool lost) {
  if (completion != nullptr) sink_.complete_later(completion, lost);
}

}  // namespace stretto::fabric::cluster
