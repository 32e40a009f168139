#pragma once

#include <array>
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

/// One piece of one buffer of a call.
struct Place {
  schedule::Buffer buffer = schedule::Buffer::input;
  std::size_t offset = 0;
  std::size_t bytes = 0;

  friend bool operator==(const Place&, const Place&) = default;
};

/// Where in the buffers of a call a schedule's blocks lie. Cheap to make; refers to the call's lists, which stay where
/// they are.
class Layout {
 public:
  /// REQUIRES: the call's buffers have the sizes that its operation demands.
  Layout(const CollectiveCall& call, const schedule::Shape& shape);

  std::size_t element_bytes() const noexcept { return element_bytes_; }
  /// Whether the caller has listed the sizes of blocks.
  bool is_listed() const noexcept { return is_listed_; }

  /// Of `blocks`, always one piece.
  Place place_of(schedule::BlockRef blocks) const noexcept;

  /// By how many bytes the input begins after the output when the two are in place.
  std::ptrdiff_t in_place_distance(const schedule::Shape& shape, schedule::Rank me) const noexcept;

  static constexpr std::size_t scratch_alignment = 64;

 private:
  std::size_t element_bytes_;
  bool is_listed_;
  BlockTable input_table_;
  BlockTable output_table_;
  // Scratch is laid out like whole vectors, one after the other; PackedScratch has what has memory.
  BlockTable scratch_table_;
  std::uint32_t scratch_period_ = 1;
  std::size_t scratch_stride_ = 0;
};

/// Where the buffers of a call are.
class Buffers {
 public:
  /// REQUIRES: its buffer is set.
  ByteSpan bytes_of(const Place& place) const noexcept {
    const std::uintptr_t address = begins_[static_cast<std::size_t>(place.buffer)] + place.offset;
    return {reinterpret_cast<std::byte*>(address), place.bytes};  // NOLINT(performance-no-int-to-ptr): see begins_
  }

  /// Returns whether there was anything to do: not where it lies there already.
  bool copy(const Place& from, const Place& to) const noexcept {
    if (from.bytes == 0) return false;
    const ByteSpan source = bytes_of(from);
    std::byte* const destination = bytes_of(to).data();
    if (source.data() == destination) return false;
    copy_bytes(destination, source);
    return true;
  }

  void set_input(ConstByteSpan input) noexcept { set(schedule::Buffer::input, input.data()); }
  void set_output(ByteSpan output) noexcept { set(schedule::Buffer::output, output.data()); }
  void set_scratch(std::byte* memory) noexcept { set(schedule::Buffer::scratch, memory); }

 private:
  void set(schedule::Buffer buffer, const std::byte* begin) noexcept {
    begins_[static_cast<std::size_t>(buffer)] = reinterpret_cast<std::uintptr_t>(begin);
  }

  // Addresses: no pointers, since what needs no memory has a place all the same, but is never touched.
  std::array<std::uintptr_t, 3> begins_{};
};

}  // namespace stretto
