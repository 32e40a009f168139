#pragma once

#include <functional>
#include <map>
#include <string>

namespace stretto::fabric {

/// A snapshot of environment variables: what decisions about launchers are made from, so that tests can make them too.
using Environment = std::map<std::string, std::string, std::less<>>;

/// The variables of this process. Must not run beside a thread that changes them.
Environment process_environment();

}  // namespace stretto::fabric
