#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "stretto/collective/test_support.h"
#include "stretto/core/node.h"
#include "stretto/core/task.h"
#include "stretto/fabric/context.h"

/// For tests: operators of users, in which the order of the terms matters, and that are tasks.
namespace stretto::test {

/// Compose, of words: each is an Affine.
struct ComposeWords {
  std::uint64_t flaw = 0;  ///< to be seen in every result: zero but where a test does wrong on purpose

  std::uint64_t operator()(std::uint64_t f, std::uint64_t g) const {
    return std::bit_cast<std::uint64_t>(Compose()(std::bit_cast<Affine>(f), std::bit_cast<Affine>(g))) ^ flaw;
  }
};

/// An operator on elements as one that is a task: a function.
template <class T, class Op>
struct AtOnce {
  Op op = {};

  void operator()(Node& /*node*/, std::span<T> out, std::span<const T> left, std::span<const T> right) const {
    EXPECT_FALSE(fabric::Context::serving());
    std::transform(left.begin(), left.end(), right.begin(), out.begin(), op);
  }
};

/// The same, a coroutine that has the halves of its vectors combined by others.
template <class T, class Op>
struct ByHalves {
  Op op = {};

  Task<> operator()(Node& node, std::span<T> out, std::span<const T> left, std::span<const T> right) const {
    const std::size_t half = out.size() / 2;
    const AtOnce<T, Op> at_once{op};
    const auto combine = [=](Node& here, std::size_t first, std::size_t count) {
      at_once(here, out.subspan(first, count), left.subspan(first, count), right.subspan(first, count));
    };
    const Event other = node.spawn([=](Node& here) { combine(here, half, out.size() - half); });
    combine(node, 0, half);
    co_await other;
  }
};

}  // namespace stretto::test
