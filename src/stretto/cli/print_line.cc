#include "stretto/cli/print_line.h"

#include <nlohmann/json.hpp>

#include <iostream>

namespace stretto::cli {

void print_line(const nlohmann::ordered_json& object) {
  std::cout << object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << '\n';
}

}  // namespace stretto::cli
