#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "stretto/base/hash.h"
#include "stretto/base/random.h"
#include "stretto/base/test_support.h"
#include "stretto/schedule/algorithm.h"
#include "stretto/schedule/materialize.h"

/// What the tests of this folder share.
namespace stretto::schedule::test {

using stretto::test::seeds;

// What is tested here has one thread and is arithmetic: sizes differ in numbers rather than in what is touched. So
// sanitizers see some of them only, and here is said which.

/// Those of `sizes` that are tried: under sanitizers all to 17, and some of the larger ones.
inline std::vector<Rank> tried(std::vector<Rank> sizes) {
  if (stretto::test::sanitized) {
    constexpr Rank large[] = {23, 32, 33, 47, 64};
    std::erase_if(sizes, [&](Rank size) { return size > 17 && std::ranges::find(large, size) == std::end(large); });
  }
  return sizes;
}

/// Every size from 1 to `most`, as far as it is tried.
inline std::vector<Rank> sizes_to(Rank most) {
  std::vector<Rank> sizes(most);
  std::iota(sizes.begin(), sizes.end(), Rank{1});
  return tried(std::move(sizes));
}

/// The largest size of a test that goes through all shapes, or all mutations, of every size: half under sanitizers.
constexpr Rank exhaustive_to(Rank most) { return stretto::test::sanitized ? (most + 1) / 2 : most; }

/// Ranks on hosts: in order, four on each; in order, hosts of different sizes; in turn; without a pattern; on one host;
/// each on its own. Those that differ.
inline std::vector<Hosts> placements(Rank size) {
  std::vector<std::vector<std::uint32_t>> hosts(6);
  for (Rank rank = 0; rank < size; ++rank) {
    const std::uint32_t uneven = hosts[1].empty() ? 0 : hosts[1].back();
    const bool is_full = std::count(hosts[1].begin(), hosts[1].end(), uneven) > uneven * 5 % 7;
    hosts[0].push_back(rank / 4);
    hosts[1].push_back(uneven + (is_full ? 1 : 0));
    hosts[2].push_back(rank % 3);
    hosts[3].push_back(static_cast<std::uint32_t>(mix_64(rank) % 5));
    hosts[4].push_back(7);
    hosts[5].push_back(rank);
  }
  std::vector<Hosts> placements;
  for (const std::vector<std::uint32_t>& each : hosts) {
    const Hosts placement(each);
    if (std::find(placements.begin(), placements.end(), placement) == placements.end()) placements.push_back(placement);
  }
  return placements;
}

/// The plainest shape of `size` ranks for `algorithm`; of a general reduce, that of an all-reduce.
inline Shape shape(const Algorithm& algorithm, Rank size) {
  Shape shape{.operation = algorithm.operation(), .size = size};
  if (algorithm.needs_hosts() && size > 0) shape.hosts = Hosts::even(size, (size + 3) / 4);
  if (shape.operation == Operation::general_reduce) shape.contributors = shape.inner_receivers = size;
  return algorithm.with_segments(shape);
}

/// A few ways to say who contributes and who receives, among them some where nobody does; one for other operations.
inline std::vector<Shape> with_roles(const Shape& shape) {
  if (shape.operation != Operation::general_reduce) return {shape};
  std::vector<Shape> shapes;
  const Rank most = (2 * shape.size + 2) / 3;
  for (const auto& [contributors, inner] : {std::pair(shape.size, (shape.size + 1) / 2), std::pair(most, most / 2),
                                            std::pair((shape.size + 1) / 2, Rank{0})}) {
    shapes.push_back(shape);
    shapes.back().contributors = contributors;
    shapes.back().inner_receivers = inner;
  }
  return shapes;
}

/// All shapes of `size` ranks that `algorithm` supports: each root up to `roots`, operators that commute or not, these
/// also reproducible, all placements if it goes by them, up to `segments` segments.
inline std::vector<Shape> shapes(const Algorithm& algorithm, Rank size, Rank roots, std::uint32_t segments = 3) {
  std::vector<Shape> shapes;
  const std::vector<Hosts> everywhere = algorithm.needs_hosts() ? placements(size) : std::vector<Hosts>(1);
  for (Rank root = 0; root < std::min(roots, size); ++root) {
    for (Shape plain : with_operators({.operation = algorithm.operation(), .size = size, .root = root})) {
      for (const Hosts& hosts : everywhere) {
        plain.hosts = hosts;
        for (const Shape& uncut : with_roles(plain)) {
          for (std::uint32_t n = 1; n <= std::min(segments, algorithm.blocking(uncut).most_segments); ++n) {
            const Shape shape = algorithm.with_segments(uncut, n);
            if (algorithm.supports(shape)) shapes.push_back(shape);
          }
        }
      }
    }
  }
  return shapes;
}

inline std::vector<Program> programs(const Algorithm& algorithm, const Shape& shape) {
  std::vector<Program> programs;
  for (Rank me = 0; me < shape.size; ++me) programs.push_back(write_program(algorithm, shape, me));
  return programs;
}

inline std::vector<Schedule> schedules(const Algorithm& algorithm, const Shape& shape) {
  std::vector<Schedule> schedules;
  for (Rank me = 0; me < shape.size; ++me) schedules.push_back(materialize(algorithm, shape, me));
  return schedules;
}

inline std::string label(const Algorithm& algorithm, const Shape& shape) {
  return std::string(algorithm.name()) + ", " + describe(shape);
}

/// An algorithm that a test writes in place.
class Custom final : public Algorithm {
 public:
  using Steps = std::function<void(const Shape&, Rank, std::uint32_t, Sink&)>;

  Custom(Operation operation, std::uint32_t rounds, std::uint32_t scratch, Steps steps, bool symmetric = false)
      : operation_(operation), rounds_(rounds), scratch_(scratch), steps_(std::move(steps)), symmetric_(symmetric) {}

  std::string_view name() const noexcept override { return "custom"; }
  std::string_view source() const noexcept override { return "this test"; }
  Operation operation() const noexcept override { return operation_; }
  std::uint32_t rounds(const Shape&) const override { return rounds_; }
  void steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const override {
    steps_(shape, me, round, sink);
  }
  std::uint32_t scratch_blocks(const Shape&, Rank) const override { return scratch_; }
  Blocking blocking(const Shape&) const override { return {.unit = 1, .most_segments = Blocking::many}; }
  bool rotation_symmetric(const Shape&) const override { return symmetric_; }

 private:
  Operation operation_;
  std::uint32_t rounds_;
  std::uint32_t scratch_;
  Steps steps_;
  bool symmetric_;
};

}  // namespace stretto::schedule::test
