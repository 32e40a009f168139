#include "stretto/cli/machine_report.h"

#include <hwloc.h>

#include <memory>
#include <type_traits>

#include "stretto/base/error.h"
#include "stretto/base/shared_memory.h"
#include "stretto/fabric/cluster/host/process_memory.h"

namespace stretto::cli {
namespace {

struct TopologyDestroyer {
  void operator()(hwloc_topology_t topology) const noexcept { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, TopologyDestroyer>;

/// The machine, reduced to the cpus that this process is bound to and to what belongs to them.
Topology load_topology() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) throw Error(ErrorCode::not_supported, "hwloc cannot be initialised");
  Topology topology(raw);
  // The kernel's word on this very machine is what the binding refers to; hwloc wants that said.
  constexpr unsigned long flags = HWLOC_TOPOLOGY_FLAG_IS_THISSYSTEM | HWLOC_TOPOLOGY_FLAG_RESTRICT_TO_CPUBINDING;
  if (hwloc_topology_set_flags(raw, flags) != 0 || hwloc_topology_load(raw) != 0) {
    throw Error(ErrorCode::not_supported, "hwloc cannot examine this machine; is /sys mounted?");
  }
  return topology;
}

std::size_t count_of(const Topology& topology, hwloc_obj_type_t type) {
  const int count = hwloc_get_nbobjs_by_type(topology.get(), type);
  return count > 0 ? static_cast<std::size_t>(count) : 0;
}

std::string list_of(hwloc_const_bitmap_t bitmap) {
  const int length = hwloc_bitmap_list_snprintf(nullptr, 0, bitmap);
  if (length <= 0) return "";
  std::string text(static_cast<std::size_t>(length) + 1, '\0');
  hwloc_bitmap_list_snprintf(text.data(), text.size(), bitmap);
  text.pop_back();
  return text;
}

std::string processor_model(const Topology& topology) {
  const hwloc_obj_t package = hwloc_get_obj_by_type(topology.get(), HWLOC_OBJ_PACKAGE, 0);
  const hwloc_obj_t holder = package != nullptr ? package : hwloc_get_root_obj(topology.get());
  const char* const model = hwloc_obj_get_info_by_name(holder, "CPUModel");
  return model != nullptr ? model : "";
}

std::vector<MemoryReport> memories_of(const Topology& topology) {
  std::vector<MemoryReport> memories;
  hwloc_obj_t node = nullptr;
  while ((node = hwloc_get_next_obj_by_type(topology.get(), HWLOC_OBJ_NUMANODE, node)) != nullptr) {
    memories.push_back({.kind = "system", .numa_node = node->os_index, .bytes = node->attr->numanode.local_memory});
  }
  return memories;
}

}  // namespace

MachineReport examine_machine() {
  const Topology topology = load_topology();
  const hwloc_const_bitmap_t cpus = hwloc_topology_get_topology_cpuset(topology.get());
  return {
      .processors = {.model = processor_model(topology),
                     .packages = count_of(topology, HWLOC_OBJ_PACKAGE),
                     .cores = count_of(topology, HWLOC_OBJ_CORE),
                     .threads = count_of(topology, HWLOC_OBJ_PU),
                     .cpus = list_of(cpus)},
      .memories = memories_of(topology),
      .has_huge_pages_to_share = has_huge_pages_to_share(1),
      .has_fast_process_reads = fabric::cluster::are_process_reads_fast(),
  };
}

}  // namespace stretto::cli
