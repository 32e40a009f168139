#pragma once

#include <string>
#include <string_view>

namespace stretto {

/// `text` in quotes, shortened and with unprintable bytes replaced: fit for a message about hostile input.
std::string shown(std::string_view text);

}  // namespace stretto
