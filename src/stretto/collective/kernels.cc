#include "stretto/collective/kernels.h"

#include <algorithm>
#include <cstdint>

// Each instruction set has its function by an attribute, not by compiler flags for a file of its own: whatever inline
// function of a header such a file would leave to the linker might be taken for the whole program. And it is chosen by
// a branch, not by the dynamic linker (`target_clones`), whose resolvers run before the sanitizers are up.
#if defined(__x86_64__)
#define STRETTO_KERNELS_X86 1
#endif

// `out` is one of the others or apart from both, so that no element depends on another one. Clang has to be told so, or
// it takes single elements where `out` is `left`; four vectors at a time, its choice, are slower where data are small.
#if defined(__clang__)
#define STRETTO_KERNELS_INDEPENDENT _Pragma("clang loop vectorize(assume_safety) interleave(disable)")
// Where it is not optimised, it is not vectorised either, of which Clang warns.
#pragma clang diagnostic ignored "-Wpass-failed"
#elif defined(__GNUC__)
#define STRETTO_KERNELS_INDEPENDENT _Pragma("GCC ivdep")
#else
#define STRETTO_KERNELS_INDEPENDENT
#endif

namespace stretto::kernels {

namespace {

// The one loop. Inlined, it is compiled for the instruction set of its caller.
template <bool twice, class T, class Op>
[[gnu::always_inline]] inline void apply(T* out, [[maybe_unused]] T* also, const T* left, const T* right,
                                         std::size_t count) {
  STRETTO_KERNELS_INDEPENDENT
  for (std::size_t i = 0; i < count; ++i) {
    const T result = Op{}(left[i], right[i]);
    out[i] = result;
    if constexpr (twice) also[i] = result;
  }
}

template <class T, class Op>
void by_base(T* out, T* also, const T* left, const T* right, std::size_t count) {
  if (also != nullptr) return apply<true, T, Op>(out, also, left, right, count);
  apply<false, T, Op>(out, also, left, right, count);
}

#if defined(STRETTO_KERNELS_X86)
// The allocator aligns to 16 bytes. Then every second store, or each, would touch two cache lines: so a few elements go
// first.
template <std::size_t vector_bytes, bool twice, class T, class Op>
[[gnu::always_inline]] inline void apply_aligned(T* out, T* also, const T* left, const T* right, std::size_t count) {
  constexpr std::size_t worth_aligning = 1024;
  const std::size_t over = reinterpret_cast<std::uintptr_t>(out) % vector_bytes;
  if (over != 0 && count * sizeof(T) >= worth_aligning) {
    const std::size_t head = (vector_bytes - over) / sizeof(T);
    apply<twice, T, Op>(out, also, left, right, head);
    out += head;
    if constexpr (twice) also += head;
    left += head;
    right += head;
    count -= head;
  }
  apply<twice, T, Op>(out, also, left, right, count);
}

template <class T, class Op>
[[gnu::target("avx2")]] void by_avx2(T* out, T* also, const T* left, const T* right, std::size_t count) {
  if (also != nullptr) return apply_aligned<32, true, T, Op>(out, also, left, right, count);
  apply_aligned<32, false, T, Op>(out, also, left, right, count);
}

#if defined(__clang__)
#define STRETTO_KERNELS_AVX512 gnu::target("avx512f,avx512bw,avx512dq,avx512vl"), clang::min_vector_width(512)
#else
#define STRETTO_KERNELS_AVX512 gnu::target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")
#endif

template <class T, class Op>
[[STRETTO_KERNELS_AVX512]] void by_avx512(T* out, T* also, const T* left, const T* right, std::size_t count) {
  if (also != nullptr) return apply_aligned<64, true, T, Op>(out, also, left, right, count);
  apply_aligned<64, false, T, Op>(out, also, left, right, count);
}
#endif

}  // namespace

std::string_view name_of(InstructionSet set) noexcept {
  switch (set) {
    case InstructionSet::base: break;
    case InstructionSet::avx2: return "AVX2";
    case InstructionSet::avx512: return "AVX-512";
  }
  return "base";
}

bool is_supported(InstructionSet set) noexcept {
#if defined(STRETTO_KERNELS_X86)
  if (set == InstructionSet::avx2) return __builtin_cpu_supports("avx2") != 0;
  // The last one came with the processors that do not lower their clock for such vectors (Ice Lake, Zen 4).
  if (set == InstructionSet::avx512) {
    return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
           __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
           __builtin_cpu_supports("avx512vbmi2") != 0;
  }
#endif
  return set == InstructionSet::base;
}

namespace {

InstructionSet find_best() noexcept {
  if (is_supported(InstructionSet::avx512)) return InstructionSet::avx512;
  return is_supported(InstructionSet::avx2) ? InstructionSet::avx2 : InstructionSet::base;
}

// Until it is set at the program's start: the first one, which gives the same bits.
const InstructionSet best_of_processor = find_best();

}  // namespace

InstructionSet best_instruction_set() noexcept { return best_of_processor; }

template <Number T, Operator Op>
void combine_by([[maybe_unused]] InstructionSet set, void* out, void* also, const void* left, const void* right,
                std::size_t count) noexcept {
  T* const to = static_cast<T*>(out);
  T* const too = static_cast<T*>(also);
  const T* const a = static_cast<const T*>(left);
  const T* const b = static_cast<const T*>(right);
#if defined(STRETTO_KERNELS_X86)
  if (set == InstructionSet::avx512) return by_avx512<T, Op>(to, too, a, b, count);
  if (set == InstructionSet::avx2) return by_avx2<T, Op>(to, too, a, b, count);
#endif
  by_base<T, Op>(to, too, a, b, count);
}

template <Number T, Operator Op>
void combine(const void* /*op*/, void* out, const void* left, const void* right, std::size_t count) noexcept {
  if (count == 1) {  // as in many reductions: not worth the choice
    *static_cast<T*>(out) = Op{}(*static_cast<const T*>(left), *static_cast<const T*>(right));
    return;
  }
  combine_by<T, Op>(best_instruction_set(), out, nullptr, left, right, count);
}

template <Number T, Operator Op>
void combine_twice(const void* /*op*/, void* out, void* also, const void* left, const void* right,
                   std::size_t count) noexcept {
  combine_by<T, Op>(best_instruction_set(), out, also, left, right, count);
}

#define STRETTO_KERNELS_OF(T, Op)                                                                                \
  template void combine<T, Op>(const void*, void*, const void*, const void*, std::size_t) noexcept;              \
  template void combine_twice<T, Op>(const void*, void*, void*, const void*, const void*, std::size_t) noexcept; \
  template void combine_by<T, Op>(InstructionSet, void*, void*, const void*, const void*, std::size_t) noexcept;

#define STRETTO_KERNELS_OF_NUMBERS(T) \
  STRETTO_KERNELS_OF(T, Sum)          \
  STRETTO_KERNELS_OF(T, Product)      \
  STRETTO_KERNELS_OF(T, Minimum)      \
  STRETTO_KERNELS_OF(T, Maximum)      \
  STRETTO_KERNELS_OF(T, LogicalAnd)   \
  STRETTO_KERNELS_OF(T, LogicalOr)    \
  STRETTO_KERNELS_OF(T, LogicalXor)

#define STRETTO_KERNELS_OF_INTEGERS(T) \
  STRETTO_KERNELS_OF_NUMBERS(T)        \
  STRETTO_KERNELS_OF(T, BitwiseAnd)    \
  STRETTO_KERNELS_OF(T, BitwiseOr)     \
  STRETTO_KERNELS_OF(T, BitwiseXor)

STRETTO_KERNELS_OF_INTEGERS(bool)
STRETTO_KERNELS_OF_INTEGERS(char)
STRETTO_KERNELS_OF_INTEGERS(signed char)
STRETTO_KERNELS_OF_INTEGERS(unsigned char)
STRETTO_KERNELS_OF_INTEGERS(wchar_t)
STRETTO_KERNELS_OF_INTEGERS(short)
STRETTO_KERNELS_OF_INTEGERS(unsigned short)
STRETTO_KERNELS_OF_INTEGERS(int)
STRETTO_KERNELS_OF_INTEGERS(unsigned)
STRETTO_KERNELS_OF_INTEGERS(long)
STRETTO_KERNELS_OF_INTEGERS(unsigned long)
STRETTO_KERNELS_OF_INTEGERS(long long)
STRETTO_KERNELS_OF_INTEGERS(unsigned long long)
STRETTO_KERNELS_OF_NUMBERS(float)
STRETTO_KERNELS_OF_NUMBERS(double)

}  // namespace stretto::kernels
