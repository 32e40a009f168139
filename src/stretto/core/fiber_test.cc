#include "stretto/core/fiber.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "stretto/core/test_support.h"

namespace stretto {
namespace {

struct PingPong {
  std::unique_ptr<Fiber> home = std::make_unique<Fiber>();
  std::unique_ptr<Fiber> other;
  int count = 0;

  static void run(void* argument) {
    auto& self = *static_cast<PingPong*>(argument);
    for (;;) {
      ++self.count;
      Fiber::switch_stack(*self.other, *self.home);
    }
  }
};

TEST(Fiber, GoesBackAndForth) {
  PingPong game;
  game.other = std::make_unique<Fiber>(64 * 1024, true, &PingPong::run, &game);
  for (int i = 1; i <= 1000; ++i) {
    Fiber::switch_stack(*game.home, *game.other);
    EXPECT_EQ(game.count, i);
  }
}

TEST(Fiber, ExceptionsAreKeptApart) {
  struct Thrower {
    Fiber home;
    std::unique_ptr<Fiber> other;
    std::string seen;
    static void run(void* argument) {
      auto& self = *static_cast<Thrower*>(argument);
      try {
        throw std::runtime_error("there");
      } catch (const std::runtime_error& error) {
        Fiber::switch_stack(*self.other, self.home);
        self.seen = error.what();
      }
      for (;;) Fiber::switch_stack(*self.other, self.home);
    }
  } thrower;
  thrower.other = std::make_unique<Fiber>(64 * 1024, true, &Thrower::run, &thrower);
  try {
    throw std::logic_error("here");
  } catch (const std::logic_error&) {
    Fiber::switch_stack(thrower.home, *thrower.other);
    EXPECT_THROW(throw, std::logic_error);
    Fiber::switch_stack(thrower.home, *thrower.other);
  }
  EXPECT_EQ(thrower.seen, "there");
  EXPECT_EQ(std::current_exception(), nullptr);
}

TEST(Fiber, HasTheStackThatWasAskedFor) {
  struct Deep {
    Fiber home;
    std::unique_ptr<Fiber> other;
    std::uint64_t sum = 0;
    static void run(void* argument) {
      auto& self = *static_cast<Deep*>(argument);
      volatile std::uint8_t bytes[400 * 1024];
      for (std::size_t i = 0; i < sizeof bytes; ++i) bytes[i] = 1;
      for (std::size_t i = 0; i < sizeof bytes; ++i) self.sum += bytes[i];
      for (;;) Fiber::switch_stack(*self.other, self.home);
    }
  } deep;
  deep.other = std::make_unique<Fiber>(512 * 1024, true, &Deep::run, &deep);
  Fiber::switch_stack(deep.home, *deep.other);
  EXPECT_EQ(deep.sum, 400U * 1024);
}

TEST(Fiber, ThousandsAreMadeAndDropped) {
  for (const bool guarded : {false, true}) {
    PingPong game;
    std::vector<std::unique_ptr<Fiber>> fibers;
    for (std::uint64_t i = 0; i < test::scaled(5000); ++i) {
      game.other = std::make_unique<Fiber>(16 * 1024, guarded, &PingPong::run, &game);
      Fiber::switch_stack(*game.home, *game.other);
      fibers.push_back(std::move(game.other));
    }
    EXPECT_EQ(game.count, static_cast<int>(test::scaled(5000)));
  }
}

TEST(Fiber, AStackThatCannotBeIsAnError) {
  EXPECT_EQ(test::code_of([] { Fiber(std::size_t{1} << 60U, true, &PingPong::run, nullptr); }), "out_of_resources");
}

}  // namespace
}  // namespace stretto
