#include "stretto/schedule/algorithm.h"

#include <array>
#include <vector>

#include "stretto/base/edit_distance.h"
#include "stretto/base/error.h"
#include "stretto/schedule/algorithm/aggregated_all_to_all.h"
#include "stretto/schedule/algorithm/aligned_exscan.h"
#include "stretto/schedule/algorithm/aligned_scan.h"
#include "stretto/schedule/algorithm/aspen_general_reduce.h"
#include "stretto/schedule/algorithm/binomial_broadcast.h"
#include "stretto/schedule/algorithm/binomial_gather.h"
#include "stretto/schedule/algorithm/binomial_reduce.h"
#include "stretto/schedule/algorithm/binomial_scatter.h"
#include "stretto/schedule/algorithm/bruck_all_to_all.h"
#include "stretto/schedule/algorithm/bruck_allgather.h"
#include "stretto/schedule/algorithm/chain_broadcast.h"
#include "stretto/schedule/algorithm/chain_exscan.h"
#include "stretto/schedule/algorithm/chain_reduce.h"
#include "stretto/schedule/algorithm/chain_scan.h"
#include "stretto/schedule/algorithm/direct_allreduce.h"
#include "stretto/schedule/algorithm/direct_reduce.h"
#include "stretto/schedule/algorithm/direct_reduce_scatter.h"
#include "stretto/schedule/algorithm/dissemination_barrier.h"
#include "stretto/schedule/algorithm/double_tree_broadcast.h"
#include "stretto/schedule/algorithm/four_way_dissemination_barrier.h"
#include "stretto/schedule/algorithm/halving_allreduce.h"
#include "stretto/schedule/algorithm/hierarchical_allgather.h"
#include "stretto/schedule/algorithm/hierarchical_allreduce.h"
#include "stretto/schedule/algorithm/hierarchical_barrier.h"
#include "stretto/schedule/algorithm/hierarchical_broadcast.h"
#include "stretto/schedule/algorithm/hierarchical_gather.h"
#include "stretto/schedule/algorithm/hierarchical_reduce.h"
#include "stretto/schedule/algorithm/hierarchical_reduce_scatter.h"
#include "stretto/schedule/algorithm/hierarchical_scan.h"
#include "stretto/schedule/algorithm/hierarchical_scatter.h"
#include "stretto/schedule/algorithm/knomial_broadcast.h"
#include "stretto/schedule/algorithm/linear_all_to_all.h"
#include "stretto/schedule/algorithm/linear_allgather.h"
#include "stretto/schedule/algorithm/linear_allreduce.h"
#include "stretto/schedule/algorithm/linear_barrier.h"
#include "stretto/schedule/algorithm/linear_broadcast.h"
#include "stretto/schedule/algorithm/linear_exscan.h"
#include "stretto/schedule/algorithm/linear_gather.h"
#include "stretto/schedule/algorithm/linear_general_reduce.h"
#include "stretto/schedule/algorithm/linear_reduce.h"
#include "stretto/schedule/algorithm/linear_scan.h"
#include "stretto/schedule/algorithm/linear_scatter.h"
#include "stretto/schedule/algorithm/padded_doubling.h"
#include "stretto/schedule/algorithm/pairwise_all_to_all.h"
#include "stretto/schedule/algorithm/recursive_doubling.h"
#include "stretto/schedule/algorithm/recursive_doubling_allgather.h"
#include "stretto/schedule/algorithm/recursive_doubling_exscan.h"
#include "stretto/schedule/algorithm/recursive_doubling_scan.h"
#include "stretto/schedule/algorithm/recursive_halving_reduce_scatter.h"
#include "stretto/schedule/algorithm/ring_allgather.h"
#include "stretto/schedule/algorithm/ring_allreduce.h"
#include "stretto/schedule/algorithm/ring_reduce_scatter.h"
#include "stretto/schedule/algorithm/scattered_general_reduce.h"
#include "stretto/schedule/algorithm/van_de_geijn_broadcast.h"

namespace stretto::schedule {
namespace {

const RecursiveDoubling recursive_doubling("recursive_doubling", 1);
const RecursiveDoubling four_way_doubling("four_way_doubling", 2);
const PaddedDoubling padded_doubling;
const LinearAllreduce linear_allreduce;
const DirectAllreduce direct_allreduce;
const HalvingAllreduce halved_doubling("halved_doubling", 1);
const HalvingAllreduce quartered_doubling("quartered_doubling", 2);
const HalvingAllreduce rabenseifner("rabenseifner", HalvingAllreduce::all);
const RingAllreduce ring_allreduce;
const BinomialBroadcast binomial_broadcast;
const KnomialBroadcast knomial_broadcast;
const LinearBroadcast linear_broadcast;
const ChainBroadcast chain_broadcast;
const DoubleTreeBroadcast double_tree_broadcast;
const VanDeGeijnBroadcast van_de_geijn_broadcast;
const BinomialReduce binomial_reduce;
const LinearReduce linear_reduce;
const ChainReduce chain_reduce;
const DirectReduce direct_reduce;
const RingAllgather ring_allgather;
const RecursiveDoublingAllgather recursive_doubling_allgather;
const BruckAllgather bruck_allgather;
const LinearAllgather linear_allgather;
const BinomialGather binomial_gather;
const LinearGather linear_gather;
const BinomialScatter binomial_scatter;
const LinearScatter linear_scatter;
const DirectReduceScatter direct_reduce_scatter;
const RecursiveHalvingReduceScatter recursive_halving_reduce_scatter;
const RingReduceScatter ring_reduce_scatter;
const LinearAllToAll linear_all_to_all;
const PairwiseAllToAll pairwise_all_to_all;
const BruckAllToAll bruck_all_to_all;
const AggregatedAllToAll aggregated_all_to_all;
const RecursiveDoublingScan recursive_doubling_scan;
const AlignedScan aligned_scan;
const LinearScan linear_scan;
const ChainScan chain_scan;
const RecursiveDoublingExscan recursive_doubling_exscan;
const AlignedExscan aligned_exscan;
const LinearExscan linear_exscan;
const ChainExscan chain_exscan;
const AspenGeneralReduce aspen_general_reduce;
const LinearGeneralReduce linear_general_reduce;
const ScatteredGeneralReduce scattered_general_reduce;
const DisseminationBarrier dissemination_barrier;
const FourWayDisseminationBarrier four_way_dissemination_barrier;
const LinearBarrier linear_barrier;

// Composed of some of those.
const HierarchicalAllreduce leaders_allreduce("leaders_allreduce", Slices::one, linear_reduce, recursive_doubling,
                                              linear_broadcast);
const HierarchicalAllreduce leaders_four_way_allreduce("leaders_four_way_allreduce", Slices::one, linear_reduce,
                                                       four_way_doubling, linear_broadcast);
const HierarchicalAllreduce leader_trees_allreduce("leader_trees_allreduce", Slices::one, binomial_reduce,
                                                   recursive_doubling, binomial_broadcast);
const HierarchicalAllreduce sliced_doubling_allreduce("sliced_doubling_allreduce", Slices::as_many_as_members,
                                                      linear_reduce, recursive_doubling, linear_broadcast);
const HierarchicalAllreduce sliced_direct_allreduce("sliced_direct_allreduce", Slices::as_many_as_members,
                                                    linear_reduce, direct_allreduce, linear_broadcast);
const HierarchicalAllreduce sliced_ring_allreduce("sliced_ring_allreduce", Slices::as_many_as_members, linear_reduce,
                                                  ring_allreduce, linear_broadcast);
const HierarchicalBroadcast leaders_broadcast("leaders_broadcast", knomial_broadcast, linear_broadcast);
const HierarchicalBroadcast leader_trees_broadcast("leader_trees_broadcast", binomial_broadcast, binomial_broadcast);
const HierarchicalBroadcast leader_chain_broadcast("leader_chain_broadcast", chain_broadcast, linear_broadcast);
const HierarchicalReduce leaders_reduce("leaders_reduce", linear_reduce, binomial_reduce);
const HierarchicalReduce leader_trees_reduce("leader_trees_reduce", binomial_reduce, binomial_reduce);
const HierarchicalReduce leader_chain_reduce("leader_chain_reduce", linear_reduce, chain_reduce);
const HierarchicalAllgather leader_ring_allgather("leader_ring_allgather", linear_gather, ring_allgather,
                                                  linear_broadcast);
const HierarchicalAllgather leader_doubling_allgather("leader_doubling_allgather", linear_gather,
                                                      recursive_doubling_allgather, linear_broadcast);
const HierarchicalGather leaders_gather("leaders_gather", linear_gather, linear_gather);
const HierarchicalScatter leaders_scatter("leaders_scatter", linear_scatter, linear_scatter);
const HierarchicalReduceScatter leaders_reduce_scatter("leaders_reduce_scatter", Slices::one, linear_reduce,
                                                       direct_reduce_scatter, linear_scatter);
const HierarchicalReduceScatter leader_halving_reduce_scatter("leader_halving_reduce_scatter", Slices::one,
                                                              linear_reduce, recursive_halving_reduce_scatter,
                                                              linear_scatter);
const HierarchicalReduceScatter sliced_direct_reduce_scatter("sliced_direct_reduce_scatter", Slices::as_many_as_members,
                                                             linear_reduce, direct_reduce_scatter, linear_scatter);
const HierarchicalReduceScatter sliced_ring_reduce_scatter("sliced_ring_reduce_scatter", Slices::as_many_as_members,
                                                           linear_reduce, ring_reduce_scatter, linear_scatter);
const HierarchicalScan leaders_scan("leaders_scan", recursive_doubling_scan, linear_reduce, recursive_doubling_exscan);
const HierarchicalScan leaders_exscan("leaders_exscan", recursive_doubling_exscan, linear_reduce,
                                      recursive_doubling_exscan);
const HierarchicalBarrier leaders_barrier("leaders_barrier", linear_reduce, dissemination_barrier, linear_broadcast);

constexpr auto registry = std::to_array<const Algorithm*>({
    &recursive_doubling,
    &padded_doubling,
    &four_way_doubling,
    &linear_allreduce,
    &direct_allreduce,
    &halved_doubling,
    &quartered_doubling,
    &rabenseifner,
    &ring_allreduce,
    &binomial_broadcast,
    &knomial_broadcast,
    &linear_broadcast,
    &chain_broadcast,
    &double_tree_broadcast,
    &van_de_geijn_broadcast,
    &binomial_reduce,
    &linear_reduce,
    &chain_reduce,
    &direct_reduce,
    &ring_allgather,
    &recursive_doubling_allgather,
    &bruck_allgather,
    &linear_allgather,
    &binomial_gather,
    &linear_gather,
    &binomial_scatter,
    &linear_scatter,
    &direct_reduce_scatter,
    &recursive_halving_reduce_scatter,
    &ring_reduce_scatter,
    &linear_all_to_all,
    &pairwise_all_to_all,
    &bruck_all_to_all,
    &recursive_doubling_scan,
    &aligned_scan,
    &linear_scan,
    &chain_scan,
    &recursive_doubling_exscan,
    &aligned_exscan,
    &linear_exscan,
    &chain_exscan,
    &aspen_general_reduce,
    &linear_general_reduce,
    &scattered_general_reduce,
    &dissemination_barrier,
    &four_way_dissemination_barrier,
    &linear_barrier,
    &leaders_allreduce,
    &leaders_four_way_allreduce,
    &leader_trees_allreduce,
    &sliced_doubling_allreduce,
    &sliced_direct_allreduce,
    &sliced_ring_allreduce,
    &leaders_broadcast,
    &leader_trees_broadcast,
    &leader_chain_broadcast,
    &leaders_reduce,
    &leader_trees_reduce,
    &leader_chain_reduce,
    &leader_ring_allgather,
    &leader_doubling_allgather,
    &leaders_gather,
    &leaders_scatter,
    &leaders_reduce_scatter,
    &leader_halving_reduce_scatter,
    &sliced_direct_reduce_scatter,
    &sliced_ring_reduce_scatter,
    &aggregated_all_to_all,
    &leaders_scan,
    &leaders_exscan,
    &leaders_barrier,
});

std::string defect_of_blocks(std::uint32_t blocks, const Blocking& blocking) {
  const std::uint64_t most = std::uint64_t{blocking.unit} * blocking.most_segments;
  if (blocks % blocking.unit == 0 && blocks <= most) return {};
  std::string legal = std::to_string(blocking.unit);
  if (blocking.most_segments > 1) legal = "a multiple of " + legal + " up to " + std::to_string(most);
  return "blocks must be " + legal + ", not " + std::to_string(blocks);
}

}  // namespace

void Sink::send(Rank peer, const BlockRef& source) {
  emit({.kind = StepKind::send,
        .source_buffer = source.buffer,
        .peer = peer,
        .source_first = source.first,
        .count = source.count});
}

void Sink::receive(Rank peer, const BlockRef& destination) {
  emit({.kind = StepKind::receive,
        .destination_buffer = destination.buffer,
        .peer = peer,
        .destination_first = destination.first,
        .count = destination.count});
}

void Sink::reduce(const BlockRef& source, const BlockRef& destination, Order order) {
  emit({.kind = StepKind::reduce,
        .order = order,
        .source_buffer = source.buffer,
        .destination_buffer = destination.buffer,
        .source_first = source.first,
        .destination_first = destination.first,
        .count = source.count});
}

void Sink::copy(const BlockRef& source, const BlockRef& destination) {
  emit({.kind = StepKind::copy,
        .source_buffer = source.buffer,
        .destination_buffer = destination.buffer,
        .source_first = source.first,
        .destination_first = destination.first,
        .count = source.count});
}

std::string Algorithm::refusal(const Shape& shape) const {
  if (std::string defect = defect_of(shape); !defect.empty()) return defect;
  if (shape.operation != operation()) {
    return std::string(name()) + " is an algorithm for " + std::string(name_of(operation())) + ", not for " +
           std::string(name_of(shape.operation));
  }
  if (needs_commutative() && !shape.commutative) {
    return std::string(name()) + " does not keep the ranks' terms in order; the operator must commute";
  }
  if (needs_hosts()) {
    if (!shape.hosts.are_known()) {
      return std::string(name()) + " goes by the hosts that the ranks are on, which are not known here";
    }
    if ((!shape.commutative || needs_hosts_in_order()) && !shape.hosts.are_in_order()) {
      return std::string(name()) + ": the ranks of a host do not follow one another" +
             (needs_hosts_in_order() ? "" : ", so the operator must commute");
    }
  }
  if (shape.auxiliaries > 0 && !uses_auxiliaries()) return std::string(name()) + " has no use for auxiliaries";
  if (shape.reproducible && !is_canonical(shape)) {
    return std::string(name()) + " does not combine the terms of " + std::to_string(contributing_ranks(shape)) +
           " ranks in the canonical tree, so it is not reproducible; `stretto explain --reproducible` lists those that "
           "are";
  }
  if (const std::string defect = defect_of_blocks(shape.blocks, blocking(shape)); !defect.empty()) {
    return std::string(name()) + ": " + defect;
  }
  return {};
}

void Algorithm::require(const Shape& shape) const {
  if (const std::string reason = refusal(shape); !reason.empty()) throw Error(ErrorCode::invalid_argument, reason);
}

bool Algorithm::is_canonical(const Shape&) const { return false; }

bool Algorithm::rotation_symmetric(const Shape&) const { return false; }

Lead Algorithm::lead(const Shape&) const {
  if (!is_reduction(operation())) return {.sends = 1, .receives = Lead::all};
  return {.sends = 1, .receives = 2};
}

Blocking Algorithm::blocking(const Shape&) const { return {}; }

Shape Algorithm::with_segments(Shape shape, std::uint32_t segments) const {
  shape.blocks = blocking(shape).unit * segments;
  return shape;
}

std::span<const Algorithm* const> algorithms() noexcept { return registry; }

const Algorithm& find_algorithm(std::string_view name) {
  std::vector<std::string_view> names;
  std::string list;
  for (const Algorithm* algorithm : registry) {
    if (algorithm->name() == name) return *algorithm;
    names.push_back(algorithm->name());
    list += (list.empty() ? "" : ", ") + std::string(algorithm->name());
  }
  const std::string_view nearest = nearest_name(name, names);
  throw Error(ErrorCode::invalid_argument,
              "there is no algorithm called '" + std::string(name) + "'" +
                  (nearest.empty() ? std::string(".") : "; did you mean '" + std::string(nearest) + "'?") +
                  " Known are " + list);
}

}  // namespace stretto::schedule
