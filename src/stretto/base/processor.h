#pragma once

namespace stretto {

/// Whether this is one of AMD's processors, whose cores hand lines of their caches over in ways of their own (decision
/// 45).
inline bool on_amd() noexcept {
#if defined(__x86_64__)
  return __builtin_cpu_is("amd") != 0;
#else
  return false;
#endif
}

}  // namespace stretto
