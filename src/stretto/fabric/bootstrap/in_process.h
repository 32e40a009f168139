#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "stretto/fabric/bootstrap/bootstrap.h"

namespace stretto::fabric {

/// A whole job in this process, one bootstrap per rank, each used by one thread at a time: for tests that run a fabric
/// of processes as threads.
///
/// `hosts` gives the host id of each rank (so that ranks can pretend to be apart); empty: all on this host.
/// There is no launcher: `abort` makes this rank die in the eyes of its peers, with the error as the reason.
/// REQUIRES: hosts is empty or holds `size` entries; 1 <= size <= max_nodes.
std::vector<std::unique_ptr<Bootstrap>> make_in_process_job(std::uint32_t size, std::vector<std::string> hosts = {});

}  // namespace stretto::fabric
