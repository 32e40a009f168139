#pragma once

#include <cstdint>
#include <string_view>

#include "stretto/base/bytes.h"
#include "stretto/fabric/cluster/host/secret.h"

namespace stretto::fabric::cluster {

/// Whether processes of a host read each other's memory that they do not share (STRETTO_PROCESS_READS).
enum class ProcessReads : std::uint8_t {
  automatic,  ///< where they may, and it is fast
  on,         ///< where they may
  off,
};

/// "auto", "on" or "off". Throws Error(bad_input) for anything else.
ProcessReads parse_process_reads(std::string_view text);

/// Whether the kernel copies another process's memory in less time than two processes take that copy it to memory which
/// they share, and out of it: by what this process takes to read its own. Measured once (0.3 ms at most).
bool are_process_reads_fast();

/// Memory of another process of this host that is not shared: the kernel copies it, if this process may trace that one
/// (ptrace(2), process_vm_readv(2)).
///
/// Processes are known by numbers, which are given to others in time. So a secret is read together with the data: who
/// has it where it belongs is the process that is meant.
struct ProcessMemory {
  std::int64_t process = 0;
  std::uint64_t secret_at = 0;  ///< its address there
  Secret secret{};

  /// Whether this process may read it.
  bool is_readable() const noexcept;
  /// Copies what lies at `address` there. Throws Error(peer_lost) if that process is no more, Error(io) if it has no
  /// such memory, or may not be read.
  void read(std::uint64_t address, ByteSpan destination) const;
};

}  // namespace stretto::fabric::cluster
