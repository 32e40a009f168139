#include "stretto/fabric/cluster/host/control.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "stretto/base/error.h"
#include "stretto/base/shared_memory.h"

namespace stretto::fabric::cluster {

namespace {

[[noreturn]] void fail(const std::string& what) {
  throw Error(ErrorCode::out_of_resources, what + ": " + std::strerror(errno));
}

Descriptor make_doorbell() {
  Descriptor doorbell(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!doorbell) fail("cannot create a doorbell; raise the limit of open files (ulimit -n)");
  return doorbell;
}

void back(const Descriptor& memory, std::size_t offset, std::size_t bytes) {
  if (!set_aside(memory.number(), offset, bytes)) {
    fail("no " + std::to_string(bytes) + " bytes of shared memory for messages");
  }
}

// Memory that can shrink, or that is smaller than its owner says, ends its reader by SIGBUS.
void check_memory(int memory, std::size_t bytes) {
  struct stat status{};
  const int seals = fcntl(memory, F_GET_SEALS);
  if (seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && fstat(memory, &status) == 0 && status.st_size >= 0 &&
      static_cast<std::size_t>(status.st_size) >= bytes) {
    return;
  }
  throw Error(ErrorCode::bad_input, "what it passed is not sealed memory of " + std::to_string(bytes) + " bytes");
}

}  // namespace

Control::Control(const ControlLayout& layout)
    : layout_(layout), memory_(make_shared_memory("stretto-control", layout.bytes())), doorbell_(make_doorbell()) {
  back(memory_, 0, layout.rings_at());
  mapping_ = Mapping(memory_.number(), 0, layout.bytes(), Mapping::Access::write);
}

RingLine* Control::make_ring(const RingPlace& ring) {
  const std::size_t offset = layout_.rings_at() + ring.first * sizeof(RingLine);
  back(memory_, offset, ring.lines * sizeof(RingLine));
  return reinterpret_cast<RingLine*>(mapping_.at(offset));
}

PeerMemory::PeerMemory(Descriptor control, Descriptor segment, Descriptor doorbell, const ControlLayout& layout,
                       std::size_t segment_bytes)
    : layout_(layout),
      segment_memory_(std::move(segment)),
      doorbell_(std::move(doorbell)),
      segment_bytes_(segment_bytes) {
  check_memory(control.number(), layout.bytes());
  check_memory(segment_memory_.number(), segment_bytes);
  const int flags = fcntl(doorbell_.number(), F_GETFL);
  if (flags < 0 || (flags & O_NONBLOCK) == 0) throw Error(ErrorCode::bad_input, "the doorbell it passed blocks");
  shared_ = Mapping(control.number(), 0, layout.counters_at(), Mapping::Access::write);
  counters_ =
      Mapping(control.number(), layout.counters_at(), layout.rings_at() - layout.counters_at(), Mapping::Access::read);
  rings_ = Mapping(control.number(), layout.rings_at(), layout.bytes() - layout.rings_at(), Mapping::Access::write);
  segment_ = Mapping(segment_memory_.number(), 0, segment_bytes, Mapping::Access::write);
}

// A segment is backed from its start on, without holes, so that the number of its blocks is where it ends.
bool PeerMemory::is_backed_by_now(std::uint64_t offset, std::uint64_t bytes) noexcept {
  struct stat status{};
  if (fstat(segment_memory_.number(), &status) != 0) return false;
  const auto backed = std::min<std::uint64_t>(static_cast<std::uint64_t>(status.st_blocks) * 512, segment_bytes_);
  backed_.store(backed, std::memory_order_relaxed);
  return bytes <= backed && offset <= backed - bytes;
}

void PeerMemory::ring_doorbell() noexcept {
  if (shared().armed.exchange(0, std::memory_order_seq_cst) == 0) return;  // another writer rings
  // Fails only when the doorbell is full, that is, rung.
  eventfd_write(doorbell_.number(), 1);
}

}  // namespace stretto::fabric::cluster
