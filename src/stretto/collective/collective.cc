#include "stretto/collective/collective.h"

namespace stretto::detail {

void require_size(std::string_view operation, std::string_view buffer, std::size_t is, std::size_t should_be) {
  if (is == should_be) return;
  throw Error(ErrorCode::invalid_argument, std::string(operation) + ": " + std::string(buffer) + " has " +
                                               std::to_string(is) + " elements where " + std::to_string(should_be) +
                                               " are needed");
}

}  // namespace stretto::detail
