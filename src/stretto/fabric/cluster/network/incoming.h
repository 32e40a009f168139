#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "stretto/base/bytes.h"
#include "stretto/base/ids.h"
#include "stretto/fabric/cluster/network/frame.h"
#include "stretto/fabric/cluster/transport.h"

namespace stretto::fabric::cluster::network {

/// The most puts of several pieces that one peer may have begun and not finished. Ours has one, or a few where the
/// network reorders frames.
inline constexpr std::size_t max_open_puts = 64;

/// What one peer writes here: its puts into our segment, and the answers to our gets.
///
/// Owned by the transport's record of that peer. Under the node's baton. Pieces are put into place as they arrive, in
/// any order. Everything in a frame is the peer's word; a frame that can't be throws Error(bad_input). While one of
/// these calls is on the stack the sink may make the transport `drop` all.
class Incoming {
 public:
  Incoming(NodeId peer, TransportSink& sink) noexcept : peer_(peer), sink_(sink) {}

  void put_piece(const PutPiece& piece, ConstByteSpan data);
  /// Where the data of such a piece belong; they may be put there before it is given to `put_piece` or `get_piece`.
  /// Empty: nowhere, and the piece, if it comes, is refused.
  ByteSpan place_of(const PutPiece& piece, std::size_t bytes);
  ByteSpan place_of(const GetPiece& piece, std::size_t bytes) const;

  /// A get begins; the request to send.
  GetRequest get(Offset source, ByteSpan destination, Completion* completion);
  void get_piece(const GetPiece& piece, ConstByteSpan data);

  /// Forgets all; completions of gets fire with `lost`.
  void drop();
  /// The same, but nobody hears of it.
  void abandon();

 private:
  struct OpenPut {
    PutPiece first;  // all but `at` holds for each piece
    std::uint64_t missing;
  };
  struct OpenGet {
    ByteSpan destination;
    Completion* completion;
    std::uint64_t missing;
  };

  bool is_last(const PutPiece& piece, std::uint64_t bytes);
  static bool fits(const GetPiece& piece, std::size_t bytes, const OpenGet& get) noexcept;

  NodeId peer_;
  TransportSink& sink_;
  std::map<std::uint64_t, OpenPut> puts_;
  std::map<std::uint64_t, OpenGet> gets_;
  std::uint64_t next_get_ = 0;
};

}  // namespace stretto::fabric::cluster::network
