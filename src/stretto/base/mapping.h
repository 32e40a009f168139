#pragma once

#include <cstddef>
#include <cstdint>

namespace stretto {

/// What the kernel maps by one entry of its tables where it can: 2 MiB on most machines. Elsewhere nothing depends on
/// it but speed.
inline constexpr std::size_t huge_page_bytes = std::size_t{2} << 20U;

/// Memory mapped into this process, undone on destruction. What is as long as a huge page begins where one may, so that
/// all who map the same file from its start on can have it in huge pages (`gather_into_huge_page`).
class Mapping {
 public:
  enum class Access : std::uint8_t { read, write };

  Mapping() = default;
  /// `bytes` of a file from `offset` on (a multiple of pages), shared with all who map it; where `descriptor` is -1,
  /// memory of this process alone. Nothing is set aside for it yet. Throws Error(out_of_resources).
  Mapping(int descriptor, std::size_t offset, std::size_t bytes, Access access);
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  std::byte* at(std::size_t offset) const noexcept { return base_ + offset; }

 private:
  std::byte* base_ = nullptr;
  void* room_ = nullptr;  // address space around it, so that it begins where it should
  std::size_t room_bytes_ = 0;
};

/// Makes the `huge_page_bytes` at `memory`, where one may begin, a huge page: shared memory of a file that has a page
/// there already, its hole filled with zeros. Takes no notice of the system's setting of when huge pages are made
/// unasked (Linux 6.1). Returns whether it is one now. Any thread.
bool gather_into_huge_page(std::byte* memory) noexcept;

}  // namespace stretto
