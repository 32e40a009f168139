#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>

#include "stretto/core/node.h"

namespace stretto {

/// An array of `T` in its node's segment, where peers of the same host reach it in place: collectives copy less of it
/// than of other memory. Owns its memory; the elements are not initialised.
///
/// Any thread may make and destroy one; the node outlives it. REQUIRES: nothing that is under way uses it when it goes.
template <class T>
  requires std::is_trivially_copyable_v<T>
class SegmentArray {
 public:
  SegmentArray() = default;
  /// `count` elements. Throws Error(out_of_resources) when the segment is full (STRETTO_SEGMENT_BYTES).
  SegmentArray(Node& node, std::size_t count)
      : segment_(&node.endpoint().segment()),
        offset_(segment_->allocate(bytes_of(count), alignof(T))),
        data_(reinterpret_cast<T*>(segment_->pointer(offset_))),
        size_(count) {}
  SegmentArray(SegmentArray&& other) noexcept { swap(other); }
  SegmentArray& operator=(SegmentArray&& other) noexcept {
    SegmentArray(std::move(other)).swap(*this);
    return *this;
  }
  ~SegmentArray() {
    if (segment_ != nullptr) segment_->release(offset_);
  }

  T* data() noexcept { return data_; }
  const T* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  T* begin() noexcept { return data_; }
  T* end() noexcept { return data_ + size_; }
  const T* begin() const noexcept { return data_; }
  const T* end() const noexcept { return data_ + size_; }
  T& operator[](std::size_t index) noexcept { return data_[index]; }
  const T& operator[](std::size_t index) const noexcept { return data_[index]; }

 private:
  // Too many for a number are too many for any segment.
  static constexpr std::size_t bytes_of(std::size_t count) noexcept {
    constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
    return count > most / sizeof(T) ? most : count * sizeof(T);
  }

  void swap(SegmentArray& other) noexcept {
    std::swap(segment_, other.segment_);
    std::swap(offset_, other.offset_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }

  fabric::Segment* segment_ = nullptr;
  fabric::Offset offset_ = 0;
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace stretto
