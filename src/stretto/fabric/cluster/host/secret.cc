#include "stretto/fabric/cluster/host/secret.h"

#include <sys/random.h>

#include "stretto/base/error.h"

namespace stretto::fabric::cluster {

Secret make_secret() {
  Secret secret{};
  if (getrandom(secret.data(), secret.size(), 0) != static_cast<ssize_t>(secret.size())) {
    throw Error(ErrorCode::io, "the system gives no random bytes");
  }
  return secret;
}

bool same_secret(const Secret& a, const Secret& b) noexcept {
  std::byte difference{0};
  for (std::size_t i = 0; i < a.size(); ++i) difference |= a[i] ^ b[i];
  return difference == std::byte{0};
}

}  // namespace stretto::fabric::cluster
