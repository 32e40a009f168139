#pragma once

// The seeds of a randomised test, one of which is told when the test crashes or is stopped.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <utility>
#include <vector>

namespace stretto::test {

/// Says on standard error, when a signal ends the process, which seed was at work and how to run it again. Where nodes
/// of one process go through seeds side by side, the one that was begun last. Any thread.
class SeedAtWork {
 public:
  static void begin(std::uint64_t seed) {
    catch_signals();
    const std::lock_guard lock(mutex);
    end();
    const testing::TestInfo* const test = testing::UnitTest::GetInstance()->current_test_info();
    const char* const suite = test != nullptr ? test->test_suite_name() : "*";
    const char* const name = test != nullptr ? test->name() : "*";
    const int written = std::snprintf(
        line.data(), line.size(), "\nseed %llu was at work; again: STRETTO_TEST_SEED=%llu %s --gtest_filter='%s.%s'\n",
        static_cast<unsigned long long>(seed), static_cast<unsigned long long>(seed), program_invocation_name, suite,
        name);
    length.store(std::min(static_cast<std::size_t>(std::max(written, 0)), line.size()));
  }
  static void end() { length.store(0); }

 private:
  static constexpr std::array signals{SIGABRT, SIGSEGV, SIGTERM};

  static void catch_signals() {
    static const bool once = [] {
      for (std::size_t i = 0; i < signals.size(); ++i) {
        struct sigaction action = {};
        action.sa_handler = &tell;
        sigaction(signals[i], &action, &before[i]);
      }
      return true;
    }();
    static_cast<void>(once);
  }

  /// Then the signal does what it would have done.
  static void tell(int signal) {
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), length.load());
    for (std::size_t i = 0; i < signals.size(); ++i) sigaction(signals[i], &before[i], nullptr);
    if (signal != SIGSEGV) raise(signal);  // what failed is tried again, and a sanitizer reports it as its own
  }

  static inline std::mutex mutex;  // of who writes the line
  static inline std::array<char, 1024> line{};
  static inline std::atomic<std::size_t> length{0};
  static inline std::array<struct sigaction, signals.size()> before{};
};

/// For a loop over them: while its body runs with a seed, that is at work.
class Seeds {
 public:
  explicit Seeds(std::vector<std::uint64_t> seeds) : seeds_(std::move(seeds)) {}
  ~Seeds() { SeedAtWork::end(); }
  Seeds(const Seeds&) = delete;
  Seeds& operator=(const Seeds&) = delete;

  class Iterator {
   public:
    explicit Iterator(const std::uint64_t* seed) : seed_(seed) {}
    std::uint64_t operator*() const {
      SeedAtWork::begin(*seed_);
      return *seed_;
    }
    Iterator& operator++() {
      ++seed_;
      return *this;
    }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    const std::uint64_t* seed_;
  };

  Iterator begin() const { return Iterator(seeds_.data()); }
  Iterator end() const { return Iterator(seeds_.data() + seeds_.size()); }

 private:
  std::vector<std::uint64_t> seeds_;
};

}  // namespace stretto::test
