#include "stretto/schedule/cost_table.h"

namespace stretto::schedule {

// Measured on two cores of virtual EPYCs (Linux 6.18, GCC 12): of `local` by `stretto tune`, with 8 and 16 nodes of a
// process (docs/decisions/0049); of `host` with pairs and 16 processes (docs/decisions/0017). Of `wire`: from
// ping-pongs of UCX over TCP at 1 Gbit/s, to be measured anew when the data path between hosts is.
const CostTable& built_in_costs() {
  static const CostTable table{.links = {{{.call = 0.05e-6,
                                           .latency = 0.01e-6,
                                           .overhead = 0.17e-6,
                                           .announcement = 0.1e-6,
                                           .gap = 0,
                                           .byte_time = 0.024e-9,
                                           .inline_time = 0.017e-9,
                                           .forwarding = 0.09e-9,
                                           .copy_time = 0.015e-9,
                                           .reduction_time = 0.034e-9,
                                           .meeting = 0.23e-6,
                                           .turn = 0.35e-6},
                                          {.call = 0.08e-6,
                                           .latency = 0.02e-6,
                                           .overhead = 0.08e-6,
                                           .announcement = 0.3e-6,
                                           .gap = 0,
                                           .byte_time = 0.055e-9,
                                           .inline_time = 0.15e-9,
                                           .forwarding = 0.09e-9,
                                           .copy_time = 0.07e-9,
                                           .reduction_time = 0.067e-9,
                                           .meeting = 0,
                                           .turn = 5e-6},
                                          {.call = 0.2e-6,
                                           .latency = 12e-6,
                                           .overhead = 2e-6,
                                           .announcement = 1e-6,
                                           .gap = 2e-6,
                                           .byte_time = 8.4e-9,
                                           .inline_time = 0.15e-9,
                                           .forwarding = 0,
                                           .copy_time = 0.07e-9,
                                           .reduction_time = 0.1e-9,
                                           .meeting = 0,
                                           .turn = 5e-6}}},
                               .origins = {"built in", "built in", "built in"}};
  return table;
}

}  // namespace stretto::schedule
