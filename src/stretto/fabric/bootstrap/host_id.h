#pragma once

#include <string>
#include <string_view>

#include "stretto/fabric/bootstrap/environment.h"

namespace stretto::fabric {

/// Names the host of this process: processes with equal ids can share memory; all others talk over the network.
///
/// `STRETTO_HOST_ID` where it is set (to make ranks of one machine act as several hosts), else a hash of
/// - the boot id of the kernel and the host name: which machine;
/// - the network namespace: descriptors of shared memory travel over abstract Unix sockets, which end there;
/// - the process-id namespace: a process can only watch the death of one whose id it can name.
/// So containers and network namespaces of one machine count as different hosts, which is slower and always right.
/// Error(bad_input): STRETTO_HOST_ID is longer than 255 bytes.
std::string host_id(const Environment& environment);

/// The hash behind it, 32 hexadecimal digits; pure.
std::string hash_host(std::string_view boot_id, std::string_view host_name, std::string_view network_namespace,
                      std::string_view process_namespace);

/// Names the machine: processes with equal ids share its cores, whatever their hosts (containers do). The kernel's boot
/// id; where that cannot be read, `host`.
std::string machine_id(std::string_view host);

/// This machine's own name, for messages.
std::string host_name();

}  // namespace stretto::fabric
