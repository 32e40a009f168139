#include "stretto/fabric/bootstrap/handshake.h"

#include <sodium.h>

#include <algorithm>
#include <string_view>

#include "stretto/base/error.h"
#include "stretto/fabric/bootstrap/wire.h"

namespace stretto::fabric {
namespace {

static_assert(crypto_auth_KEYBYTES == JobSecret::size && crypto_auth_BYTES == std::tuple_size_v<Proof>);

const unsigned char* octets(ConstByteSpan bytes) { return reinterpret_cast<const unsigned char*>(bytes.data()); }

void require_sodium() {
  if (sodium_init() < 0) throw Error(ErrorCode::internal, "libsodium cannot be initialised on this machine");
}

Proof prove(const JobSecret& secret, std::string_view speaker, const Hello& hello, const Nonce& launcher_nonce) {
  require_sodium();
  WireWriter transcript;
  transcript.text(speaker);
  transcript.blob(encode(hello));
  transcript.blob(launcher_nonce);
  Proof proof{};
  crypto_auth(reinterpret_cast<unsigned char*>(proof.data()), octets(transcript.bytes()), transcript.bytes().size(),
              octets(secret.bytes()));
  return proof;
}

}  // namespace

JobSecret::JobSecret(std::span<const std::byte, size> bytes) { std::ranges::copy(bytes, bytes_.begin()); }

JobSecret::~JobSecret() { sodium_memzero(bytes_.data(), bytes_.size()); }

JobSecret JobSecret::random() {
  require_sodium();
  JobSecret secret;
  randombytes_buf(secret.bytes_.data(), secret.bytes_.size());
  return secret;
}

Nonce random_nonce() {
  require_sodium();
  Nonce nonce{};
  randombytes_buf(nonce.data(), nonce.size());
  return nonce;
}

Proof launcher_proof(const JobSecret& secret, const Hello& hello, const Nonce& launcher_nonce) {
  return prove(secret, "stretto launcher", hello, launcher_nonce);
}

Proof joiner_proof(const JobSecret& secret, const Hello& hello, const Nonce& launcher_nonce) {
  return prove(secret, "stretto joiner", hello, launcher_nonce);
}

bool equal(const Proof& a, const Proof& b) { return sodium_memcmp(a.data(), b.data(), a.size()) == 0; }

}  // namespace stretto::fabric
