#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace stretto::cli {

/// The processors that this process may use; the machine may have more.
struct ProcessorReport {
  std::string model;  ///< as the maker calls it; empty if unknown
  std::size_t packages = 0;
  std::size_t cores = 0;
  std::size_t threads = 0;  ///< hardware threads, which the operating system numbers and calls cpus
  std::string cpus;         ///< their numbers, such as "0-3,8"
};

/// One memory near those processors.
struct MemoryReport {
  std::string kind;        ///< "system"
  unsigned numa_node = 0;  ///< as the operating system numbers it
  std::uint64_t bytes = 0;
};

struct MachineReport {
  ProcessorReport processors;
  std::vector<MemoryReport> memories;
  bool has_huge_pages_to_share = false;  ///< so that segments are in such pages (decision 58)
  bool has_fast_process_reads = false;   ///< so that processes read each other's ordinary memory (decision 68)
};

/// What this process may use of this machine. Throws Error(not_supported) if the machine cannot be examined.
MachineReport examine_machine();

}  // namespace stretto::cli
