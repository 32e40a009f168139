#include "stretto/schedule/step_fault.h"

namespace stretto::schedule {
namespace {

std::string fault_of_peer(const Shape& shape, Rank me, Rank peer) {
  if (peer == me) return "a rank sends no message to itself";
  if (peer < shape.size) return {};
  return "peer " + std::to_string(peer) + " is not a rank of a group of " + std::to_string(shape.size);
}

std::string fault_of_blocks(const Shape& shape, Rank me, std::uint32_t scratch_blocks, const BlockRef& ref) {
  const std::uint32_t present = ref.buffer == Buffer::input    ? input_blocks(shape, me)
                                : ref.buffer == Buffer::output ? output_blocks(shape, me)
                                                               : scratch_blocks;
  const std::string touches = "touches " + std::to_string(ref.count) + " blocks of " +
                              std::string(name_of(ref.buffer)) + " from block " + std::to_string(ref.first);
  if (ref.first > present || ref.count > present - ref.first) {
    return touches + ", but the rank has " + std::to_string(present);
  }
  const std::uint32_t vector = vector_blocks(shape);
  if (ref.buffer == Buffer::scratch && ref.count > vector - ref.first % vector) {
    return touches + ", but only " + std::to_string(vector) + " from a multiple of that are contiguous";
  }
  return {};
}

}  // namespace

std::string fault_of(const Shape& shape, Rank me, std::uint32_t scratch_blocks, const Step& step) {
  const bool reads = step.kind != StepKind::receive;
  const bool writes = step.kind != StepKind::send;
  if (step.is_message()) {
    if (std::string fault = fault_of_peer(shape, me, step.peer); !fault.empty()) return fault;
  }
  const bool is_signal = step.is_message() && shape.operation == Operation::barrier;
  if (step.count == 0) return is_signal ? "" : "moves no blocks";
  // It would wait for those blocks only, and for none of the signals that have come.
  if (is_signal) return "moves blocks, but a barrier's message has none";
  if (writes && step.destination_buffer == Buffer::input) return "writes the caller's input";
  if (reads) {
    if (std::string fault = fault_of_blocks(shape, me, scratch_blocks, step.source()); !fault.empty()) return fault;
  }
  if (writes) return fault_of_blocks(shape, me, scratch_blocks, step.destination());
  return {};
}

}  // namespace stretto::schedule
