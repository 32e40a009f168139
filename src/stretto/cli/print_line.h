#pragma once

#include <nlohmann/json_fwd.hpp>

namespace stretto::cli {

/// The object on one line of standard output. Names of files may be any bytes: what is no UTF-8 in them is replaced.
void print_line(const nlohmann::ordered_json& object);

}  // namespace stretto::cli
