#pragma once

#include <cstddef>

#include "stretto/base/descriptor.h"

namespace stretto {

/// Makes a file in memory of `bytes`, which others may map (Mapping) and nobody can shrink or enlarge; what nobody has
/// set aside yet is a hole. Throws Error(out_of_resources). `name`: for people, in errors and among the
/// files of a process.
Descriptor make_shared_memory(const char* name, std::size_t bytes);

/// Sets aside a part of it, so that a full memory is an error now and not the end of who touches it first. Returns
/// whether there is room; if not, `errno` says why not.
bool set_aside(int shared_memory, std::size_t offset, std::size_t bytes) noexcept;

/// Whether so many huge pages can be had for shared memory now (`gather_into_huge_page`): tries, and gives them back.
bool has_huge_pages_to_share(std::size_t count);

}  // namespace stretto
