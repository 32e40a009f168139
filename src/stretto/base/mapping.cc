#include "stretto/base/mapping.h"

#include <linux/mman.h>  // MADV_COLLAPSE, which the C library of Debian 12 does not know yet
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "stretto/base/error.h"
#include "stretto/base/page.h"

namespace stretto {

namespace {

[[noreturn]] void fail(std::size_t bytes, int reason) {
  throw Error(ErrorCode::out_of_resources, "cannot map " + std::to_string(bytes) + " bytes: " + std::strerror(reason));
}

std::byte* aligned(void* room) noexcept {
  const std::size_t beyond = reinterpret_cast<std::uintptr_t>(room) % huge_page_bytes;
  return static_cast<std::byte*>(room) + (beyond == 0 ? 0 : huge_page_bytes - beyond);
}

}  // namespace

Mapping::Mapping(int descriptor, std::size_t offset, std::size_t bytes, Access access) {
  const int protection = access == Access::write ? PROT_READ | PROT_WRITE : PROT_READ;
  const int kind = (descriptor >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS) | MAP_NORESERVE;
  const auto map = [&](void* place, int fixed) {
    return mmap(place, bytes, protection, kind | fixed, descriptor, static_cast<off_t>(offset));
  };
  if (bytes < huge_page_bytes) {
    room_bytes_ = bytes;
    room_ = map(nullptr, 0);
    if (room_ == MAP_FAILED) fail(bytes, errno);
    base_ = static_cast<std::byte*>(room_);
    return;
  }
  room_bytes_ = bytes + huge_page_bytes;
  if (room_bytes_ < bytes) fail(bytes, ENOMEM);
  room_ = mmap(nullptr, room_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room_ == MAP_FAILED) fail(bytes, errno);
  base_ = aligned(room_);
  if (map(base_, MAP_FIXED) == MAP_FAILED) {
    const int reason = errno;
    munmap(room_, room_bytes_);
    fail(bytes, reason);
  }
}

Mapping::Mapping(Mapping&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)),
      room_(std::exchange(other.room_, nullptr)),
      room_bytes_(std::exchange(other.room_bytes_, 0)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(room_, other.room_);
  std::swap(room_bytes_, other.room_bytes_);
  return *this;
}

Mapping::~Mapping() {
  if (base_ != nullptr) munmap(room_, room_bytes_);
}

// Where pages are not of 4 KiB, huge pages have other sizes, and the kernel would take the call for one about nothing.
bool gather_into_huge_page(std::byte* memory) noexcept {
  return page_bytes() == 4096 && madvise(memory, huge_page_bytes, MADV_COLLAPSE) == 0;
}

}  // namespace stretto
