#include "stretto/fabric/message.h"

#include <string>

#include "stretto/base/error.h"

namespace stretto::fabric {

void refuse_header(const Message& message, std::size_t expected) {
  throw Error(ErrorCode::bad_input, "message of type " + std::to_string(static_cast<unsigned>(message.type)) +
                                        " from node " + std::to_string(message.from) + " has a header of " +
                                        std::to_string(message.header.size()) + " bytes where " +
                                        std::to_string(expected) + " are expected");
}

}  // namespace stretto::fabric
