#include "stretto/collective/fused_reduce.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "stretto/base/hash.h"
#include "stretto/collective/layout.h"

namespace stretto {

namespace {

std::size_t round_up(std::size_t value, std::size_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

CollectiveCall FusedReduce::call_of(std::vector<Part> parts, bool gives, bool gets) {
  const auto fused = std::make_shared<FusedReduce>();
  CollectiveCall call;
  call.operation = schedule::Operation::general_reduce;
  call.contributors = parts.front().call.contributors;
  call.inner_receivers = parts.front().call.inner_receivers;
  call.reproducible = parts.front().call.reproducible;
  for (Part& part : parts) {
    const std::size_t offset = round_up(fused->bytes_, part.alignment);
    fused->bytes_ = offset + part.bytes;
    call.reduction.commutative = call.reduction.commutative && part.call.reduction.commutative;
    call.reduction.digest = mix_64(call.reduction.digest ^ part.call.reduction.digest ^ (part.bytes << 1U));
    call.type_digest = mix_64(call.type_digest ^ part.call.type_digest);
    fused->parts_.push_back({std::move(part), offset});
  }
  call.reduction.combine = &FusedReduce::combine;
  call.reduction.op = fused;
  // One element, which is never cut.
  call.element_bytes = std::max<std::size_t>(fused->bytes_, 1);
  fused->memory_ = std::make_unique<std::byte[]>(fused->bytes_ + Layout::scratch_alignment);
  const auto address = reinterpret_cast<std::uintptr_t>(fused->memory_.get());
  fused->data_ = fused->memory_.get() + (round_up(address, Layout::scratch_alignment) - address);
  const ByteSpan data(fused->data_, fused->bytes_);
  if (gives) call.input = data;
  if (gets) call.output = data;
  call.keep_alive = fused;
  return call;
}

void FusedReduce::pack() noexcept {
  for (const auto& [part, offset] : parts_) {
    if (!part.call.input.empty()) copy_bytes(data_ + offset, part.call.input);
  }
}

void FusedReduce::unpack() noexcept {
  for (const auto& [part, offset] : parts_) {
    if (!part.call.output.empty()) copy_bytes(part.call.output.data(), ConstByteSpan(data_ + offset, part.bytes));
  }
}

void FusedReduce::combine(const void* fused, void* out, const void* left, const void* right, std::size_t count) {
  if (count == 0) return;
  for (const auto& [part, offset] : static_cast<const FusedReduce*>(fused)->parts_) {
    const Reduction& reduction = part.call.reduction;
    reduction.combine(reduction.op.get(), static_cast<std::byte*>(out) + offset,
                      static_cast<const std::byte*>(left) + offset, static_cast<const std::byte*>(right) + offset,
                      part.bytes / part.call.element_bytes);
  }
}

}  // namespace stretto
