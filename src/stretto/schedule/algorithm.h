#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "stretto/schedule/schedule.h"

namespace stretto::schedule {

/// Takes the steps of a round from an algorithm, in program order. Callers of `Algorithm::steps` implement `emit`;
/// algorithms call the named functions, and the helpers of builder.h.
class Sink {
 public:
  virtual ~Sink() = default;

  void send(Rank peer, const BlockRef& source);
  void receive(Rank peer, const BlockRef& destination);
  /// destination = destination (+) source, or source (+) destination.
  void reduce(const BlockRef& source, const BlockRef& destination, Order order);
  void copy(const BlockRef& source, const BlockRef& destination);
  /// A step that came to another sink, for those who change some. It has neither tag nor dependencies.
  void pass_on(const Step& step) { emit(step); }

 protected:
  Sink() = default;
  Sink(const Sink&) = default;
  Sink& operator=(const Sink&) = default;

  /// `step` without tag and dependencies, which materialize() finds out.
  virtual void emit(const Step& step) = 0;
};

/// Into how many blocks an algorithm may cut a vector: `unit` times any number of segments from 1 to `most_segments`.
/// The number of segments is free: it changes what the algorithm costs, not what it does.
struct Blocking {
  static constexpr std::uint32_t many = 4096;  ///< `most_segments` of algorithms that themselves know no limit

  std::uint32_t unit = 1;
  std::uint32_t most_segments = 1;
};

/// How far rounds may overlap: what the time of a schedule is worked out from.
struct Lead {
  static constexpr std::uint32_t all = ~std::uint32_t{0};

  /// What a rank sends in round r waits for nothing that came to it after round r - sends; `all`: for nothing.
  std::uint32_t sends = 1;
  /// It has had room for what comes in round r since it was through with round r - receives; `all`: from the beginning.
  /// But for other messages of the same round, which may take it first.
  std::uint32_t receives = 1;

  /// How many rounds are looked back for it.
  std::uint32_t rounds_to_keep() const noexcept {
    return std::max(sends == all ? 1 : sends, receives == all ? 1 : receives);
  }

  friend bool operator==(const Lead&, const Lead&) = default;
};

/// A collective algorithm as two pure functions: how many rounds, and what a rank does in each.
///
/// Stateless; any thread may call it. The rules that verify() checks: a message is received in the round in which it
/// is sent, and in a round a rank's sends come before its receives (what arrives in a round leaves in a later one).
/// Input is never written; only receivers write output; input and output may be the same memory (may_be_in_place).
/// Blocks keep their index (see BlockRef).
class Algorithm {
 public:
  virtual ~Algorithm() = default;

  /// Stable, lower case, unique in the registry.
  virtual std::string_view name() const noexcept = 0;
  /// Whose algorithm it is: paper and section.
  virtual std::string_view source() const noexcept = 0;
  virtual Operation operation() const noexcept = 0;

  /// How the algorithm cuts the vector of `shape`, whatever shape.blocks is. By default it moves the vector whole.
  /// REQUIRES: nothing but its blocks is wrong with the shape (defect_of).
  virtual Blocking blocking(const Shape& shape) const;
  /// `shape` with the blocks that the algorithm makes of so many segments.
  /// REQUIRES: 0 < segments <= blocking(shape).most_segments.
  Shape with_segments(Shape shape, std::uint32_t segments = 1) const;
  /// Whether it refuses operators that do not commute. By default it keeps rank order.
  virtual bool needs_commutative() const noexcept { return false; }
  /// Whether it combines the terms of a reproducible `shape` in the canonical tree (canonical.h). By default it does
  /// not.
  virtual bool is_canonical(const Shape& shape) const;
  /// Whether it finds something to do for auxiliaries (Shape::auxiliaries). By default it refuses them.
  virtual bool uses_auxiliaries() const noexcept { return false; }
  /// Whether it goes by where ranks are (Shape::hosts), and so refuses shapes that don't say it. By default it does
  /// not. Operators that do not commute are then served where each host's ranks follow one another.
  virtual bool needs_hosts() const noexcept { return false; }
  /// Whether it serves those that commute only there, too. By default it does not.
  virtual bool needs_hosts_in_order() const noexcept { return false; }
  /// Whether blocks change places, so that all of them must be equally long.
  virtual bool needs_equal_blocks() const noexcept { return false; }

  /// Why the algorithm cannot serve `shape`; empty if it can. The functions below REQUIRE that it can.
  std::string refusal(const Shape& shape) const;
  bool supports(const Shape& shape) const { return refusal(shape).empty(); }
  /// Throws Error(invalid_argument) with the reason if the algorithm cannot serve `shape`.
  void require(const Shape& shape) const;

  virtual std::uint32_t rounds(const Shape& shape) const = 0;
  /// REQUIRES: me < shape.size, round < rounds(shape).
  virtual void steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const = 0;
  /// Scratch slots that `me` needs.
  virtual std::uint32_t scratch_blocks(const Shape& shape, Rank me) const = 0;
  /// Whether rank r does in each round what rank 0 does, with all peers, and the blocks that belong to ranks, moved on
  /// by r (mod size): then one clock tells the time of all ranks on a uniform network.
  virtual bool rotation_symmetric(const Shape& shape) const;
  /// By default a rank sends what it received in the round before; it has had room for all that it receives from the
  /// beginning or, where it combines, since it combined what came two rounds before.
  virtual Lead lead(const Shape& shape) const;

 protected:
  Algorithm() = default;
  Algorithm(const Algorithm&) = default;
  Algorithm& operator=(const Algorithm&) = default;
};

/// Every algorithm, in a fixed order.
std::span<const Algorithm* const> algorithms() noexcept;

/// The algorithm called `name`. Throws Error(invalid_argument), listing the names, if there is none.
const Algorithm& find_algorithm(std::string_view name);

}  // namespace stretto::schedule
