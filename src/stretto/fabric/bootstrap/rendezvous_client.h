#pragma once

#include <memory>
#include <string>

#include "stretto/base/descriptor.h"
#include "stretto/fabric/bootstrap/bootstrap.h"
#include "stretto/fabric/bootstrap/handshake.h"
#include "stretto/fabric/bootstrap/launcher_choice.h"

namespace stretto::fabric {

/// Joins the job of `stretto run` as `choice` says: reads the secret, closes its descriptor, connects, proves.
/// REQUIRES: choice.launcher is rendezvous. Errors as `connect`, each naming what to do.
std::unique_ptr<Bootstrap> join_rendezvous(const LauncherChoice& choice, const Environment& environment);

/// The same over a stream that is connected already, for tests.
std::unique_ptr<Bootstrap> join_rendezvous(Descriptor socket, const JobSecret& secret, NodeId rank, std::uint32_t size,
                                           std::string host);

}  // namespace stretto::fabric
