#pragma once

#include <array>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <optional>
#include <span>
#include <utility>

#include "conjugate_gradient/kernels.h"

namespace conjugate_gradient {

/// What a solver asks of whoever drives it, before it can go on: products, sums over all nodes, or both at once.
/// Both being there means that neither needs the other: they are to overlap.
class Step {
 public:
  explicit Step(Product product) : products_{product, {}}, count_(1) {}
  explicit Step(std::span<double> sums) : sums_(sums) {}
  Step(Product product, std::span<double> sums) : products_{product, {}}, count_(1), sums_(sums) {}
  Step(Product first, Product second) : products_{first, second}, count_(2) {}

  /// The products to compute together, after the ghosts of their inputs were filled by their owners: at most two.
  std::span<const Product> products() const noexcept { return std::span(products_).first(count_); }
  /// My partial sums, to be replaced by the sums over all nodes; none: empty.
  /// REQUIRES: every node gets the same bits, for each takes its decisions from them.
  std::span<double> sums() const noexcept { return sums_; }

 private:
  std::array<Product, 2> products_;
  std::size_t count_ = 0;
  std::span<double> sums_;
};

/// A coroutine that yields steps: lets a method be written as in its paper, with the communication left to its
/// driver. Owns the frame; resumed by one thread at a time, not always the same.
class Steps {
 public:
  struct promise_type {
    std::optional<Step> step;
    std::exception_ptr failure;

    Steps get_return_object() { return Steps(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(Step next) {
      step = next;
      return {};
    }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { failure = std::current_exception(); }
  };

  Steps(Steps&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  Steps& operator=(Steps&&) = delete;
  ~Steps() {
    if (frame_) frame_.destroy();
  }

  /// Runs up to the next step; null when there is none. Throws what the coroutine threw.
  const Step* next() {
    if (frame_.done()) return nullptr;
    frame_.resume();
    if (!frame_.done()) return &*frame_.promise().step;
    if (frame_.promise().failure) std::rethrow_exception(std::exchange(frame_.promise().failure, nullptr));
    return nullptr;
  }

 private:
  explicit Steps(std::coroutine_handle<promise_type> frame) : frame_(frame) {}

  std::coroutine_handle<promise_type> frame_;
};

}  // namespace conjugate_gradient
