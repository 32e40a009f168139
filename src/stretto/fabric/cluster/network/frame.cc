#include "stretto/fabric/cluster/network/frame.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "stretto/base/error.h"

namespace stretto::fabric::cluster::network {
namespace {

// The kinds on the wire are the alternatives of Frame, counted from 1.
constexpr std::size_t kinds = std::variant_size_v<Frame>;
template <class T, std::size_t Kind = 0>
constexpr std::size_t index_of() {
  if constexpr (std::is_same_v<std::variant_alternative_t<Kind, Frame>, T>) {
    return Kind;
  } else {
    return index_of<T, Kind + 1>();
  }
}
template <class T>
constexpr std::size_t kind_of = index_of<T>();

constexpr const char* kind_names[kinds] = {"greeting",    "refusal",   "message", "put piece",
                                           "get request", "get piece", "goodbye", "goodbye answer"};

[[noreturn]] void refuse(std::size_t kind, const std::string& why) {
  throw Error(ErrorCode::bad_input, "malformed " + std::string(kind_names[kind]) + " frame: " + why);
}

/// Puts fields behind the prefix.
class Writer {
 public:
  explicit Writer(FrameHeader& into) noexcept : into_(into) { into_.size = FrameHeader::prefix_bytes; }

  void number(std::uint64_t value) noexcept {
    for (unsigned shift = 0; shift < 64; shift += 8) {
      into_.bytes[into_.size++] = static_cast<std::byte>((value >> shift) & 0xffU);
    }
  }
  void bytes(ConstByteSpan span) noexcept {
    if (!span.empty()) std::memcpy(into_.bytes.data() + into_.size, span.data(), span.size());
    into_.size += span.size();
  }

 private:
  FrameHeader& into_;
};

/// Takes fields off what follows the prefix. REQUIRES: they are there.
class Reader {
 public:
  explicit Reader(ConstByteSpan rest) noexcept : rest_(rest) {}

  std::uint64_t number() noexcept {
    std::uint64_t value = 0;
    for (unsigned i = 0; i < 8; ++i) value |= std::to_integer<std::uint64_t>(rest_[i]) << (8U * i);
    rest_ = rest_.subspan(8);
    return value;
  }
  Nonce nonce() noexcept {
    Nonce result;
    std::copy_n(rest_.begin(), result.size(), result.begin());
    rest_ = rest_.subspan(result.size());
    return result;
  }

 private:
  ConstByteSpan rest_;
};

/// The byte of the prefix that belongs to the kind.
std::uint8_t detail_of(const Frame& frame) noexcept {
  if (const auto* message = std::get_if<MessageFrame>(&frame)) return static_cast<std::uint8_t>(message->type);
  if (const auto* greeting = std::get_if<Greeting>(&frame)) return greeting->known ? 1 : 0;
  return 0;
}

struct FieldWriter {
  Writer& out;

  void operator()(const Greeting& f) const noexcept {
    out.number(wire_version);
    out.number(f.node);
    out.bytes(f.sender);
    out.bytes(f.receiver);
  }
  void operator()(const Refusal&) const noexcept {}
  void operator()(const MessageFrame& f) const noexcept { out.bytes(f.header); }
  void operator()(const PutPiece& f) const noexcept {
    for (const std::uint64_t value : {f.id, f.target, f.bytes, f.at, f.notification}) out.number(value);
  }
  void operator()(const GetRequest& f) const noexcept {
    for (const std::uint64_t value : {f.id, f.source, f.bytes}) out.number(value);
  }
  void operator()(const GetPiece& f) const noexcept {
    out.number(f.id);
    out.number(f.at);
  }
  void operator()(const Goodbye& f) const noexcept { out.number(f.frames); }
  void operator()(const GoodbyeAnswer&) const noexcept {}
};

/// How many bytes of fields each kind has; a message has as many as its header.
constexpr std::size_t field_bytes[kinds] = {16 + 2 * sizeof(Nonce), 0, 0, 40, 24, 16, 8, 0};

Greeting read_greeting(std::uint8_t detail, Reader fields, std::uint64_t data_bytes) {
  if (data_bytes != 0) refuse(kind_of<Greeting>, "it comes with data");
  if (detail > 1) refuse(kind_of<Greeting>, "it is neither first nor an answer");
  const std::uint64_t version = fields.number();
  if (version != wire_version) {
    refuse(kind_of<Greeting>, "it has wire version " + std::to_string(version) + " where " +
                                  std::to_string(wire_version) +
                                  " is expected; run the same build of Stretto on all hosts");
  }
  const std::uint64_t node = fields.number();
  if (node >= max_nodes) refuse(kind_of<Greeting>, "node " + std::to_string(node) + " is none of any job");
  Greeting greeting{static_cast<NodeId>(node), detail == 1, {}, {}};
  greeting.sender = fields.nonce();
  greeting.receiver = fields.nonce();
  return greeting;
}

MessageFrame read_message(std::uint8_t detail, ConstByteSpan rest, std::uint64_t data_bytes) {
  if (detail >= message_types) refuse(kind_of<MessageFrame>, "type " + std::to_string(detail) + " does not exist");
  if (rest.size() > max_header_bytes)
    refuse(kind_of<MessageFrame>, "a header of " + std::to_string(rest.size()) + " bytes");
  if (data_bytes > max_message_bytes - rest.size()) {
    refuse(kind_of<MessageFrame>, "a payload of " + std::to_string(data_bytes) + " bytes");
  }
  return {static_cast<MessageType>(detail), rest};
}

PutPiece read_put_piece(Reader fields, std::uint64_t data_bytes) {
  PutPiece piece;
  for (std::uint64_t* const field : {&piece.id, &piece.target, &piece.bytes, &piece.at, &piece.notification}) {
    *field = fields.number();
  }
  if (piece.target > std::numeric_limits<std::uint64_t>::max() - piece.bytes)
    refuse(kind_of<PutPiece>, "its range wraps around");
  if (piece.at > piece.bytes || data_bytes > piece.bytes - piece.at)
    refuse(kind_of<PutPiece>, "it leaves its put's range");
  if (data_bytes == 0 && piece.bytes != 0) refuse(kind_of<PutPiece>, "it is empty and its put is not");
  return piece;
}

GetRequest read_get_request(Reader fields) {
  GetRequest request;
  for (std::uint64_t* const field : {&request.id, &request.source, &request.bytes}) *field = fields.number();
  if (request.source > std::numeric_limits<std::uint64_t>::max() - request.bytes) {
    refuse(kind_of<GetRequest>, "its range wraps around");
  }
  return request;
}

GetPiece read_get_piece(Reader fields, std::uint64_t data_bytes) {
  GetPiece piece;
  piece.id = fields.number();
  piece.at = fields.number();
  if (piece.at > std::numeric_limits<std::uint64_t>::max() - data_bytes)
    refuse(kind_of<GetPiece>, "its range wraps around");
  return piece;
}

}  // namespace

void encode(const Frame& frame, FrameHeader& into) noexcept {
  into.bytes[0] = static_cast<std::byte>(frame.index() + 1);
  into.bytes[1] = static_cast<std::byte>(detail_of(frame));
  Writer out(into);
  // Not std::visit, which may throw where no alternative can be without value.
  [&]<std::size_t... Kind>(std::index_sequence<Kind...>) {
    ((frame.index() == Kind ? FieldWriter{out}(*std::get_if<Kind>(&frame)) : void()), ...);
  }(std::make_index_sequence<kinds>{});
}

Frame decode(ConstByteSpan header, std::uint64_t data_bytes) {
  if (header.size() < FrameHeader::prefix_bytes) {
    throw Error(ErrorCode::bad_input, "a frame of " + std::to_string(header.size()) + " bytes is truncated");
  }
  const std::size_t kind = std::to_integer<std::size_t>(header[0]) - 1;  // 0 wraps around
  if (kind >= kinds) {
    throw Error(ErrorCode::bad_input,
                "a frame is of unknown kind " + std::to_string(std::to_integer<unsigned>(header[0])));
  }
  const auto detail = std::to_integer<std::uint8_t>(header[1]);
  const ConstByteSpan rest = header.subspan(FrameHeader::prefix_bytes);
  if (kind == kind_of<MessageFrame>) return read_message(detail, rest, data_bytes);
  if (rest.size() != field_bytes[kind]) {
    refuse(kind, std::to_string(rest.size()) + " bytes of fields where " + std::to_string(field_bytes[kind]) +
                     " are expected");
  }
  if (kind == kind_of<Greeting>) return read_greeting(detail, Reader(rest), data_bytes);
  if (detail != 0) refuse(kind, "its second byte is not zero");
  if (kind == kind_of<PutPiece>) return read_put_piece(Reader(rest), data_bytes);
  if (kind == kind_of<GetPiece>) return read_get_piece(Reader(rest), data_bytes);
  if (data_bytes != 0) refuse(kind, "it comes with data");
  if (kind == kind_of<GetRequest>) return read_get_request(Reader(rest));
  if (kind == kind_of<Goodbye>) return Goodbye{Reader(rest).number()};
  if (kind == kind_of<GoodbyeAnswer>) return GoodbyeAnswer{};
  return Refusal{};
}

}  // namespace stretto::fabric::cluster::network
