#include "stretto/program/output_file.h"

#include <fstream>

#include "stretto/base/error.h"

namespace stretto::program {

std::optional<std::string> why_not_writable(const std::string& path) {
  if (path.empty() || std::ofstream(path, std::ios::app)) return std::nullopt;
  return path + " cannot be written: name a file in a folder that exists and is yours";
}

void write_file(const std::string& path, std::string_view text) {
  std::ofstream out(path, std::ios::binary);
  if (!out.write(text.data(), static_cast<std::streamsize>(text.size())).flush()) {
    throw Error(ErrorCode::io, path + " could not be written whole");
  }
}

}  // namespace stretto::program
