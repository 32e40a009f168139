#pragma once

#include <string>

namespace stretto::fabric {

/// How a process ended.
struct ExitStatus {
  bool signalled = false;
  int code = 0;  ///< the exit code, or the number of the signal

  bool success() const { return !signalled && code == 0; }
  /// As shells count: the exit code, or 128 + the signal.
  int shell_code() const { return signalled ? 128 + code : code; }
  /// "exited with code 7", "was killed by signal 9 (Killed)".
  std::string describe() const;
};

}  // namespace stretto::fabric
