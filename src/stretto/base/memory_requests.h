#pragma once

#include <cstdint>

// For tests of what memory is asked for, of programs one of whose source files includes replace_new.h.

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
