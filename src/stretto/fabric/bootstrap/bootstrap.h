#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/base/bytes.h"
#include "stretto/base/error.h"
#include "stretto/base/ids.h"
#include "stretto/fabric/bootstrap/environment.h"

namespace stretto::fabric {

/// A peer that died: which one, and what is known of its end ("host alpha: killed by signal 9 (Killed)").
struct PeerLoss {
  NodeId rank;
  std::string reason;
};

/// How the processes of one job find each other: who am I, how many are we, and a small store of published values.
///
/// One per process (the in-process kind: one per node), owned by the fabric. Calls must not overlap; which thread makes
/// them does not matter. Every call may throw Error(peer_lost) when the launcher itself is gone: the process has then
/// lost its job and should end.
class Bootstrap {
 public:
  static constexpr std::size_t max_key_bytes = 128;
  static constexpr std::size_t max_value_bytes = std::size_t{1} << 20U;

  Bootstrap() = default;
  Bootstrap(const Bootstrap&) = delete;
  Bootstrap& operator=(const Bootstrap&) = delete;
  /// Without `finalize` before it, the peers see this rank die.
  virtual ~Bootstrap();

  virtual NodeId rank() const = 0;
  virtual std::uint32_t size() const = 0;

  /// The host id (see host_id.h): peers whose ids are equal can share memory. Publish it like any other value.
  virtual std::string_view host() const = 0;

  /// Publishes `value` under (rank(), `key`) with the next fence; a later put of the same key replaces it.
  /// Error(invalid_argument): an empty or too long key, a value over max_value_bytes.
  virtual void put(std::string_view key, ConstByteSpan value) = 0;

  /// Collective over all ranks: afterwards every value put before it, by anyone, can be fetched.
  /// Error(peer_lost): a rank died or left, so that this fence (and each later one) can never complete.
  virtual void fence() = 0;

  /// The value that `rank` published. Error(invalid_argument): no such rank, or nothing under that key.
  virtual std::vector<std::byte> fetch(NodeId rank, std::string_view key) = 0;
  /// What each rank published under `key`, by rank: for less than that many calls of `fetch`. Errors as of `fetch`.
  virtual std::vector<std::vector<std::byte>> fetch_all(std::string_view key);

  /// Reports `error` to the launcher, which then ends the whole job with a nonzero exit code. May return: the caller
  /// ends its own process next. Never throws (a launcher that is gone already ended the job).
  virtual void abort(const Error& error) noexcept = 0;

  /// The clean leave; nothing but the destructor may follow. Not collective: fence first where peers still need us.
  virtual void finalize() = 0;

  /// Readable (poll, epoll) when `lost_peers` may have news; -1 where the launcher relays no deaths (PMIx).
  virtual int failure_descriptor() const = 0;

  /// The peers whose death became known since the last call, each reported once; never blocks. The evidence is the
  /// kernel's (an exit status, a closed socket), relayed by the launcher: a slow or stopped peer is not lost.
  virtual std::vector<PeerLoss> lost_peers() = 0;

 protected:
  /// The checks that every kind of bootstrap makes; they throw Error(invalid_argument).
  static void check_put(std::string_view key, ConstByteSpan value);
  void check_fetch(NodeId rank, std::string_view key) const;
};

/// Joins the job that `environment` announces: `stretto run`, else PMIx, else a job of this process alone.
///
/// A launcher that announces ranks which cannot be reached is an Error that names the remedy (see launcher_choice.h),
/// never a silent job of size 1. Blocks until this rank is admitted, not until all have come: fence for that.
std::unique_ptr<Bootstrap> connect(const Environment& environment);

}  // namespace stretto::fabric
