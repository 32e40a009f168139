#include "stretto/schedule/access.h"

namespace stretto::schedule {

AccessTracker::AccessTracker(const Shape& shape, Rank me, std::uint32_t scratch_blocks)
    : shape_(shape),
      me_(me),
      inputs_(input_blocks(shape, me)),
      outputs_(output_blocks(shape, me)),
      may_be_in_place_(schedule::may_be_in_place(shape.operation)),
      places_(std::size_t{inputs_} + outputs_ + scratch_blocks) {}

void AccessTracker::add(std::uint32_t index, const Step& step, std::vector<std::uint32_t>& earlier) {
  if (step.count == 0) return signal(index, step.kind, earlier);
  if (step.kind != StepKind::receive) read(index, step.source(), earlier);
  if (step.kind == StepKind::reduce) read(index, step.destination(), earlier);
  if (step.kind != StepKind::send) {
    write(index, step.destination(), is_identity_in_place(shape_, me_, step), earlier);
  }
}

std::size_t AccessTracker::place_of(Buffer buffer, std::uint32_t block) const noexcept {
  switch (buffer) {
    case Buffer::input: return block;
    case Buffer::output: return std::size_t{inputs_} + block;
    case Buffer::scratch: return std::size_t{inputs_} + outputs_ + block;
  }
  return 0;
}

AccessTracker::Place* AccessTracker::twin_of(Buffer buffer, std::uint32_t block) noexcept {
  if (!may_be_in_place_ || buffer == Buffer::scratch) return nullptr;
  const bool is_input = buffer == Buffer::input;
  const std::int64_t offset = in_place_offset(shape_, me_);
  const std::int64_t twin = is_input ? block + offset : block - offset;
  if (twin < 0 || twin >= (is_input ? outputs_ : inputs_)) return nullptr;
  return &places_[place_of(is_input ? Buffer::output : Buffer::input, static_cast<std::uint32_t>(twin))];
}

void AccessTracker::read(std::uint32_t index, const BlockRef& ref, std::vector<std::uint32_t>& earlier) {
  for (std::uint32_t i = 0; i < ref.count; ++i) {
    Place& place = places_[place_of(ref.buffer, ref.first + i)];
    if (place.writer != none) earlier.push_back(place.writer);
    place.readers.push_back(index);
    // In place, who wrote to this block of input as a block of output comes first. No right schedule has such a step:
    // where input and output are apart it reads something else.
    if (ref.buffer != Buffer::input) continue;
    const Place* const twin = twin_of(ref.buffer, ref.first + i);
    if (twin != nullptr && twin->changer != none) earlier.push_back(twin->changer);
  }
}

void AccessTracker::write(std::uint32_t index, const BlockRef& ref, bool is_identity,
                          std::vector<std::uint32_t>& earlier) {
  const auto displace = [&](Place& place) {
    for (const std::uint32_t reader : place.readers) {
      if (reader != index) earlier.push_back(reader);
    }
    place.readers.clear();
  };
  for (std::uint32_t i = 0; i < ref.count; ++i) {
    Place& place = places_[place_of(ref.buffer, ref.first + i)];
    if (place.writer != none) earlier.push_back(place.writer);
    displace(place);
    place.writer = index;
    // In place, this block of output is also a block of input, whose readers come first; a copy of that very block
    // leaves it as it was.
    if (ref.buffer != Buffer::output || is_identity) continue;
    place.changer = index;
    if (Place* const twin = twin_of(ref.buffer, ref.first + i)) displace(*twin);
  }
}

void AccessTracker::signal(std::uint32_t index, StepKind kind, std::vector<std::uint32_t>& earlier) {
  if (kind == StepKind::receive) {
    signals_.readers.push_back(index);
    return;
  }
  if (signals_.writer != none) earlier.push_back(signals_.writer);
  earlier.insert(earlier.end(), signals_.readers.begin(), signals_.readers.end());
  signals_.readers.clear();
  signals_.writer = index;
}

}  // namespace stretto::schedule
