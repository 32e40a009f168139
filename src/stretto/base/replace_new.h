#pragma once

// For tests of what memory is asked for. Replaces operator new: included by one source file of a program.

#include <cstddef>
#include <cstdlib>
#include <new>

#include "stretto/base/memory_requests.h"

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

// Those of the library call the ones above, those of sanitizers do not.
[[gnu::noinline]] void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return operator new(bytes, std::nothrow);
}
[[gnu::noinline]] void* operator new[](std::size_t bytes) { return operator new(bytes); }
[[gnu::noinline]] void operator delete[](void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
