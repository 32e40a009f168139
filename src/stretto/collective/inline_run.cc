#include "stretto/collective/inline_run.h"

#include "stretto/collective/collective_service.h"
#include "stretto/collective/stream.h"

namespace stretto {

std::uint32_t InlineRun::run(unsigned looks) {
  std::uint32_t done = 0;
  for (const PlacedStep& what : plan_.steps) {
    switch (what.kind) {
      case schedule::StepKind::send:
        if (!send(what)) return done;
        break;
      case schedule::StepKind::receive:
        if (!receive(what, looks)) return done;
        break;
      case schedule::StepKind::reduce: combine(what); break;
      case schedule::StepKind::copy: buffers_.copy(what.data, what.destination); break;
    }
    ++done;
  }
  return done;
}

bool InlineRun::send(const PlacedStep& what) {
  if (!service_.eager_window().take(what.node, what.data.bytes)) return false;
  header_.tag = what.tag;
  service_.endpoint().send(what.node, fabric::MessageType::collective_data, stretto::bytes_of(header_),
                           buffers_.bytes_of(what.data));
  return true;
}

bool InlineRun::receive(const PlacedStep& what, unsigned looks) {
  looked_for_ = &what;
  if (stream_.use_one_early(header_.identity.sequence, [this](const fabric::Message& early) { return use(early); })) {
    return true;
  }
  fabric::Endpoint& endpoint = service_.endpoint();
  for (; looked_for_ != nullptr && looks > 0; --looks) endpoint.receive_from(what.node, *this);
  return looked_for_ == nullptr;
}

void InlineRun::on_message(const fabric::Message& message) {
  if (looked_for_ == nullptr || !use(message)) service_.endpoint().deliver(message);
}

// Returns whether it is the message that is looked for.
bool InlineRun::use(const fabric::Message& message) {
  const PlacedStep& what = *looked_for_;
  if (message.type != fabric::MessageType::collective_data || message.from != what.node ||
      message.header.size() != sizeof(CallHeader) || message.payload.size() != what.data.bytes) {
    return false;
  }
  const auto theirs = fabric::read_header<CallHeader>(message);
  if (theirs.tag != what.tag || theirs.identity != header_.identity) return false;
  copy_bytes(buffers_.bytes_of(what.data).data(), message.payload);
  service_.note_used(message);
  looked_for_ = nullptr;
  return true;
}

void InlineRun::combine(const PlacedStep& what) const {
  call_.reduction.combine(call_.reduction.op.get(), buffers_.bytes_of(what.destination).data(),
                          buffers_.bytes_of(what.data).data(), buffers_.bytes_of(what.right).data(),
                          what.destination.bytes / call_.element_bytes);
}

}  // namespace stretto
