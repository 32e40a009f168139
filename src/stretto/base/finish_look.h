#pragma once

namespace stretto {

/// For loops that look at memory until another processor has written to it: a look that found nothing is over before
/// the next one begins (decision 45). A processor that looks many times ahead has to take all those looks back when the
/// memory changes, in the very moment in which it could go on.
inline void finish_look() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_lfence();
#endif
}

}  // namespace stretto
