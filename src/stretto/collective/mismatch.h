#pragma once

#include <source_location>
#include <string>
#include <string_view>

#include "stretto/collective/collective_call.h"
#include "stretto/collective/wire.h"
#include "stretto/core/cause.h"

// What members find out, and are told, who call different things as the same collective.

namespace stretto {

/// The parts of the digest.
inline constexpr std::string_view what_may_differ =
    "operation, count, type, operator, root, algorithm, order or reproducibility differ (or, where STRETTO_CHECK_CALLS "
    "is 1, places in the source)";

/// An Error(mismatch): `ours`, a description, is not what `theirs` is of.
Cause mismatch(std::string_view ours, NodeId from, const CallHeader& theirs, std::string_view difference);

/// "file.cc:12".
std::string call_site(const std::source_location& where);

/// Where a call stands in the source, and which function its operator is, if it is one, in one number: what tells calls
/// apart that are otherwise alike. The same in all processes that run the same program. Takes some microseconds, where
/// the operator is a function.
std::uint32_t fingerprint_of(const CollectiveCall& call, const std::source_location& where) noexcept;

}  // namespace stretto
