#include "stretto/fabric/bootstrap/host_id.h"

#include <sodium.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <system_error>

#include "stretto/base/error.h"

namespace stretto::fabric {
namespace {

constexpr std::size_t max_host_id_bytes = 255;

std::string link_target(const char* path) {
  std::array<char, 128> target{};
  const ssize_t length = ::readlink(path, target.data(), target.size());
  if (length > 0) return {target.data(), static_cast<std::size_t>(length)};
  throw Error(ErrorCode::io, std::string("cannot read ") + path + ": " + std::generic_category().message(errno) +
                                 "; set STRETTO_HOST_ID to a name that all ranks of this host share");
}

// Empty: it cannot be read.
std::string boot_id_or_none() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

std::string boot_id() {
  std::string id = boot_id_or_none();
  if (!id.empty()) return id;
  throw Error(ErrorCode::io,
              "cannot read /proc/sys/kernel/random/boot_id; set STRETTO_HOST_ID to a name that all "
              "ranks of this host share");
}

}  // namespace

std::string machine_id(std::string_view host) {
  std::string id = boot_id_or_none();
  return id.empty() ? std::string(host) : id;
}

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  return name.data();
}

std::string hash_host(std::string_view boot_id, std::string_view host_name, std::string_view network_namespace,
                      std::string_view process_namespace) {
  std::string text;
  for (const std::string_view part : {boot_id, host_name, network_namespace, process_namespace}) {
    text.append(std::to_string(part.size())).append(":").append(part);  // lengths first: no two inputs make one text
  }
  std::array<unsigned char, crypto_generichash_BYTES_MIN> digest{};
  crypto_generichash(digest.data(), digest.size(), reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                     nullptr, 0);
  std::array<char, 2 * crypto_generichash_BYTES_MIN + 1> hex{};
  sodium_bin2hex(hex.data(), hex.size(), digest.data(), digest.size());
  return hex.data();
}

std::string host_id(const Environment& environment) {
  const auto given = environment.find("STRETTO_HOST_ID");
  if (given == environment.end() || given->second.empty()) {
    return hash_host(boot_id(), host_name(), link_target("/proc/self/ns/net"), link_target("/proc/self/ns/pid"));
  }
  if (given->second.size() <= max_host_id_bytes) return given->second;
  throw Error(ErrorCode::bad_input,
              "STRETTO_HOST_ID has " + std::to_string(given->second.size()) + " bytes: give at most 255, or unset it");
}

}  // namespace stretto::fabric
