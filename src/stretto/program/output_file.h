#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

// Files that a program writes its results to.

namespace stretto::program {

/// A file that the command line names.
struct NamedFile {
  std::string what;  ///< "--solution", "the matrix"
  std::string path;  ///< empty: there is none
};

/// What would fail after the work, known before it: why `path` cannot be written, in one line. Nothing where it can,
/// or where it is empty. A file that is not there is created.
std::optional<std::string> why_not_writable(const std::string& path);

/// The same of all that are to be `written` once others are `read`: also why one of them would overwrite another. Then
/// none is created. Devices and pipes, which keep nothing, may be named twice.
std::optional<std::string> why_not_writable(std::span<const NamedFile> written, std::span<const NamedFile> read);

/// The file holds `text` then, and nothing else. Throws Error(io).
void write_file(const std::string& path, std::string_view text);

/// The same, but a file keeps what it holds until all of `text` is written: beside it, and then moved there.
/// Directly where that cannot be: devices, pipes, folders in which nothing new may be.
void replace_file(const std::string& path, std::string_view text);

}  // namespace stretto::program
