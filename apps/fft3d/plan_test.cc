#include "fft3d/plan.h"

#include <gtest/gtest.h>

#include "fft3d/field.h"
#include "fft3d/test_support.h"

namespace fft3d {
namespace {

std::vector<Complex> some(std::size_t count) {
  std::vector<Complex> data(count);
  fill(data, 0);
  return data;
}

void expect_near(std::span<const Complex> is, std::span<const Complex> should_be) {
  ASSERT_EQ(is.size(), should_be.size());
  for (std::size_t i = 0; i < is.size(); ++i) EXPECT_LT(std::abs(is[i] - should_be[i]), 1e-12) << i;
}

TEST(Plan, OneRowIsTransformedByTheDefinition) {
  for (std::size_t size = 1; size <= 32; ++size) {
    std::vector<Complex> data = some(size);
    Plan::plane(1, size, Direction::forward).apply(data);
    expect_near(data, by_definition(some(size), -1));
    data = some(size);
    Plan::plane(size, 1, Direction::backward).apply(data);
    expect_near(data, by_definition(some(size), +1));
  }
}

TEST(Plan, AlongRowsTransformsColumnByColumn) {
  constexpr std::size_t rows = 6, columns = 5;
  std::vector<Complex> data = some(rows * columns);
  Plan::along_rows(rows, columns, Direction::forward).apply(data);
  for (std::size_t column = 0; column < columns; ++column) {
    std::vector<Complex> before, after;
    for (std::size_t row = 0; row < rows; ++row) {
      before.push_back(value_at(row * columns + column));
      after.push_back(data[row * columns + column]);
    }
    expect_near(after, by_definition(before, -1));
  }
}

// A plane is its rows, then its columns; a volume is its planes, then what lies behind each other.
TEST(Plan, DimensionsAreTransformedOneAfterTheOther) {
  constexpr std::size_t x = 3, y = 4, z = 5;
  std::vector<Complex> data = some(x * y * z);
  for (std::size_t plane = 0; plane < x; ++plane) {
    const auto part = std::span(data).subspan(plane * y * z, y * z);
    for (std::size_t row = 0; row < y; ++row) Plan::plane(1, z, Direction::forward).apply(part.subspan(row * z, z));
    Plan::along_rows(y, z, Direction::forward).apply(part);
    std::vector<Complex> whole = some(x * y * z);
    const auto expected = std::span(whole).subspan(plane * y * z, y * z);
    Plan::plane(y, z, Direction::forward).apply(expected);
    expect_near(part, expected);
  }
  Plan::along_rows(x, y * z, Direction::forward).apply(data);
  expect_near(data, serial_transform({x, y, z}));
}

TEST(Field, IsOfTheInterval) {
  for (std::size_t i = 0; i < 1000; ++i) {
    EXPECT_LT(std::abs(value_at(i).real()), 1 + 1e-15);
    EXPECT_NE(value_at(i), value_at(i + 1));
  }
}

TEST(Field, ErrorsAreSeen) {
  const std::array<std::size_t, 3> n{2, 3, 4};
  const std::vector<Complex> expected = serial_transform(n);
  std::vector<Complex> transposed(expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const std::size_t x = i / 12, y = i / 4 % 3, z = i % 4;
    transposed[(y * 2 + x) * 4 + z] = expected[i];
  }
  EXPECT_EQ(largest_error(n, transposed, expected), 0);
  EXPECT_GT(largest_error(n, expected, expected), 0.1) << "not transposed";
  std::swap(transposed[5], transposed[6]);
  EXPECT_GT(largest_error(n, transposed, expected), 1e-3);
  std::vector<Complex> part(10);
  fill(part, 7);
  for (Complex& value : part) value *= 4;
  EXPECT_EQ(largest_change(part, 7, 4), 0);
  EXPECT_GT(largest_change(part, 8, 4), 0.1);
}

}  // namespace
}  // namespace fft3d
