#pragma once

#include <cstddef>
#include <cstdint>

#include "stretto/collective/group.h"
#include "stretto/core/node.h"

// What the probe does with collectives. All nodes of a job call each of these; they throw where a result is wrong.
namespace stretto::probe {

/// The commonest operations, of `count` words of each member in that round.
void check_collectives(Node& node, const Group& group, std::size_t count, std::uint64_t round);
/// These in all sizes, by all and by some nodes, in order, deferred and poisoned.
void check_all_collectives(Node& node);
/// By each of the algorithms that go by hosts: these are there where several nodes share one of several hosts.
void check_by_hosts(Node& node);
/// Calls of two nodes that do not match, small and large: both hear of it, and of the roots of two broadcasts the log.
void check_disagreements(Node& node);
/// The same small calls again and again: most need no event where the node has a core of its own. In between the peers
/// are late, the call is another node's mistake, and other messages wait to be seen. Then vectors that are lent. Says
/// how many of both needed none.
void check_inline_collectives(Node& node);

}  // namespace stretto::probe
