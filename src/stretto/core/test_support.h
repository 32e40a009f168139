#pragma once

// What the tests of core, and of what is built on it, share: jobs in a line, expected errors.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stretto/base/arena.h"
#include "stretto/base/test_support.h"
#include "stretto/core/runtime.h"

namespace stretto::test {

inline RuntimeOptions options_for(const std::string& fabric, unsigned workers = 2) {
  RuntimeOptions options;
  options.fabric = fabric;
  options.workers = workers;
  options.segment_bytes = std::size_t{256} << 20U;
  return options;
}

/// Runs `main` on every node of such a job.
template <class F>
void run_on(const std::string& fabric, F main, unsigned workers = 2) {
  Runtime runtime(options_for(fabric, workers));
  runtime.run(std::move(main));
}

/// The Error that `call` throws, or nothing.
template <class F>
std::optional<Error> error_of(F&& call) {
  try {
    std::forward<F>(call)();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

/// Its code's name, or "none": for EXPECT_EQ.
template <class F>
std::string code_of(F&& call) {
  const std::optional<Error> error = error_of(std::forward<F>(call));
  return error.has_value() ? std::string(name_of(error->code())) : "none";
}

inline std::string code_of_cause(const Cause& cause) {
  return cause == nullptr ? "none" : std::string(name_of(cause->code()));
}

inline Cause a_cause(ErrorCode code, const std::string& message = "on purpose") {
  return std::make_shared<const Error>(code, message);
}

/// A waiter that notes what it was told. Lives in the arena, as waiters must.
struct Probe : Waiter {
  Probe() noexcept : Waiter(&Probe::note) {}

  static void note(Waiter* waiter, const Cause& why) noexcept {
    auto* const probe = static_cast<Probe*>(waiter);
    ++probe->fired;
    probe->cause = why;
  }

  int fired = 0;
  Cause cause;
};

}  // namespace stretto::test
