#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "stretto/base/bytes.h"
#include "stretto/fabric/bootstrap/message.h"

namespace stretto::fabric {

/// What makes a process a member of its job: 256 random bits, made by the launcher, handed down by inherited descriptor
/// (or over the standard input of a remote agent), never an argument, never in the environment, never on the wire.
class JobSecret {
 public:
  static constexpr std::size_t size = 32;

  /// A fresh one from the system's random numbers.
  static JobSecret random();
  explicit JobSecret(std::span<const std::byte, size> bytes);
  JobSecret(const JobSecret&) = default;
  JobSecret& operator=(const JobSecret&) = default;
  ~JobSecret();  // wipes it

  ConstByteSpan bytes() const { return bytes_; }

 private:
  JobSecret() = default;
  std::array<std::byte, size> bytes_{};
};

// The handshake: the joining side sends Hello with a fresh nonce; the launcher answers with its own nonce and its
// proof; the joining side checks that proof first, then sends its own. A proof is HMAC-SHA-512-256 under the job secret
// of {which side speaks, the Hello as encoded (magic, version, role, number, size, nonce), the launcher's nonce}: a
// proof replayed on another connection, for another rank, or back at its author is wrong.

Nonce random_nonce();
Proof launcher_proof(const JobSecret& secret, const Hello& hello, const Nonce& launcher_nonce);
Proof joiner_proof(const JobSecret& secret, const Hello& hello, const Nonce& launcher_nonce);
/// In constant time.
bool equal(const Proof& a, const Proof& b);

}  // namespace stretto::fabric
