#include "stretto/collective/kernels.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstring>
#include <functional>
#include <iterator>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "stretto/base/random.h"
#include "stretto/collective/reduction.h"

// Every kernel of every instruction set against one application of the operator after the other, bit by bit.
namespace stretto::kernels {
namespace {

/// out[i] = left[i] (+) right[i].
using Combine = std::function<void(void* out, const void* left, const void* right, std::size_t count)>;
/// The same, and once more to `also` if it is not null.
using CombineTwice = std::function<void(void* out, void* also, const void* left, const void* right, std::size_t count)>;

/// What an operator does to numbers. All else depends on their type alone: it is compiled once for ten operators.
template <class T>
struct Meant {
  T (*once)(T left, T right);
  bool is_sum = false;
  bool is_product = false;
};

template <class T, class Op>
constexpr Meant<T> meant = {.once = [](T left, T right) -> T { return Op{}(left, right); },
                            .is_sum = std::is_same_v<Op, Sum>,
                            .is_product = std::is_same_v<Op, Product>};

// Values that kernels could get wrong, and any others. Sums and products of signed integers must not overflow, which is
// undefined.
template <class T>
T value(Random& random, [[maybe_unused]] const Meant<T>& of) {
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
    if (std::is_signed_v<T> && of.is_sum) return static_cast<T>(any / 2);
    if (std::is_signed_v<T> && of.is_product) return static_cast<T>(any >> (4 * sizeof(T) + 1));
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

template <class T>
bool is_right(const Meant<T>& meant, T got, T left, T right) {
  const T expected = meant.once(left, right);
  // Which of two NaNs their sum is depends on the order in which the compiler has its operands.
  if constexpr (std::is_floating_point_v<T>) {
    if ((meant.is_sum || meant.is_product) && std::isnan(expected)) return std::isnan(got);
  }
  return have_same_bits(got, expected);
}

/// What is wrong with what `combine` does in this case; empty if nothing is.
template <class T>
std::string complaint(const Combine& combine, const Meant<T>& meant, const Case& what,
                      const std::array<Buffer<T>, 3>& values) {
  std::array<Buffer<T>, 3> used = values;
  const T* const left = used[1].elements.data() + what.left;
  const T* const right = used[2].elements.data() + what.right;
  const std::size_t target = what.place == Place::apart ? 0 : what.place == Place::left ? 1 : 2;
  const std::size_t skip = target == 0 ? what.out : target == 1 ? what.left : what.right;
  combine(used[target].elements.data() + skip, left, right, what.count);

  std::array<Buffer<T>, 3> expected = values;
  for (std::size_t i = 0; i < what.count; ++i) {
    T& got = used[target].elements[skip + i];
    if (!is_right(meant, got, values[1].elements[what.left + i], values[2].elements[what.right + i])) {
      return "element " + std::to_string(i) + " of " + std::to_string(what.count);
    }
    std::memcpy(&expected[target].elements[skip + i], &got, sizeof(T));
  }
  if (have_same_bits(used, expected)) return "";
  return "writes beyond its " + std::to_string(what.count) + " elements";
}

/// The first complaint of all lengths, places and alignments.
template <class T>
std::string complaint(const Combine& combine, const Meant<T>& meant) {
  Random random(26);
  std::array<Buffer<T>, 3> values;
  for (Buffer<T>& buffer : values) {
    for (T& element : buffer.elements) element = value(random, meant);
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
        const std::string said = complaint(combine, meant, {count, out, left, right, place}, values);
        if (!said.empty()) return said;
      }
    }
  }
  return "";
}

/// Stores twice by `combine`, the second time apart from all others or where the right terms are, and looks there.
template <class T>
Combine twice(const CombineTwice& combine, bool over_right) {
  return [&combine, over_right](void* out, const void* left, const void* right, std::size_t count) {
    std::vector<Buffer<T>> beside(1);
    const std::size_t skip = count % Buffer<T>::line;  // aligned otherwise than `out` is
    T* const also = beside[0].elements.data() + skip;
    if (over_right) std::memcpy(static_cast<void*>(also), right, count * sizeof(T));
    std::vector<Buffer<T>> expected = beside;
    combine(out, also, left, over_right ? also : right, count);
    std::memcpy(static_cast<void*>(expected[0].elements.data() + skip), out, count * sizeof(T));
    EXPECT_TRUE(have_same_bits(beside[0], expected[0])) << count << " elements, the second time";
  };
}

Combine once(const CombineTwice& combine) {
  return [&combine](void* out, const void* left, const void* right, std::size_t count) {
    combine(out, nullptr, left, right, count);
  };
}

template <class T>
void check(const CombineTwice& combine, const Meant<T>& meant, std::string_view name) {
  for (const Combine& each : {once(combine), twice<T>(combine, false), twice<T>(combine, true)}) {
    EXPECT_EQ(complaint(each, meant), "") << name;
  }
}

using CombineBy = void (*)(InstructionSet set, void* out, void* also, const void* left, const void* right,
                           std::size_t count) noexcept;

CombineTwice by(InstructionSet set, CombineBy combine) {
  return [set, combine](void* out, void* also, const void* left, const void* right, std::size_t count) {
    combine(set, out, also, left, right, count);
  };
}

CombineTwice by(const Reduction& reduction) {
  return [&reduction](void* out, void* also, const void* left, const void* right, std::size_t count) {
    if (also != nullptr) return reduction.combine_twice(nullptr, out, also, left, right, count);
    reduction.combine(nullptr, out, left, right, count);
  };
}

template <class T>
void check_kernels(CombineBy combine, const Reduction& reduction, const Meant<T>& meant, const std::string& name) {
  for (const InstructionSet set : {InstructionSet::base, InstructionSet::avx2, InstructionSet::avx512}) {
    if (is_supported(set)) check(by(set, combine), meant, name + " by " + std::string(name_of(set)));
  }
  check(by(reduction), meant, name);
}

template <class T, class Op>
void check_operator(const char* name) {
  check_kernels(&combine_by<T, Op>, reduction_of<T, Op>, meant<T, Op>, name);
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
  EXPECT_NE(complaint(&loop<NumberRatherThanNan>, meant<double, Minimum>), "");
  EXPECT_NE(complaint(&loop<RightOneOfEquals>, meant<double, Minimum>), "");
  EXPECT_NE(complaint(&loop<NoTail<Sum>>, meant<double, Sum>), "");
  EXPECT_NE(complaint(&loop<WholeVectors<Sum>>, meant<double, Sum>), "");
  EXPECT_NE(complaint(&loop<TakesItToBeAligned<Sum>>, meant<double, Sum>), "");
  EXPECT_NE(complaint(&loop<WritesBeforeItReads<Sum>>, meant<double, Sum>), "");
  EXPECT_NE(complaint(&loop<RoundedToFloat>, meant<double, Sum>), "");
  const CombineTwice product = by(InstructionSet::base, &combine_by<double, Product>);
  EXPECT_NE(complaint(once(product), meant<double, Sum>), "");
}

}  // namespace
}  // namespace stretto::kernels
