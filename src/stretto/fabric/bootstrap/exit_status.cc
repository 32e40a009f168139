#include "stretto/fabric/bootstrap/exit_status.h"

#include <cstring>

namespace stretto::fabric {

std::string ExitStatus::describe() const {
  if (!signalled) return "exited with code " + std::to_string(code);
  const char* name = ::sigdescr_np(code);
  return "was killed by signal " + std::to_string(code) + (name == nullptr ? "" : " (" + std::string(name) + ")");
}

}  // namespace stretto::fabric
