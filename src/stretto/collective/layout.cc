#include "stretto/collective/layout.h"

#include "stretto/base/round_up.h"

namespace stretto {

static_assert(Layout::scratch_alignment >= most_element_alignment);

using schedule::Operation;

BlockTable BlockTable::equal(std::size_t bytes_each) noexcept {
  BlockTable table;
  table.unit_ = bytes_each;
  return table;
}

BlockTable BlockTable::cut(std::size_t elements, std::uint32_t blocks, std::size_t element_bytes) noexcept {
  BlockTable table;
  table.kind_ = Kind::cut;
  table.blocks_ = blocks;
  table.elements_ = elements;
  table.unit_ = element_bytes;
  return table;
}

BlockTable BlockTable::listed(std::span<const std::size_t> offsets) noexcept {
  BlockTable table;
  table.kind_ = Kind::listed;
  table.offsets_ = offsets;
  return table;
}

std::size_t BlockTable::offset(std::uint32_t index) const noexcept {
  switch (kind_) {
    case Kind::equal: return index * unit_;
    case Kind::listed: return offsets_[index];
    case Kind::cut: break;
  }
  return index == blocks_ ? elements_ * unit_ : schedule::cut(elements_, blocks_, index).first * unit_;
}

namespace {

// One block for each rank.
BlockTable by_rank(std::span<const std::size_t> offsets, std::size_t bytes_each) {
  return offsets.empty() ? BlockTable::equal(bytes_each) : BlockTable::listed(offsets);
}

}  // namespace

Layout::Layout(const CollectiveCall& call, const schedule::Shape& shape)
    : element_bytes_(call.element_bytes()),
      is_listed_(!call.block_offsets().empty()),
      scratch_period_(schedule::vector_blocks(shape)) {
  const std::size_t in = call.input.size();
  const std::size_t out = call.output.size();
  switch (call.operation()) {
    case Operation::gather:
    case Operation::allgather:
      input_table_ = BlockTable::equal(in);
      scratch_table_ = output_table_ = by_rank(call.block_offsets(), in);
      break;
    case Operation::scatter:
    case Operation::reduce_scatter:
      scratch_table_ = input_table_ = by_rank(call.block_offsets(), out);
      output_table_ = BlockTable::equal(out);
      break;
    case Operation::all_to_all:
      scratch_table_ = input_table_ = by_rank(call.block_offsets(), in / shape.size);
      output_table_ = by_rank(call.output_offsets(), out / shape.size);
      break;
    default: {
      const std::size_t elements = bytes_of_vector(call) / call.element_bytes();
      scratch_table_ = input_table_ = output_table_ = BlockTable::cut(elements, shape.blocks, call.element_bytes());
    }
  }
  scratch_stride_ = round_up(scratch_table_.offset(scratch_period_), scratch_alignment);
}

Place Layout::place_of(schedule::BlockRef blocks) const noexcept {
  if (blocks.count == 0) return {};
  const auto part = [&](const BlockTable& table, std::uint32_t first, std::size_t begin) {
    const std::size_t offset = table.offset(first);
    return Place{blocks.buffer, begin + offset, table.offset(first + blocks.count) - offset};
  };
  switch (blocks.buffer) {
    case schedule::Buffer::input: return part(input_table_, blocks.first, 0);
    case schedule::Buffer::output: return part(output_table_, blocks.first, 0);
    case schedule::Buffer::scratch: break;
  }
  return part(scratch_table_, blocks.first % scratch_period_, blocks.first / scratch_period_ * scratch_stride_);
}

std::ptrdiff_t Layout::in_place_distance(const schedule::Shape& shape, schedule::Rank me) const noexcept {
  const std::int64_t blocks = schedule::in_place_offset(shape, me);
  if (blocks >= 0) return static_cast<std::ptrdiff_t>(output_table_.offset(static_cast<std::uint32_t>(blocks)));
  return -static_cast<std::ptrdiff_t>(input_table_.offset(static_cast<std::uint32_t>(-blocks)));
}

}  // namespace stretto
