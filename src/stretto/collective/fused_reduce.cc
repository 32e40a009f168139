#include "stretto/collective/fused_reduce.h"

#include <algorithm>
#include <utility>

#include "stretto/base/hash.h"
#include "stretto/base/round_up.h"
#include "stretto/collective/layout.h"
#include "stretto/collective/scratch.h"

namespace stretto {

FusedReduce::FusedReduce(std::vector<Part> parts) {
  form_.operation = schedule::Operation::general_reduce;
  form_.reduction.combine = &FusedReduce::combine;
  for (Part& part : parts) {
    const CallForm& form = *part.call.form;
    const std::size_t offset = round_up(bytes_, part.alignment);
    bytes_ = offset + part.bytes;
    form_.element_alignment = std::max(form_.element_alignment, part.alignment);
    form_.reduction.commutative = form_.reduction.commutative && form.reduction.commutative;
    form_.reduction.digest = mix_64(form_.reduction.digest ^ form.reduction.digest ^ (part.bytes << 1U));
    form_.type_digest = mix_64(form_.type_digest ^ form.type_digest);
    parts_.push_back({std::move(part), offset});
  }
  // One element, which is never cut.
  form_.element_bytes = std::max<std::size_t>(bytes_, 1);
  memory_ = std::make_unique<std::byte[]>(bytes_ + Layout::scratch_alignment);
  data_ = align_scratch(memory_.get());
}

CollectiveCall FusedReduce::call_of(std::vector<Part> parts, bool gives, bool gets) {
  const auto fused = std::make_shared<FusedReduce>(std::move(parts));
  const CollectiveCall& first = fused->parts_.front().part.call;
  CollectiveCall call(fused->form_);
  call.contributors = first.contributors;
  call.inner_receivers = first.inner_receivers;
  call.reproducible = first.reproducible;
  const ByteSpan data(fused->data_, fused->bytes_);
  if (gives) call.input = data;
  if (gets) call.output = data;
  call.operator_state = fused;
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
    part.call.reduction().combine(part.call.operator_state.get(), static_cast<std::byte*>(out) + offset,
                                  static_cast<const std::byte*>(left) + offset,
                                  static_cast<const std::byte*>(right) + offset,
                                  part.bytes / part.call.element_bytes());
  }
}

}  // namespace stretto
