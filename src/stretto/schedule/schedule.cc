#include "stretto/schedule/schedule.h"

namespace stretto::schedule {
namespace {

std::string describe(BlockRef ref) {
  if (ref.count == 0) return "nothing";
  std::string text(name_of(ref.buffer));
  text += '[' + std::to_string(ref.first);
  if (ref.count > 1) text += ".." + std::to_string(std::uint64_t{ref.first} + ref.count - 1);
  return text + ']';
}

}  // namespace

std::string_view name_of(StepKind kind) noexcept {
  switch (kind) {
    case StepKind::send: return "send";
    case StepKind::receive: return "receive";
    case StepKind::reduce: return "reduce";
    case StepKind::copy: return "copy";
  }
  return "unknown";
}

std::string describe(const Step& step) {
  const std::string tag = " as #" + std::to_string(step.tag);
  switch (step.kind) {
    case StepKind::send: return "send " + describe(step.source()) + " to " + std::to_string(step.peer) + tag;
    case StepKind::receive:
      return "receive " + describe(step.destination()) + " from " + std::to_string(step.peer) + tag;
    case StepKind::reduce: {
      const std::string source = describe(step.source());
      const std::string destination = describe(step.destination());
      return "reduce " + destination + " = " +
             (step.order == Order::destination_first ? destination + " (+) " + source : source + " (+) " + destination);
    }
    case StepKind::copy: return "copy " + describe(step.source()) + " to " + describe(step.destination());
  }
  return "unknown step";
}

bool is_identity_in_place(const Shape& shape, Rank me, const Step& step) noexcept {
  return step.kind == StepKind::copy && step.source_buffer == Buffer::input &&
         step.destination_buffer == Buffer::output && may_be_in_place(shape.operation) &&
         step.destination_first == step.source_first + in_place_offset(shape, me);
}

}  // namespace stretto::schedule
