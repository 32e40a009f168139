#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>

#include "stretto/base/descriptor.h"
#include "stretto/base/mapping.h"

namespace stretto::fabric {

/// A node's segment: memory that peers reach by put, get or, on the same host, directly.
///
/// One large sparse mapping that the owner grows before it hands out an offset, so that exhaustion is an Error
/// and never a signal. In huge pages where the system has them. Any thread may allocate and release.
class Segment {
 public:
  /// `capacity` bytes of address space. `shareable` backs them by a memfd (sealed against shrinking) that peers of
  /// the host map; otherwise memory is private to the process. Throws Error(out_of_resources).
  Segment(std::size_t capacity, bool shareable);
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  /// A line of the processor's caches: all memory begins at one.
  static constexpr std::size_t least_alignment = 64;
  /// `bytes` bytes aligned to `alignment` (a power of two), and to a line. Throws Error(out_of_resources).
  std::uint64_t allocate(std::size_t bytes, std::size_t alignment = least_alignment);
  /// What is released from now on, and other processes may have read, is used again only when so much more has been
  /// released: until then it would have to be taken out of their caches, line by line (decision 37). At first 0.
  void let_rest(std::size_t most_bytes);
  enum class LastRead : std::uint8_t { by_others, by_owner };
  /// Takes back what `allocate` returned. What its owner has read last does not rest: who has read a line writes it
  /// soonest (decision 57). Throws Error(invalid_argument) for any other offset.
  void release(std::uint64_t offset, LastRead last_read = LastRead::by_others);

  std::byte* pointer(std::uint64_t offset) const noexcept {
    // Nodes of one process reach all of its memory by such offsets.
    const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(mapping_.at(0)) + offset;
    return reinterpret_cast<std::byte*>(address);  // NOLINT(performance-no-int-to-ptr)
  }
  /// The offset of an address in this segment's allocated part, or -1.
  std::int64_t offset_of(const void* address) const noexcept {
    const auto* const byte = static_cast<const std::byte*>(address);
    const std::byte* const base = mapping_.at(0);
    if (byte < base || byte >= base + grown_.load(std::memory_order_acquire)) return -1;
    return byte - base;
  }
  /// Whether [offset, offset + bytes) lies in memory that has been handed out so far.
  bool contains(std::uint64_t offset, std::size_t bytes) const noexcept {
    const std::size_t grown = grown_.load(std::memory_order_acquire);
    return bytes <= grown && offset <= grown - bytes;
  }

  std::size_t capacity() const noexcept { return capacity_; }
  std::size_t bytes_in_use() const;
  /// The memfd, or -1 where the segment is not shareable.
  int descriptor() const noexcept { return memory_.number(); }

 private:
  struct Range {
    std::uint64_t offset;
    std::size_t bytes;
  };

  bool is_shareable() const noexcept { return static_cast<bool>(memory_); }
  void make_room(std::size_t bytes, std::size_t alignment);
  void grow(std::size_t bytes, std::size_t alignment);
  void back(std::size_t from, std::size_t bytes);
  bool back_hugely(std::size_t from, std::size_t bytes) noexcept;
  void rest(std::uint64_t offset, std::size_t bytes);
  void end_rest(std::size_t most_bytes);
  void add_free(std::uint64_t offset, std::size_t bytes);

  std::size_t capacity_;
  Descriptor memory_;
  Mapping mapping_;
  mutable std::mutex mutex_;
  std::atomic<std::size_t> grown_{0};  // [0, grown_) is backed
  std::size_t in_use_ = 0;
  std::map<std::uint64_t, std::size_t> free_;  // by offset, never adjacent
  std::map<std::uint64_t, std::size_t> used_;
  std::deque<Range> resting_;  // neither free nor used, the one released first is first
  std::size_t resting_bytes_ = 0;
  std::size_t most_resting_ = 0;
};

}  // namespace stretto::fabric
