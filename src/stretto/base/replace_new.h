#pragma once

// For tests of what memory is asked for. Replaces operator new: included by one source file of a program.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace stretto::test {

/// What the calling thread asks for.
struct MemoryRequests {
  std::uint64_t bytes = 0;           ///< so far
  std::uint64_t until_shortage = 0;  ///< the request of that number, from one, finds none; zero: there is memory
};
inline thread_local MemoryRequests memory_requests;  // determinism: a test's own count

/// While it lives, one request of this thread for memory finds none: that of that number, from one.
class Shortage {
 public:
  explicit Shortage(std::uint64_t number) { memory_requests.until_shortage = number; }
  ~Shortage() { memory_requests.until_shortage = 0; }
  Shortage(const Shortage&) = delete;
  Shortage& operator=(const Shortage&) = delete;

  static bool has_come() { return memory_requests.until_shortage == 0; }
};

}  // namespace stretto::test

// Not inlined: GCC would see half of each pair, and take the two for a mismatch.
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  stretto::test::MemoryRequests& requests = stretto::test::memory_requests;
  requests.bytes += bytes;
  const bool is_short = requests.until_shortage == 1;
  if (requests.until_shortage > 0) --requests.until_shortage;
  return is_short ? nullptr : std::malloc(bytes == 0 ? 1 : bytes);
}
void* operator new(std::size_t bytes) {
  if (void* const memory = operator new(bytes, std::nothrow)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
