#include "stretto/fabric/cluster/network/incoming.h"

#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "stretto/base/error.h"

namespace stretto::fabric::cluster::network {
namespace {

// Unless they are there already.
void copy(ConstByteSpan from, ByteSpan to) noexcept {
  if (!from.empty() && from.data() != to.data()) std::memcpy(to.data(), from.data(), from.size());
}

}  // namespace

ByteSpan Incoming::place_of(const PutPiece& piece, std::size_t bytes) {
  return sink_.window(peer_, piece.target + piece.at, bytes).value_or(ByteSpan());
}

ByteSpan Incoming::place_of(const GetPiece& piece, std::size_t bytes) const {
  const auto open = gets_.find(piece.id);
  return open == gets_.end() || !fits(piece, bytes, open->second) ? ByteSpan()
                                                                  : open->second.destination.subspan(piece.at, bytes);
}

void Incoming::put_piece(const PutPiece& piece, ConstByteSpan data) {
  const std::optional<ByteSpan> window = sink_.window(peer_, piece.target + piece.at, data.size());
  if (!window) return;  // and the peer is lost
  copy(data, *window);
  if (is_last(piece, data.size())) sink_.on_notification(peer_, piece.notification);
}

bool Incoming::is_last(const PutPiece& piece, std::uint64_t bytes) {
  if (bytes == piece.bytes) return true;
  auto open = puts_.find(piece.id);
  if (open == puts_.end()) {
    if (puts_.size() == max_open_puts) {
      throw Error(ErrorCode::bad_input, std::to_string(max_open_puts) + " puts were begun and not finished");
    }
    open = puts_.emplace(piece.id, OpenPut{piece, piece.bytes}).first;
  }
  PutPiece expected = open->second.first;
  expected.at = piece.at;
  if (piece != expected) throw Error(ErrorCode::bad_input, "the pieces of a put contradict each other");
  if (bytes > open->second.missing) throw Error(ErrorCode::bad_input, "a put has more pieces than bytes");
  open->second.missing -= bytes;
  if (open->second.missing != 0) return false;
  puts_.erase(open);
  return true;
}

GetRequest Incoming::get(Offset source, ByteSpan destination, Completion* completion) {
  const std::uint64_t id = next_get_++;
  gets_.emplace(id, OpenGet{destination, completion, destination.size()});
  return {id, source, destination.size()};
}

bool Incoming::fits(const GetPiece& piece, std::size_t bytes, const OpenGet& get) noexcept {
  return piece.at <= get.destination.size() && bytes <= get.destination.size() - piece.at && bytes <= get.missing &&
         (bytes != 0 || get.missing == 0);
}

void Incoming::get_piece(const GetPiece& piece, ConstByteSpan data) {
  const auto open = gets_.find(piece.id);
  if (open == gets_.end()) throw Error(ErrorCode::bad_input, "an answer to a get that is not outstanding");
  OpenGet& get = open->second;
  if (!fits(piece, data.size(), get)) {
    throw Error(ErrorCode::bad_input, "an answer to a get has other bytes than were asked for");
  }
  copy(data, get.destination.subspan(piece.at));
  get.missing -= data.size();
  if (get.missing != 0) return;
  Completion* const completion = get.completion;
  gets_.erase(open);
  sink_.complete_later(completion, false);
}

void Incoming::drop() {
  puts_.clear();
  for (const auto& [id, get] : std::exchange(gets_, {})) sink_.complete_later(get.completion, true);
}

void Incoming::abandon() {
  puts_.clear();
  gets_.clear();
}

}  // namespace stretto::fabric::cluster::network
