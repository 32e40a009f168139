#pragma once

#include <string>
#include <string_view>

namespace stretto {

/// `text` as it is written in XML, between tags or in double quotes: what has a meaning there is named.
std::string xml_text(std::string_view text);

}  // namespace stretto
