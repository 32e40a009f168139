#pragma once

#include <cstddef>
#include <string_view>
#include <type_traits>

#include "stretto/collective/operators.h"

/// The loops by which the operators of operators.h combine arrays of numbers. They are compiled once, for several
/// instruction sets, of which the processor's best one is taken at run time (decision 26). All of them give the same
/// bits: each element is one application of the operator, rounded on its own, so that nodes on different processors
/// agree. What may differ is which NaN a sum or a product of NaNs is, as between any two builds of a program.
namespace stretto::kernels {

enum class InstructionSet {
  base,    ///< what every processor has that Stretto is built for
  avx2,    ///< 32 bytes at a time, on x86-64
  avx512,  ///< 64 bytes at a time, on x86-64 whose processors do not slow down for it
};

/// "base", "AVX2", "AVX-512".
std::string_view name_of(InstructionSet set) noexcept;

bool is_supported(InstructionSet set) noexcept;

/// What `combine` uses in this process.
InstructionSet best_instruction_set() noexcept;

template <class T, class... Candidates>
concept OneOf = (std::is_same_v<T, Candidates> || ...);

/// The types that have kernels: no other type is worth vectors, or used often enough.
template <class T>
concept Number = OneOf<T, bool, char, signed char, unsigned char, wchar_t, short, unsigned short, int, unsigned, long,
                       unsigned long, long long, unsigned long long, float, double>;

template <class Op>
concept Operator =
    OneOf<Op, Sum, Product, Minimum, Maximum, LogicalAnd, LogicalOr, LogicalXor, BitwiseAnd, BitwiseOr, BitwiseXor>;

/// out[i] = left[i] (+) right[i] for `count` elements of T, by the best instruction set. `out` is `left`, `right`, or
/// apart from both. Has the type of Reduction::Combine; `op` is not looked at.
template <Number T, Operator Op>
void combine(const void* op, void* out, const void* left, const void* right, std::size_t count) noexcept;

/// The same, and once more to `also`, which is apart from `out`, and `left`, `right`, or apart from both. Has the type
/// of Reduction::CombineTwice.
template <Number T, Operator Op>
void combine_twice(const void* op, void* out, void* also, const void* left, const void* right,
                   std::size_t count) noexcept;

/// One or the other (`also` is null, or not) by this instruction set. REQUIRES: is_supported(set).
template <Number T, Operator Op>
void combine_by(InstructionSet set, void* out, void* also, const void* left, const void* right,
                std::size_t count) noexcept;

}  // namespace stretto::kernels
