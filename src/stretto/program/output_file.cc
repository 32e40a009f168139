#include "stretto/program/output_file.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <system_error>

#include "stretto/base/error.h"

namespace stretto::program {
namespace {

namespace fs = std::filesystem;

/// Whether both name one file of a disk, which may not be there yet.
bool are_one_file(const std::string& a, const std::string& b) {
  std::error_code unknown;  // what cannot be looked at cannot be written either
  if (fs::exists(a, unknown) && fs::exists(b, unknown)) {
    return fs::is_regular_file(a, unknown) && fs::equivalent(a, b, unknown);
  }
  return fs::absolute(a).lexically_normal() == fs::absolute(b).lexically_normal();
}

std::optional<std::string> why_overwriting(const NamedFile& written, std::span<const NamedFile> others) {
  for (const NamedFile& other : others) {
    if (written.path.empty() || other.path.empty() || !are_one_file(written.path, other.path)) continue;
    return written.what + " would overwrite " + written.path + ", which is " + other.what + ", too: name another file";
  }
  return std::nullopt;
}

/// A file's name until its text is whole; what still has it at the end is removed.
class Draft {
 public:
  explicit Draft(const fs::path& file) : path_(file.string() + "." + std::to_string(getpid())) {}
  ~Draft() {
    std::error_code ignored;
    fs::remove(path_, ignored);
  }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;

  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

}  // namespace

std::optional<std::string> why_not_writable(const std::string& path) {
  std::error_code unknown;
  if (path.empty() || fs::is_fifo(path, unknown)) return std::nullopt;  // a pipe's reader would take a look for the end
  if (std::ofstream(path, std::ios::app)) return std::nullopt;
  return path + " cannot be written: name a file in a folder that exists and is yours";
}

std::optional<std::string> why_not_writable(std::span<const NamedFile> written, std::span<const NamedFile> read) {
  for (std::size_t i = 0; i < written.size(); ++i) {
    if (auto reason = why_overwriting(written[i], read)) return reason;
    if (auto reason = why_overwriting(written[i], written.first(i))) return reason;
  }
  for (const NamedFile& file : written) {
    if (auto reason = why_not_writable(file.path)) return reason;
  }
  return std::nullopt;
}

void write_file(const std::string& path, std::string_view text) {
  std::ofstream out(path, std::ios::binary);
  if (!out.write(text.data(), static_cast<std::streamsize>(text.size())).flush()) {
    throw Error(ErrorCode::io, path + " could not be written whole");
  }
}

void replace_file(const std::string& path, std::string_view text) {
  std::error_code failed;
  const fs::file_status before = fs::status(path, failed);
  if (fs::exists(before) && !fs::is_regular_file(before)) return write_file(path, text);
  if (const auto reason = why_not_writable(path)) throw Error(ErrorCode::io, *reason);
  const fs::path file = fs::canonical(path, failed);  // a link to it stays one
  const Draft draft(file);
  if (failed || why_not_writable(draft.path())) return write_file(path, text);
  write_file(draft.path(), text);
  fs::permissions(draft.path(), fs::status(file, failed).permissions(), failed);
  if (!failed) fs::rename(draft.path(), file, failed);
  if (failed) write_file(path, text);
}

}  // namespace stretto::program
