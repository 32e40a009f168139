#include "stretto/fabric/bootstrap/message.h"

#include <csignal>
#include <utility>

#include "stretto/base/error.h"
#include "stretto/fabric/bootstrap/bootstrap.h"
#include "stretto/fabric/bootstrap/wire.h"

namespace stretto::fabric {
namespace {

constexpr std::size_t length_bytes = sizeof(std::uint32_t);
constexpr std::size_t max_text = 960;  // a reason; also fits into the frame of a stranger

// Each message: how it is written, and how it is read back. What is written is always read (tested for all of them).

std::string_view shortened(std::string_view text) { return text.substr(0, max_text); }

void write(WireWriter& out, const Hello& m) {
  out.number(m.magic);
  out.number(m.version);
  out.number(static_cast<std::uint8_t>(m.role));
  out.number(m.number);
  out.number(m.size);
  out.raw(m.nonce);
}
void read(WireReader& in, Hello& m) {
  m.magic = in.number<std::uint32_t>();
  if (m.magic != protocol_magic) throw Error(ErrorCode::bad_input, "this is not the protocol of Stretto");
  m.version = in.number<std::uint16_t>();
  const auto role = in.number<std::uint8_t>();
  if (role != 1 && role != 2) throw Error(ErrorCode::bad_input, "unknown role " + std::to_string(role));
  m.role = static_cast<Role>(role);
  m.number = in.number<std::uint32_t>();
  m.size = in.number<std::uint32_t>();
  m.nonce = in.array<32>();
}

void write(WireWriter& out, const Challenge& m) {
  out.raw(m.nonce);
  out.raw(m.proof);
}
void read(WireReader& in, Challenge& m) {
  m.nonce = in.array<32>();
  m.proof = in.array<32>();
}

void write(WireWriter& out, const Response& m) { out.raw(m.proof); }
void read(WireReader& in, Response& m) { m.proof = in.array<32>(); }

void write(WireWriter&, const Welcome&) {}
void read(WireReader&, Welcome&) {}

void write(WireWriter& out, const Rejected& m) { out.text(shortened(m.reason)); }
void read(WireReader& in, Rejected& m) { m.reason = in.text(max_text); }

void write(WireWriter& out, const Put& m) {
  out.text(m.key);
  out.blob(m.value);
}
void read(WireReader& in, Put& m) {
  m.key = in.text(Bootstrap::max_key_bytes);
  m.value = in.blob(Bootstrap::max_value_bytes);
}

void write(WireWriter& out, const Fence& m) { out.number(m.count); }
void read(WireReader& in, Fence& m) { m.count = in.number<std::uint64_t>(); }

void write(WireWriter& out, const FenceDone& m) { out.number(m.count); }
void read(WireReader& in, FenceDone& m) { m.count = in.number<std::uint64_t>(); }

void write(WireWriter& out, const FenceFailed& m) {
  out.number(m.rank);
  out.text(shortened(m.reason));
}
void read(WireReader& in, FenceFailed& m) {
  m.rank = in.number<std::uint32_t>();
  m.reason = in.text(max_text);
}

void write(WireWriter& out, const Get& m) {
  out.number(m.rank);
  out.text(m.key);
}
void read(WireReader& in, Get& m) {
  m.rank = in.number<std::uint32_t>();
  m.key = in.text(Bootstrap::max_key_bytes);
}

bool read_flag(WireReader& in) {
  const auto flag = in.number<std::uint8_t>();
  if (flag > 1) throw Error(ErrorCode::bad_input, "a flag of " + std::to_string(flag) + " where 0 or 1 is allowed");
  return flag == 1;
}

void write(WireWriter& out, const Value& m) {
  out.number(static_cast<std::uint8_t>(m.found));
  out.blob(m.value);
}
void read(WireReader& in, Value& m) {
  m.found = read_flag(in);
  m.value = in.blob(Bootstrap::max_value_bytes);
}

void write(WireWriter& out, const Lost& m) {
  out.number(m.rank);
  out.text(shortened(m.reason));
}
void read(WireReader& in, Lost& m) {
  m.rank = in.number<std::uint32_t>();
  m.reason = in.text(max_text);
}

void write(WireWriter& out, const Abort& m) { out.text(shortened(m.reason)); }
void read(WireReader& in, Abort& m) { m.reason = in.text(max_text); }

void write(WireWriter&, const Goodbye&) {}
void read(WireReader&, Goodbye&) {}
void write(WireWriter&, const Farewell&) {}
void read(WireReader&, Farewell&) {}

void write(WireWriter& out, const Exited& m) {
  out.number(m.rank);
  out.number(static_cast<std::uint8_t>(m.signalled));
  out.number(static_cast<std::uint32_t>(m.code));
}
void read(WireReader& in, Exited& m) {
  m.rank = in.number<std::uint32_t>();
  m.signalled = read_flag(in);
  const auto code = in.number<std::uint32_t>();
  if (code > 255) throw Error(ErrorCode::bad_input, "an exit code of " + std::to_string(code));
  m.code = static_cast<std::int32_t>(code);
}

void write(WireWriter& out, const Signal& m) {
  out.number(m.rank);
  out.number(static_cast<std::uint32_t>(m.signal));
}
void read(WireReader& in, Signal& m) {
  m.rank = in.number<std::uint32_t>();
  const auto signal = in.number<std::uint32_t>();
  if (signal == 0 || signal >= NSIG) throw Error(ErrorCode::bad_input, "signal " + std::to_string(signal));
  m.signal = static_cast<std::int32_t>(signal);
}

/// Reads alternative number `kind` of Message.
template <std::size_t index = 0>
Message read_alternative(std::size_t kind, WireReader& in) {
  if constexpr (index == std::variant_size_v<Message>) {
    throw Error(ErrorCode::bad_input, "unknown message " + std::to_string(kind));
  } else {
    if (kind != index) return read_alternative<index + 1>(kind, in);
    std::variant_alternative_t<index, Message> message;
    read(in, message);
    return message;
  }
}

}  // namespace

std::vector<std::byte> encode(const Message& message) {
  WireWriter body;
  body.number(static_cast<std::uint8_t>(message.index()));
  std::visit([&](const auto& alternative) { write(body, alternative); }, message);
  WireWriter frame;
  frame.blob(body.bytes());
  return std::move(frame.bytes());
}

Message decode(ConstByteSpan frame) {
  WireReader in(frame);
  const auto kind = in.number<std::uint8_t>();
  Message message = read_alternative(kind, in);
  in.finish();
  return message;
}

void FrameDecoder::feed(ConstByteSpan bytes) {
  buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(begin_));
  begin_ = 0;
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

std::optional<Message> FrameDecoder::next() {
  const ConstByteSpan unread = ConstByteSpan(buffer_).subspan(begin_);
  if (unread.size() < length_bytes) return std::nullopt;
  const std::size_t length = WireReader(unread).number<std::uint32_t>();
  if (length > limit_) {
    throw Error(ErrorCode::bad_input, "a message of " + std::to_string(length) + " bytes where at most " +
                                          std::to_string(limit_) + " are allowed");
  }
  if (unread.size() - length_bytes < length) return std::nullopt;
  begin_ += length_bytes + length;
  return decode(unread.subspan(length_bytes, length));
}

}  // namespace stretto::fabric
