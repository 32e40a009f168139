#include "stretto/schedule/algorithm.h"

#include <array>
#include <vector>

#include "stretto/base/edit_distance.h"
#include "stretto/base/error.h"
#include "stretto/schedule/algorithm/binomial_broadcast.h"
#include "stretto/schedule/algorithm/binomial_reduce.h"
#include "stretto/schedule/algorithm/dissemination_barrier.h"
#include "stretto/schedule/algorithm/linear_allreduce.h"
#include "stretto/schedule/algorithm/linear_barrier.h"
#include "stretto/schedule/algorithm/recursive_doubling.h"
#include "stretto/schedule/algorithm/recursive_doubling_allgather.h"
#include "stretto/schedule/algorithm/ring_allgather.h"

namespace stretto::schedule {
namespace {

const RecursiveDoubling recursive_doubling;
const BinomialBroadcast binomial_broadcast;
const BinomialReduce binomial_reduce;
const DisseminationBarrier dissemination_barrier;
const RingAllgather ring_allgather;
const RecursiveDoublingAllgather recursive_doubling_allgather;
const LinearAllreduce linear_allreduce;
const LinearBarrier linear_barrier;

constexpr std::array<const Algorithm*, 8> registry = {
    &recursive_doubling, &binomial_broadcast,           &binomial_reduce,  &dissemination_barrier,
    &ring_allgather,     &recursive_doubling_allgather, &linear_allreduce, &linear_barrier,
};

}  // namespace

void Sink::send(Rank peer, BlockRef source) {
  emit({.kind = StepKind::send,
        .source_buffer = source.buffer,
        .peer = peer,
        .source_first = source.first,
        .count = source.count});
}

void Sink::receive(Rank peer, BlockRef destination) {
  emit({.kind = StepKind::receive,
        .destination_buffer = destination.buffer,
        .peer = peer,
        .destination_first = destination.first,
        .count = destination.count});
}

void Sink::reduce(BlockRef source, BlockRef destination, Order order) {
  emit({.kind = StepKind::reduce,
        .order = order,
        .source_buffer = source.buffer,
        .destination_buffer = destination.buffer,
        .source_first = source.first,
        .destination_first = destination.first,
        .count = source.count});
}

void Sink::copy(BlockRef source, BlockRef destination) {
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
  return own_refusal(shape);
}

void Algorithm::require(const Shape& shape) const {
  if (const std::string reason = refusal(shape); !reason.empty()) throw Error(ErrorCode::invalid_argument, reason);
}

bool Algorithm::rotation_symmetric(const Shape&) const { return false; }

std::string Algorithm::own_refusal(const Shape& shape) const {
  if (shape.blocks == 1) return {};
  return std::string(name()) + " moves the vector whole; blocks must be 1, not " + std::to_string(shape.blocks);
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
