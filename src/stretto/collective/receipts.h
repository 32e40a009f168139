#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "stretto/base/error.h"
#include "stretto/fabric/segment.h"

namespace stretto {

/// A word in a node's segment by which a peer that has read what was lent to it says so, for less than a message costs
/// (decision 54). It holds a number that none held for long; who has read puts 0 in its place, if it is still there,
/// and who would rather be told by a message puts 0 there first. So one of them succeeds. 8 bytes, aligned so. The
/// lender's is for one thread at a time, as is the reader's.
class Receipt {
 public:
  Receipt() = default;  // trivial
  /// `word` may be null: there is none.
  Receipt(std::byte* word, std::uint32_t number) noexcept : word_(word), number_(number) {}

  explicit operator bool() const noexcept { return word_ != nullptr; }
  std::uint32_t number() const noexcept { return number_; }

  /// Before anybody knows of it.
  void lay_out() const noexcept { word().store(number_, std::memory_order_relaxed); }
  /// Whether the peer has read. For who lent.
  bool is_signed() const noexcept { return word().load(std::memory_order_acquire) == over; }
  /// By who has read, or by who lent and wants a message: returns whether this was first.
  bool end() const noexcept {
    std::uint64_t expected = number_;
    return word_ != nullptr && word().compare_exchange_strong(expected, over, std::memory_order_acq_rel);
  }

 private:
  static constexpr std::uint64_t over = 0;
  static_assert(std::atomic_ref<std::uint64_t>::is_always_lock_free, "two processes share it");

  std::atomic_ref<std::uint64_t> word() const noexcept {
    return std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(word_));
  }

  std::byte* word_;
  std::uint32_t number_;
};

/// The receipts of one call at a time, each in a line of its own. For one thread at a time.
class Receipts {
 public:
  static constexpr std::size_t most = 16;
  static constexpr std::size_t line_bytes = 64;

  /// Without memory, which has none to issue.
  explicit Receipts(fabric::Segment& segment) noexcept : segment_(segment) {}

  /// Takes memory for them, which goes with the segment, unless it is there. Where there is none, who has read says so
  /// by messages.
  void take_memory() {
    if (count_ > 0) return;
    try {
      offset_ = segment_.allocate(most * line_bytes);
      count_ = most;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::out_of_resources) throw;
    }
  }
  /// How many can be issued.
  std::size_t count() const noexcept { return count_; }
  std::size_t bytes() const noexcept { return count_ * line_bytes; }

  /// In this node's segment. REQUIRES: which < count().
  std::uint64_t offset(std::size_t which) const noexcept { return offset_ + which * line_bytes; }
  /// Laid out, in the place of one that is over.
  Receipt issue(std::size_t which) noexcept {
    if (++last_number_ == 0) ++last_number_;
    const Receipt receipt(segment_.pointer(offset(which)), last_number_);
    receipt.lay_out();
    return receipt;
  }

 private:
  fabric::Segment& segment_;
  std::uint64_t offset_ = 0;
  std::size_t count_ = 0;
  std::uint32_t last_number_ = 0;
};

}  // namespace stretto
