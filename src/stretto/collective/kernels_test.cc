#include "stretto/collective/kernels.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "stretto/base/random.h"
#include "stretto/collective/reduction.h"

// Every kernel of every instruction set against one application of the operator after the other, bit by bit.
namespace stretto::kernels {
namespace {

using Combine = void (*)(void* out, const void* left, const void* right, std::size_t count);

// Values that kernels could get wrong, and any others. Sums and products of signed integers must not overflow, which is
// undefined.
template <class T, class Op>
T value(Random& random) {
  if constexpr (std::is_floating_point_v<T>) {
    using Limits = std::numeric_limits<T>;
    const T special[] = {T{0},
                         -T{0},
                         Limits::infinity(),
                         -Limits::infinity(),
                         Limits::quiet_NaN(),
                         -Limits::quiet_NaN(),
                         Limits::denorm_min(),
                         -Limits::max(),
                         Limits::epsilon(),
                         T{1}};
    if (random.below(4) == 0) return special[random.below(std::size(special))];
    return static_cast<T>(std::ldexp(random.unit() - 0.5, static_cast<int>(random.below(80)) - 40));
  } else if constexpr (std::is_same_v<T, bool>) {
    return random.below(2) != 0;
  } else {
    if (random.below(3) == 0) return static_cast<T>(random.below(2));
    const auto any = static_cast<T>(random());
    if constexpr (std::is_signed_v<T> && std::is_same_v<Op, Sum>) return static_cast<T>(any / 2);
    if constexpr (std::is_signed_v<T> && std::is_same_v<Op, Product>) return static_cast<T>(any >> (4 * sizeof(T) + 1));
    return any;
  }
}

// Elements from a multiple of 64 bytes on.
template <class T>
struct alignas(64) Buffer {
  static constexpr std::size_t room = 2048 / sizeof(T);
  static constexpr std::size_t line = 64 / sizeof(T);
  std::array<T, room> elements;
};

enum class Place { apart, left, right };

// One application to `count` elements that begin somewhere in a line.
struct Case {
  std::size_t count;
  std::size_t out;
  std::size_t left;
  std::size_t right;
  Place place;
};

// Zeros of both signs differ, and a NaN is itself.
template <class T>
bool have_same_bits(const T& a, const T& b) {
  return std::memcmp(static_cast<const void*>(&a), static_cast<const void*>(&b), sizeof(T)) == 0;
}

template <class T, class Op>
bool is_right(T got, T left, T right) {
  const T expected = Op{}(left, right);
  // Which of two NaNs their sum is depends on the order in which the compiler has its operands.
  if constexpr (std::is_floating_point_v<T> && (std::is_same_v<Op, Sum> || std::is_same_v<Op, Product>)) {
    if (std::isnan(expected)) return std::isnan(got);
  }
  return have_same_bits(got, expected);
}

/// What is wrong with what `combine` does in this case; empty if nothing is.
template <class T, class Op>
std::string complaint(Combine combine, const Case& what, const std::array<Buffer<T>, 3>& values) {
  std::array<Buffer<T>, 3> used = values;
  const T* const left = used[1].elements.data() + what.left;
  const T* const right = used[2].elements.data() + what.right;
  const std::size_t target = what.place == Place::apart ? 0 : what.place == Place::left ? 1 : 2;
  const std::size_t skip = target == 0 ? what.out : target == 1 ? what.left : what.right;
  combine(used[target].elements.data() + skip, left, right, what.count);

  std::array<Buffer<T>, 3> expected = values;
  for (std::size_t i = 0; i < what.count; ++i) {
    T& got = used[target].elements[skip + i];
    if (!is_right<T, Op>(got, values[1].elements[what.left + i], values[2].elements[what.right + i])) {
      return "element " + std::to_string(i) + " of " + std::to_string(what.count);
    }
    std::memcpy(&expected[target].elements[skip + i], &got, sizeof(T));
  }
  if (have_same_bits(used, expected)) return "";
  return "writes beyond its " + std::to_string(what.count) + " elements";
}

/// The first complaint of all lengths, places and alignments.
template <class T, class Op>
std::string complaint(Combine combine) {
  Random random(26);
  std::array<Buffer<T>, 3> values;
  for (Buffer<T>& buffer : values) {
    for (T& element : buffer.elements) element = value<T, Op>(random);
  }
  constexpr std::size_t line = Buffer<T>::line;
  constexpr std::size_t most = Buffer<T>::room - line;
  std::vector<std::size_t> counts = {most, most - 1, most - line + 1, 1024 / sizeof(T), 1024 / sizeof(T) - 1};
  for (std::size_t count = 0; count <= std::min(most, std::size_t{69}); ++count) counts.push_back(count);
  for (const std::size_t count : counts) {
    for (int alignment = 0; alignment < 6; ++alignment) {
      const std::size_t out = random.below(line);
      const std::size_t left = random.below(line);
      const std::size_t right = random.below(line);
      for (const Place place : {Place::apart, Place::left, Place::right}) {
        const std::string said = complaint<T, Op>(combine, {count, out, left, right, place}, values);
        if (!said.empty()) return said;
      }
    }
  }
  return "";
}

template <class T, class Op, InstructionSet set>
void by(void* out, const void* left, const void* right, std::size_t count) {
  combine_by<T, Op>(set, out, nullptr, left, right, count);
}

template <class T, class Op>
void by_reduction(void* out, const void* left, const void* right, std::size_t count) {
  reduction_of<T, Op>.combine(nullptr, out, left, right, count);
}

// Stores twice by `combine`, the second time apart from all others or where the right terms are, and looks there.
template <class T, bool over_right, class CombineTwice>
void twice(const CombineTwice& combine, const void* out, const void* right, std::size_t count) {
  std::vector<Buffer<T>> beside(1);
  const std::size_t skip = count % Buffer<T>::line;  // aligned otherwise than `out` is
  T* const also = beside[0].elements.data() + skip;
  if (over_right) std::memcpy(static_cast<void*>(also), right, count * sizeof(T));
  std::vector<Buffer<T>> expected = beside;
  combine(also, over_right ? also : right);
  std::memcpy(static_cast<void*>(expected[0].elements.data() + skip), out, count * sizeof(T));
  EXPECT_TRUE(have_same_bits(beside[0], expected[0])) << count << " elements, the second time";
}

template <class T, class Op, InstructionSet set, bool over_right>
void twice_by(void* out, const void* left, const void* right, std::size_t count) {
  const auto combine = [&](void* also, const void* terms) { combine_by<T, Op>(set, out, also, left, terms, count); };
  twice<T, over_right>(combine, out, right, count);
}

template <class T, class Op, bool over_right>
void twice_by_reduction(void* out, const void* left, const void* right, std::size_t count) {
  const auto combine = [&](void* also, const void* terms) {
    reduction_of<T, Op>.combine_twice(nullptr, out, also, left, terms, count);
  };
  twice<T, over_right>(combine, out, right, count);
}

template <class T, class Op, InstructionSet set>
void check_instruction_set(const char* name) {
  if (!is_supported(set)) return;
  for (const Combine each : {&by<T, Op, set>, &twice_by<T, Op, set, false>, &twice_by<T, Op, set, true>}) {
    EXPECT_EQ((complaint<T, Op>(each)), "") << name;
  }
}

template <class T, class Op>
void check_operator(const char* name) {
  check_instruction_set<T, Op, InstructionSet::base>(name);
  check_instruction_set<T, Op, InstructionSet::avx2>(name);
  check_instruction_set<T, Op, InstructionSet::avx512>(name);
  for (const Combine each :
       {&by_reduction<T, Op>, &twice_by_reduction<T, Op, false>, &twice_by_reduction<T, Op, true>}) {
    EXPECT_EQ((complaint<T, Op>(each)), "") << name;
  }
}

template <class T>
class KernelsTest : public testing::Test {};
using Types = testing::Types<bool, char, signed char, unsigned char, wchar_t, short, unsigned short, int, unsigned,
                             long, unsigned long, long long, unsigned long long, float, double>;
TYPED_TEST_SUITE(KernelsTest, Types);

TYPED_TEST(KernelsTest, EveryElementIsOneApplicationOfTheOperator) {
  static_assert(Number<TypeParam>);
  check_operator<TypeParam, Sum>("sum");
  check_operator<TypeParam, Product>("product");
  check_operator<TypeParam, Minimum>("minimum");
  check_operator<TypeParam, Maximum>("maximum");
  check_operator<TypeParam, LogicalAnd>("logical_and");
  check_operator<TypeParam, LogicalOr>("logical_or");
  check_operator<TypeParam, LogicalXor>("logical_xor");
  if constexpr (std::is_integral_v<TypeParam>) {
    check_operator<TypeParam, BitwiseAnd>("bitwise_and");
    check_operator<TypeParam, BitwiseOr>("bitwise_or");
    check_operator<TypeParam, BitwiseXor>("bitwise_xor");
  }
}

TEST(Kernels, TheBestInstructionSetIsSupported) {
  EXPECT_TRUE(is_supported(InstructionSet::base));
  EXPECT_TRUE(is_supported(best_instruction_set()));
  for (const InstructionSet better : {InstructionSet::avx2, InstructionSet::avx512}) {
    EXPECT_TRUE(better <= best_instruction_set() || !is_supported(better)) << name_of(better);
  }
}

TEST(Kernels, Avx2WasTried) {
  if (!is_supported(InstructionSet::avx2)) GTEST_SKIP() << "this processor has no AVX2: its kernels were not tried";
}

TEST(Kernels, Avx512WasTried) {
  if (!is_supported(InstructionSet::avx512)) {
    GTEST_SKIP() << "this processor has no AVX-512, or is slowed by it: its kernels were not tried";
  }
}

TEST(Kernels, OtherTypesAndOperatorsKeepTheirOwnLoops) {
  static_assert(!Number<long double> && !Number<std::complex<double>> && !Number<const double>);
  struct Own : Sum {};
  static_assert(!Operator<Own>);
  long double out = 0;
  const long double left = 2;
  const long double right = 3;
  reduction_of<long double, Product>.combine(nullptr, &out, &left, &right, 1);
  EXPECT_EQ(out, 6);
}

// Loops with the faults that vectors tempt to. Each calls itself a minimum or a sum of doubles.
template <class Loop>
void loop(void* out, const void* left, const void* right, std::size_t count) {
  Loop()(static_cast<double*>(out), static_cast<const double*>(left), static_cast<const double*>(right), count);
}
struct NumberRatherThanNan {
  void operator()(double* out, const double* left, const double* right, std::size_t count) const {
    for (std::size_t i = 0; i < count; ++i) out[i] = std::fmin(left[i], right[i]);
  }
};
struct RightOneOfEquals {  // matters for zeros of two signs
  void operator()(double* out, const double* left, const double* right, std::size_t count) const {
    for (std::size_t i = 0; i < count; ++i) out[i] = left[i] < right[i] ? left[i] : right[i];
  }
};
template <class Op>
struct NoTail {
  void operator()(double* out, const double* left, const double* right, std::size_t count) const {
    for (std::size_t i = 0; i < count / 4 * 4; ++i) out[i] = Op{}(left[i], right[i]);
  }
};
template <class Op>
struct WholeVectors {
  void operator()(double* out, const double* left, const double* right, std::size_t count) const {
    for (std::size_t i = 0; i < (count + 3) / 4 * 4; ++i) out[i] = Op{}(left[i], right[i]);
  }
};
template <class Op>
struct TakesItToBeAligned {
  void operator()(double* out, const double* left, const double* right, std::size_t count) const {
    const std::size_t skip = reinterpret_cast<std::size_t>(out) % 32 / sizeof(double);
    for (std::size_t i = 0; i < count; ++i) out[i] = Op{}(left[i], right[i]);
    if (count > skip) out[0] = Op{}(left[skip], right[skip]);
  }
};
template <class Op>
struct WritesBeforeItReads {
  void operator()(double* out, const double* left, const double* right, std::size_t count) const {
    for (std::size_t i = 0; i < count; ++i) {
      out[i] = left[i];
      out[i] = Op{}(out[i], right[i]);
    }
  }
};
struct RoundedToFloat {
  void operator()(double* out, const double* left, const double* right, std::size_t count) const {
    for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<float>(left[i] + right[i]);
  }
};

TEST(Kernels, BrokenOnesAreCaught) {
  EXPECT_NE((complaint<double, Minimum>(&loop<NumberRatherThanNan>)), "");
  EXPECT_NE((complaint<double, Minimum>(&loop<RightOneOfEquals>)), "");
  EXPECT_NE((complaint<double, Sum>(&loop<NoTail<Sum>>)), "");
  EXPECT_NE((complaint<double, Sum>(&loop<WholeVectors<Sum>>)), "");
  EXPECT_NE((complaint<double, Sum>(&loop<TakesItToBeAligned<Sum>>)), "");
  EXPECT_NE((complaint<double, Sum>(&loop<WritesBeforeItReads<Sum>>)), "");
  EXPECT_NE((complaint<double, Sum>(&loop<RoundedToFloat>)), "");
  EXPECT_NE((complaint<double, Sum>(&by<double, Product, InstructionSet::base>)), "");
}

}  // namespace
}  // namespace stretto::kernels
