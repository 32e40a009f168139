#include "stretto/base/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "stretto/base/error.h"
#include "stretto/base/mapping.h"

namespace stretto {

Descriptor make_shared_memory(const char* name, std::size_t bytes) {
  Descriptor memory(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory || ftruncate(memory.number(), static_cast<off_t>(bytes)) != 0 ||
      fcntl(memory.number(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) {
    throw Error(ErrorCode::out_of_resources, "cannot create shared memory \"" + std::string(name) + "\" of " +
                                                 std::to_string(bytes) + " bytes: " + std::strerror(errno));
  }
  return memory;
}

bool set_aside(int shared_memory, std::size_t offset, std::size_t bytes) noexcept {
  int result = 0;
  do {
    result = fallocate(shared_memory, 0, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  } while (result != 0 && errno == EINTR);
  return result == 0;
}

bool has_huge_pages_to_share(std::size_t count) {
  try {
    const std::size_t bytes = count * huge_page_bytes;
    const Descriptor memory = make_shared_memory("probe", bytes);
    const Mapping mapping(memory.number(), 0, bytes, Mapping::Access::write);
    for (std::size_t at = 0; at < bytes; at += huge_page_bytes) {
      if (!set_aside(memory.number(), at, 1) || !gather_into_huge_page(mapping.at(at))) return false;
    }
    return true;
  } catch (const Error&) {
    return false;  // there is no memory at all
  }
}

}  // namespace stretto
