#pragma once

#include <sched.h>

#include <cstddef>
#include <memory>

namespace stretto {

/// Cores of a machine, by the numbers that the system gives them, however many it has.
class CoreSet {
 public:
  /// As sched_getaffinity, which fails with EINVAL where the machine may have more cores than the set has room for.
  using Query = int (*)(pid_t thread, std::size_t bytes, cpu_set_t* set);

  /// Empty, with room for the numbers below `most`.
  explicit CoreSet(std::size_t most) noexcept;
  /// Those that the calling thread may run on; none where the system does not tell.
  static CoreSet usable(Query query = sched_getaffinity) noexcept;

  /// All numbers are below it.
  std::size_t most() const noexcept { return bytes_ * 8; }
  std::size_t count() const noexcept;
  bool has(std::size_t core) const noexcept;
  void add(std::size_t core) noexcept;
  /// Keeps the calling thread, and those that it starts later, on them.
  void bind_thread() const noexcept;

 private:
  struct Free {
    void operator()(cpu_set_t* set) const noexcept { CPU_FREE(set); }
  };

  std::unique_ptr<cpu_set_t, Free> set_;
  std::size_t bytes_;  ///< 0 where there is no memory
};

}  // namespace stretto
