#include "stretto/base/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "stretto/base/error.h"

namespace stretto {

namespace {

[[noreturn]] void fail(const std::string& what) {
  throw Error(ErrorCode::out_of_resources, what + ": " + std::strerror(errno));
}

}  // namespace

Descriptor make_shared_memory(const char* name, std::size_t bytes) {
  Descriptor memory(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory) fail("cannot create shared memory");
  if (ftruncate(memory.number(), static_cast<off_t>(bytes)) != 0 ||
      fcntl(memory.number(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) {
    fail("cannot create shared memory of " + std::to_string(bytes) + " bytes");
  }
  return memory;
}

void set_aside(int shared_memory, std::size_t offset, std::size_t bytes) {
  if (try_to_set_aside(shared_memory, offset, bytes)) return;
  fail("no further " + std::to_string(bytes) + " bytes of shared memory");
}

bool try_to_set_aside(int shared_memory, std::size_t offset, std::size_t bytes) noexcept {
  int result = 0;
  do {
    result = fallocate(shared_memory, 0, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  } while (result != 0 && errno == EINTR);
  return result == 0;
}

}  // namespace stretto
