#include "fft3d/exchange.h"

#include <algorithm>
#include <vector>

#include "stretto/collective/collective.h"

namespace fft3d {

using stretto::Event;
using stretto::Node;
using stretto::SpawnOptions;
using stretto::Task;

namespace {

std::size_t most_elements(Slabs& slabs) {
  return std::max(slabs.forward().transposition.input_size(), slabs.forward().transposition.output_size());
}

}  // namespace

Exchange::Exchange(Node& node, Slabs& slabs, double point_seconds)
    : node_(node),
      group_(stretto::Group::all(node)),
      point_seconds_(point_seconds),
      given_(node, most_elements(slabs)),
      got_(node, most_elements(slabs)) {}

void Exchange::charge(std::size_t points, int dimensions) {
  node_.charge(point_seconds_ * static_cast<double>(points) * dimensions);
}

Event Exchange::start_round(Slabs::Way& way, std::size_t round) {
  const Transposition& transposition = way.transposition;
  const std::vector<std::size_t> input_counts = transposition.input_counts(round);
  const std::vector<std::size_t> output_counts = transposition.output_counts(round);
  const std::size_t input = transposition.planes_in(round) * transposition.plane_size();
  std::size_t output = 0;
  for (const std::size_t count : output_counts) output += count;
  const std::span<Complex> given = std::span<Complex>(given_).subspan(transposition.input_offset(round), input);
  const std::span<Complex> got = std::span<Complex>(got_).subspan(transposition.output_offset(round), output);
  way.give(round, given);
  charge(input, way.dimensions_before);
  const Event exchanged = all_to_all(node_, group_, std::span<const Complex>(given), std::span(input_counts), got,
                                     std::span(output_counts));
  return node_.spawn([&way, round, got] { way.take(round, got); }, SpawnOptions().after(exchanged));
}

Task<> Exchange::run(Slabs::Way& way, Overlap overlap) {
  std::vector<Event> taken;
  for (std::size_t round = 0; round < way.transposition.rounds(); ++round) {
    const Event done = start_round(way, round);
    if (overlap == Overlap::off) co_await done;
    taken.push_back(done);
  }
  co_await node_.merge(taken);
  way.finish();
  charge(way.to.size(), 3 - way.dimensions_before);
}

}  // namespace fft3d
