#include "stretto/collective/mismatch.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "stretto/base/error.h"
#include "stretto/base/hash.h"

namespace stretto {

namespace {

// Programs that were built in several folders are the same.
std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// Where its library lies in memory differs from process to process, where it lies in that does not.
std::uint64_t digest_of_function(const void* function) noexcept {
  Dl_info library{};
  if (dladdr(function, &library) == 0 || library.dli_fname == nullptr) return 0;
  const auto offset = static_cast<std::uint64_t>(static_cast<const std::byte*>(function) -
                                                 static_cast<const std::byte*>(library.dli_fbase));
  return mix_64(fnv1a_64(file_name(library.dli_fname)) ^ offset);
}

}  // namespace

Cause mismatch(std::string_view ours, NodeId from, const CallHeader& theirs, std::string_view difference) {
  return std::make_shared<const Error>(ErrorCode::mismatch,
                                       std::string(ours) + " does not match what node " + std::to_string(from) +
                                           " calls, at line " + std::to_string(theirs.line) +
                                           " of its source, as the same collective: " + std::string(difference));
}

std::string call_site(const std::source_location& where) {
  return std::string(where.file_name()) + ":" + std::to_string(where.line());
}

std::uint32_t fingerprint_of(const CollectiveCall& call, const std::source_location& where) noexcept {
  const std::uint64_t line_and_column = std::uint64_t{where.line()} << 32U | where.column();
  std::uint64_t digest = mix_64(fnv1a_64(file_name(where.file_name())) ^ line_and_column);
  if (call.reduction().is_function) {
    const void* function = nullptr;
    std::memcpy(&function, call.operator_state.get(), sizeof function);
    digest = mix_64(digest ^ digest_of_function(function));
  }
  return static_cast<std::uint32_t>(digest);
}

}  // namespace stretto
