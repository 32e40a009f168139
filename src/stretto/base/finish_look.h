#pragma once

#include "stretto/base/processor.h"

namespace stretto {

/// For loops that look at memory until another processor has written to it: a look that found nothing is over before
/// the next one begins, which is how the change is acted upon soonest (measured: decision 45).
inline void finish_look() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_lfence();
#endif
}

/// The same where a single cache line is looked at. Left out on AMD's processors, where it gains nothing for one line,
/// and makes who waits 7 to 12 ns later (measured: decision 45).
inline void finish_look_at_line() noexcept {
  if (!on_amd()) finish_look();
}

}  // namespace stretto
