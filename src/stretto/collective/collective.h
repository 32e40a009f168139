#pragma once

#include <utility>

#include "stretto/collective/concurrent.h"
#include "stretto/collective/movement.h"
#include "stretto/collective/reductions.h"

/// Collective operations, deferred: each member of a group calls the same operation, in the same order for a group and
/// key, and gets an event that triggers when its own part of the result is there and its buffers may be reused. That
/// may be no event: then it is so already, as with small calls whose peers were there first.
///
///     movement.h      broadcast, gather, scatter, allgather, all_to_all
///     reductions.h    reduce (also the general one), allreduce, reduce_scatter, scan, exscan
///     concurrent.h    several general reduces, planned together
///
/// Buffers belong to the caller and must live until then; those that lie in the node's segment (SegmentArray) are
/// copied least. Input and output are apart, or *in place*: the output where the input is, or, where one of them has a
/// block for each rank, this rank's block. Callable from any thread. Misuse that one node can see throws
/// Error(invalid_argument): a node outside of its group, sizes that do not fit, counts of more than memory can hold,
/// buffers that overlap. Where memory or events run out it throws Error(out_of_resources), or std::bad_alloc, where the
/// memory was for what is made of the arguments first (values, counts, shards, operators). A call that throws counts as
/// none.
///
/// What goes wrong later poisons the event, also that of members who wait for this one: what nodes do differently, on
/// both sides, with Error(mismatch), but for the group, its order and the key: nodes that pass different ones call
/// different collectives, each waits for the others of its own, and the log asks about it; a member that dies, with
/// Error(peer_lost); a shortage that shows only then, with Error(out_of_resources); a poisoned precondition, with its
/// cause; what an operator throws, with that (as from a task: core/cause.h); the end of the job, with Error(cancelled).
/// When the event has triggered, clean or poisoned, no live peer on this host touches the buffers any more.
namespace stretto {

/// Triggers when every member has called it.
inline Event barrier(Node& node, const Group& group, const CollectiveOptions& options = CollectiveOptions()) {
  return CollectiveService::of(node).start(group, CollectiveCall(form_of_barrier), options);
}

}  // namespace stretto
