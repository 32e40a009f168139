#include "stretto/fabric/cluster/tcp/frame_stream.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "stretto/base/error.h"
#include "stretto/fabric/cluster/network/carrier.h"
#include "stretto/fabric/cluster/network/frame.h"

namespace stretto::fabric::cluster::network {
namespace {

// More than any honest frame has; those that judge frames see what is a little too large, and name it.
constexpr std::size_t max_data_bytes = std::max(2 * max_message_bytes, most_piece_bytes);
constexpr unsigned header_bits = 12;
constexpr std::uint32_t header_mask = (1U << header_bits) - 1;
static_assert(FrameHeader::max_bytes <= header_mask && max_data_bytes < 1U << (32 - header_bits), "see prefix_of");

struct Sizes {
  std::size_t header;
  std::size_t data;
  std::size_t before_data() const noexcept { return sizeof(FramePrefix) + header; }
  std::size_t all() const noexcept { return before_data() + data; }
};

// REQUIRES: a whole prefix.
Sizes numbers_in(const std::byte* prefix) noexcept {
  std::uint32_t number = 0;
  for (unsigned i = 0; i < sizeof(FramePrefix); ++i) number |= std::to_integer<std::uint32_t>(prefix[i]) << (8U * i);
  return {number & header_mask, number >> header_bits};
}

// REQUIRES: a whole prefix.
Sizes sizes_of(const std::byte* prefix) {
  const Sizes sizes = numbers_in(prefix);
  if (sizes.header > FrameHeader::max_bytes || sizes.data > max_data_bytes) {
    throw Error(ErrorCode::bad_input, "the stream promises a frame with a header of " + std::to_string(sizes.header) +
                                          " and data of " + std::to_string(sizes.data) + " bytes");
  }
  return sizes;
}

}  // namespace

FramePrefix prefix_of(ConstByteSpan header, ConstByteSpan data) noexcept {
  const auto number = static_cast<std::uint32_t>(header.size() | data.size() << header_bits);
  FramePrefix prefix;
  for (unsigned i = 0; i < prefix.size(); ++i) prefix[i] = static_cast<std::byte>(number >> (8U * i));
  return prefix;
}

ByteSpan FrameReader::place(const PlaceFor& place_for) {
  if (partial_.size() < sizeof(FramePrefix)) return {};
  const Sizes sizes = sizes_of(partial_.data());
  if (partial_.size() < sizes.before_data()) return {};
  const bool was_known = !place_.empty();
  place_ = place_for(ConstByteSpan(partial_).subspan(sizeof(FramePrefix), sizes.header), sizes.data);
  if (place_.empty()) {
    // What was put where it belonged is gone, and nobody reads it any more.
    if (was_known) partial_.resize(sizes.before_data() + in_place_);
    return {};
  }
  if (!was_known) {
    const ConstByteSpan here = ConstByteSpan(partial_).subspan(sizes.before_data());
    std::copy(here.begin(), here.end(), place_.begin());
    in_place_ = here.size();
    partial_.resize(sizes.before_data());
  }
  return place_.subspan(in_place_);
}

bool FrameReader::is_in_large_frame() const noexcept {
  return partial_.size() >= sizeof(FramePrefix) && numbers_in(partial_.data()).data > max_message_bytes;
}

void FrameReader::filled(std::size_t bytes, const OnFrame& on_frame) {
  in_place_ += bytes;
  if (in_place_ < place_.size()) return;
  on_frame(ConstByteSpan(partial_).subspan(sizeof(FramePrefix)), std::exchange(place_, {}));
  partial_.clear();
}

void FrameReader::read(ConstByteSpan arrived, const OnFrame& on_frame) {
  const auto hand_over = [&](const std::byte* frame, const Sizes& sizes) {
    const std::byte* const header = frame + sizeof(FramePrefix);
    on_frame({header, sizes.header}, {header + sizes.header, sizes.data});
  };
  const auto complete = [&](std::size_t bytes) {
    const std::size_t more = std::min(bytes - partial_.size(), arrived.size());
    partial_.insert(partial_.end(), arrived.begin(), arrived.begin() + static_cast<std::ptrdiff_t>(more));
    arrived = arrived.subspan(more);
    return partial_.size() == bytes;
  };
  if (!partial_.empty()) {
    if (partial_.size() < sizeof(FramePrefix) && !complete(sizeof(FramePrefix))) return;
    const Sizes sizes = sizes_of(partial_.data());
    if (!complete(sizes.all())) return;
    hand_over(partial_.data(), sizes);
    partial_.clear();
  }
  while (arrived.size() >= sizeof(FramePrefix)) {
    const Sizes sizes = sizes_of(arrived.data());
    if (arrived.size() < sizes.all()) break;
    hand_over(arrived.data(), sizes);
    arrived = arrived.subspan(sizes.all());
  }
  partial_.assign(arrived.begin(), arrived.end());
}

}  // namespace stretto::fabric::cluster::network
