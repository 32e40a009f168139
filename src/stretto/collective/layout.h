#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "stretto/base/bytes.h"
#include "stretto/collective/collective_call.h"
#include "stretto/schedule/shape.h"

namespace stretto {

/// Where the blocks of one buffer of a call lie: the cut of a vector, equal blocks side by side, or blocks of the sizes
/// that the caller has listed. Refers to the call's list.
class BlockTable {
 public:
  BlockTable() = default;
  static BlockTable equal(std::size_t bytes_each) noexcept;
  static BlockTable cut(std::size_t elements, std::uint32_t blocks, std::size_t element_bytes) noexcept;
  /// `offsets`: where each block begins, and in the end where the last one ends.
  static BlockTable listed(std::span<const std::size_t> offsets) noexcept;

  /// Where block `index` begins, which is where the one before it ends.
  std::size_t offset(std::uint32_t index) const noexcept;

 private:
  enum class Kind : std::uint8_t { equal, cut, listed };

  Kind kind_ = Kind::equal;
  std::uint32_t blocks_ = 1;
  std::size_t elements_ = 0;
  std::size_t unit_ = 0;  // bytes of a block (equal) or of an element (cut)
  std::span<const std::size_t> offsets_;
};

/// What memory a schedule's blocks are in a call. Cheap to make; refers to the call, which stays where it is.
class Layout {
 public:
  Layout() = default;
  /// REQUIRES: the call's buffers have the sizes that its operation demands.
  Layout(const CollectiveCall& call, const schedule::Shape& shape);

  /// The memory of `blocks`, always one piece. REQUIRES: scratch is there where they are in scratch.
  ByteSpan bytes_of(schedule::BlockRef blocks) const noexcept {
    if (blocks.count == 0) return {};
    switch (blocks.buffer) {
      case schedule::Buffer::input: return one_block_ ? input_ : part(input_, input_table_, blocks);
      case schedule::Buffer::output: return one_block_ ? output_ : part(output_, output_table_, blocks);
      case schedule::Buffer::scratch: break;
    }
    if (one_block_) return {scratch_at(blocks.first * scratch_stride_), vector_bytes_};
    return part_of_scratch(blocks);
  }

  /// By how many bytes the input begins after the output when the two are in place.
  std::ptrdiff_t in_place_distance(const schedule::Shape& shape, schedule::Rank me) const noexcept;

  /// Bytes of the scratch slots from the first one on.
  std::size_t scratch_bytes(std::uint32_t slots) const noexcept;
  /// `memory` is what lies `begin` bytes into scratch; what is before it is not used.
  void set_scratch(std::byte* memory, std::size_t begin) noexcept {
    scratch_ = reinterpret_cast<std::uintptr_t>(memory) - begin;
  }
  void set_input(ConstByteSpan input) noexcept { input_ = {const_cast<std::byte*>(input.data()), input.size()}; }
  void set_output(ByteSpan output) noexcept { output_ = output; }

  static constexpr std::size_t scratch_alignment = 64;

 private:
  static ByteSpan part(ByteSpan all, const BlockTable& table, schedule::BlockRef blocks) noexcept {
    const std::size_t begin = table.offset(blocks.first);
    return {all.data() + begin, table.offset(blocks.first + blocks.count) - begin};
  }
  std::byte* scratch_at(std::size_t offset) const noexcept { return reinterpret_cast<std::byte*>(scratch_ + offset); }
  ByteSpan part_of_scratch(schedule::BlockRef blocks) const noexcept;

  bool one_block_ = true;  // input and output are not cut
  ByteSpan input_;
  ByteSpan output_;
  BlockTable input_table_;
  BlockTable output_table_;
  // Scratch is laid out like whole vectors, one after the other.
  BlockTable scratch_table_;
  std::uint32_t scratch_period_ = 1;
  std::size_t scratch_stride_ = 0;
  std::size_t vector_bytes_ = 0;
  // An address: no pointer, since slots that need no memory are named all the same, but never touched.
  std::uintptr_t scratch_ = 0;
};

}  // namespace stretto
