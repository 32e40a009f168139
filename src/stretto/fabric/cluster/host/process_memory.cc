#include "stretto/fabric/cluster/host/process_memory.h"

#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <string>
#include <system_error>
#include <vector>

#include "stretto/base/claim_line.h"
#include "stretto/base/error.h"

namespace stretto::fabric::cluster {

namespace {

constexpr std::size_t trial_bytes = std::size_t{64} << 10U;
// Somewhat less than it takes to copy them to shared memory and out of it: 7 to 11 us, and 4.7 where claims help, where
// a read took 8.5 to 10 (decisions 57 and 68).
constexpr std::chrono::nanoseconds slowest_fast_read{6500};
constexpr std::chrono::nanoseconds slowest_fast_read_beside_claims{4000};
// The kernel may take the core for a while: one that is fast is enough.
constexpr int most_trials = 40;

iovec piece_of(const void* address, std::size_t bytes) noexcept { return {const_cast<void*>(address), bytes}; }

iovec remote_piece(std::uint64_t address, std::size_t bytes) noexcept {
  return {reinterpret_cast<void*>(static_cast<std::uintptr_t>(address)), bytes};
}

bool measure_own_reads() {
  std::vector<std::byte> source(trial_bytes, std::byte{1});
  std::vector<std::byte> destination(trial_bytes, std::byte{2});
  const iovec from = piece_of(source.data(), source.size());
  const iovec to = piece_of(destination.data(), destination.size());
  const auto most = claims_help() ? slowest_fast_read_beside_claims : slowest_fast_read;
  for (int trial = 0; trial < most_trials; ++trial) {
    const auto begin = std::chrono::steady_clock::now();
    if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) != static_cast<ssize_t>(trial_bytes)) return false;
    if (std::chrono::steady_clock::now() - begin <= most) return true;
  }
  return false;
}

}  // namespace

ProcessReads parse_process_reads(std::string_view text) {
  if (text == "auto") return ProcessReads::automatic;
  if (text == "on") return ProcessReads::on;
  if (text == "off") return ProcessReads::off;
  throw Error(ErrorCode::bad_input, "STRETTO_PROCESS_READS is \"" + std::string(text) + "\"; write auto, on or off");
}

bool are_process_reads_fast() {
  static const bool are_fast = measure_own_reads();
  return are_fast;
}

bool ProcessMemory::is_readable() const noexcept {
  Secret theirs{};
  const iovec to = piece_of(theirs.data(), theirs.size());
  const iovec from = remote_piece(secret_at, theirs.size());
  const ssize_t done = process_vm_readv(static_cast<pid_t>(process), &to, 1, &from, 1, 0);
  return done == static_cast<ssize_t>(theirs.size()) && same_secret(theirs, secret);
}

// In one call, so from one process.
void ProcessMemory::read(std::uint64_t address, ByteSpan destination) const {
  Secret theirs{};
  const std::array to{piece_of(theirs.data(), theirs.size()), piece_of(destination.data(), destination.size())};
  const std::array from{remote_piece(secret_at, theirs.size()), remote_piece(address, destination.size())};
  const ssize_t done = process_vm_readv(static_cast<pid_t>(process), to.data(), to.size(), from.data(), from.size(), 0);
  const int error = errno;
  const bool has_secret = done >= static_cast<ssize_t>(theirs.size());
  const bool is_theirs = has_secret && same_secret(theirs, secret);
  if (is_theirs && done == static_cast<ssize_t>(theirs.size() + destination.size())) return;
  const std::string name = "process " + std::to_string(process);
  if ((done < 0 && error == ESRCH) || (has_secret && !is_theirs)) {
    throw Error(ErrorCode::peer_lost, name + " of this host has ended");
  }
  const std::string reason = has_secret ? "not all of it is there" : std::generic_category().message(error);
  throw Error(ErrorCode::io, std::to_string(destination.size()) + " bytes of memory of " + name +
                                 " cannot be read: " + reason + "; STRETTO_PROCESS_READS=off does without");
}

}  // namespace stretto::fabric::cluster
