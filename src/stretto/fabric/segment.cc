#include "stretto/fabric/segment.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <string>

#include "stretto/base/error.h"
#include "stretto/base/round_up.h"
#include "stretto/base/shared_memory.h"

namespace stretto::fabric {

namespace {

// Growing costs system calls, so it is done in pieces: by huge pages where there is one segment in a process, by less
// where there may be hundreds.
constexpr std::size_t growth_bytes(bool shareable) { return shareable ? huge_page_bytes : std::size_t{1} << 20U; }

}  // namespace

Segment::Segment(std::size_t capacity, bool shareable) : capacity_(round_up(capacity, growth_bytes(shareable))) {
  try {
    if (shareable) memory_ = make_shared_memory("stretto-segment", capacity_);
    mapping_ = Mapping(memory_.number(), 0, capacity_, Mapping::Access::write);
  } catch (const Error& error) {
    throw Error(error.code(), "no room for the segment (lower STRETTO_SEGMENT_BYTES): " + error.message());
  }
}

std::uint64_t Segment::allocate(std::size_t bytes, std::size_t alignment) {
  if (!std::has_single_bit(alignment)) {
    throw Error(ErrorCode::invalid_argument,
                "alignment is " + std::to_string(alignment) + "; it must be a power of two");
  }
  if (bytes > capacity_) {
    throw Error(ErrorCode::out_of_resources, "a segment of " + std::to_string(capacity_) + " bytes cannot hold " +
                                                 std::to_string(bytes) + " bytes; raise STRETTO_SEGMENT_BYTES");
  }
  alignment = std::max(alignment, least_alignment);
  bytes = round_up(std::max<std::size_t>(bytes, 1), least_alignment);
  const std::lock_guard lock(mutex_);
  for (;;) {
    for (auto it = free_.begin(); it != free_.end(); ++it) {
      const auto [start, length] = *it;
      const std::uint64_t offset = round_up(start, alignment);
      if (offset + bytes > start + length) continue;
      free_.erase(it);
      if (offset > start) free_.emplace(start, offset - start);
      if (offset + bytes < start + length) free_.emplace(offset + bytes, start + length - offset - bytes);
      used_.emplace(offset, bytes);
      in_use_ += bytes;
      return offset;
    }
    make_room(bytes, alignment);
  }
}

// Grows; where that can't be, ends all rest. REQUIRES: mutex_ is held.
void Segment::make_room(std::size_t bytes, std::size_t alignment) {
  try {
    grow(bytes, alignment);
  } catch (const Error&) {
    if (resting_.empty()) throw;
    end_rest(0);
  }
}

// REQUIRES: mutex_ is held.
void Segment::grow(std::size_t bytes, std::size_t alignment) {
  const std::size_t old = grown_.load(std::memory_order_relaxed);
  // What is free at the end grows, too. Where even all the rest would not do, none of it is taken.
  const bool adjoins = !free_.empty() && free_.rbegin()->first + free_.rbegin()->second == old;
  const std::size_t start = round_up(adjoins ? free_.rbegin()->first : old, alignment);
  if (start > capacity_ || bytes > capacity_ - start) {
    throw Error(ErrorCode::out_of_resources, "the segment of " + std::to_string(capacity_) + " bytes is used up (" +
                                                 std::to_string(in_use_) +
                                                 " in use); release memory or raise STRETTO_SEGMENT_BYTES");
  }
  const std::size_t piece = std::min(round_up(bytes + alignment, growth_bytes(is_shareable())), capacity_ - old);
  back(old, piece);
  grown_.store(old + piece, std::memory_order_release);
  add_free(old, piece);
}

// Asked for here, so that a full memory is an error now and not a SIGBUS at first touch.
void Segment::back(std::size_t from, std::size_t bytes) {
  if (!is_shareable()) {
    // A wish: where the system does not grant it, pages are small.
    if (bytes >= huge_page_bytes) madvise(mapping_.at(from), bytes, MADV_HUGEPAGE);
    return;
  }
  if (back_hugely(from, bytes)) return;
  if (!set_aside(memory_.number(), from, bytes)) {
    throw Error(ErrorCode::out_of_resources,
                "cannot grow the segment by " + std::to_string(bytes) + " bytes: " + std::strerror(errno));
  }
  // A wish, too (Linux 5.14): what small data are staged in goes round (`rest`), and each page's first touch, which
  // takes longer than to fill it, would be some call's.
  if (bytes <= growth_bytes(true)) madvise(mapping_.at(from), bytes, MADV_POPULATE_WRITE);
}

// In huge pages one after the other, so that what is backed has no holes: peers go by its length. Returns whether the
// system has them; what it has backed by then stays.
bool Segment::back_hugely(std::size_t from, std::size_t bytes) noexcept {
  for (std::size_t at = from; at < from + bytes; at += huge_page_bytes) {
    if (!set_aside(memory_.number(), at, 1) || !gather_into_huge_page(mapping_.at(at))) return false;
  }
  return true;
}

void Segment::release(std::uint64_t offset, LastRead last_read) {
  const std::lock_guard lock(mutex_);
  const auto found = used_.find(offset);
  if (found == used_.end()) {
    throw Error(ErrorCode::invalid_argument,
                "offset " + std::to_string(offset) + " is not the start of allocated segment memory");
  }
  const std::size_t bytes = found->second;
  used_.erase(found);
  in_use_ -= bytes;
  if (last_read == LastRead::by_owner) {
    add_free(offset, bytes);
  } else {
    rest(offset, bytes);
  }
}

void Segment::let_rest(std::size_t most_bytes) {
  const std::lock_guard lock(mutex_);
  most_resting_ = most_bytes;
  end_rest(most_resting_);
}

// What is large lets its own beginning rest by the time that its end is used. REQUIRES: mutex_ is held.
void Segment::rest(std::uint64_t offset, std::size_t bytes) {
  if (bytes >= most_resting_ / 2) {
    add_free(offset, bytes);
    return;
  }
  resting_.push_back({offset, bytes});
  resting_bytes_ += bytes;
  end_rest(most_resting_);
}

// Frees what has rested longest, but for `most_bytes`. REQUIRES: mutex_ is held.
void Segment::end_rest(std::size_t most_bytes) {
  while (resting_bytes_ > most_bytes) {
    const Range range = resting_.front();
    resting_.pop_front();
    resting_bytes_ -= range.bytes;
    add_free(range.offset, range.bytes);
  }
}

// Adds a free range, joined with its neighbours. REQUIRES: mutex_ is held.
void Segment::add_free(std::uint64_t offset, std::size_t bytes) {
  auto after = free_.lower_bound(offset);
  if (after != free_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == offset) {
      offset = before->first;
      bytes += before->second;
      free_.erase(before);
    }
  }
  if (after != free_.end() && offset + bytes == after->first) {
    bytes += after->second;
    free_.erase(after);
  }
  free_.emplace(offset, bytes);
}

std::size_t Segment::bytes_in_use() const {
  const std::lock_guard lock(mutex_);
  return in_use_;
}

}  // namespace stretto::fabric
