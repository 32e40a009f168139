#pragma once

#include <optional>
#include <string>
#include <string_view>

// Files that a program writes its results to.

namespace stretto::program {

/// What would fail after the work, known before it: why `path` cannot be written, in one line. Nothing where it can,
/// or where it is empty. A file that is not there is created.
std::optional<std::string> why_not_writable(const std::string& path);

/// The file holds `text` then, and nothing else. Throws Error(io).
void write_file(const std::string& path, std::string_view text);

}  // namespace stretto::program
