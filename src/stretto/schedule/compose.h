#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "stretto/schedule/algorithm.h"

/// How schedules compose (decision 24): an algorithm may consist of others, each among some of the ranks and on some of
/// the blocks, whose peers, blocks and buffers are renamed. The parts know nothing of it, and the whole is verified and
/// priced as any other algorithm.
namespace stretto::schedule {

/// Some ranks of a group as a group of their own.
class Subgroup {
 public:
  /// The members of a host, or of these every so many, from one place on. `hosts` outlives it.
  static Subgroup of_host(const Hosts& hosts, std::uint32_t host, Rank place = 0, Rank stride = 1) noexcept {
    return {hosts, stride, host, place};
  }
  /// One rank of each host, in the order of hosts: `chosen` of its own host, of the others the member at `place`.
  /// REQUIRES: place < hosts.fewest().
  static Subgroup across(const Hosts& hosts, Rank chosen, Rank place = 0) noexcept { return {hosts, 0, chosen, place}; }

  Rank operator[](Rank rank) const noexcept {
    if (stride_ != 0) return hosts_->members(which_)[place_ + rank * stride_];
    return hosts_->of(which_) == rank ? which_ : hosts_->members(rank)[place_];
  }

 private:
  Subgroup(const Hosts& hosts, Rank stride, Rank which, Rank place) noexcept
      : hosts_(&hosts), stride_(stride), which_(which), place_(place) {}

  const Hosts* hosts_;
  Rank stride_;  ///< 0: across the hosts
  Rank which_;   ///< the host, or the rank that is chosen of its own
  Rank place_;
};

/// What the blocks of a part are in the whole.
struct BlockNames {
  enum class Kind : std::uint8_t {
    /// Block b: `each` blocks from first + b * each on; of 0 each, messages say that their sender is there.
    slices,
    /// Block b: that of the part's rank b.
    of_ranks,
    /// Block b: those of the members of host b at places share, share + shares, share + 2 shares, ...
    of_hosts,
    /// The only block: those of the members of all hosts at such places, in the order of ranks.
    of_all_hosts,
  };
  Kind kind = Kind::slices;
  std::uint32_t first = 0;
  std::uint32_t each = 1;
  Rank share = 0;
  Rank shares = 1;
};

/// Into how many slices a composition cuts a vector: one, by a member of each host that speaks for it, or one for each
/// member of the host that has the fewest.
enum class Slices : std::uint8_t { one, as_many_as_members };

/// A buffer of a part in the whole; scratch from the vector of that number on.
struct BufferName {
  Buffer buffer = Buffer::input;
  std::uint32_t vector = 0;
};

/// What one rank does of another algorithm. Where input and output of the part have one name, it is in place.
struct Part {
  const Algorithm* algorithm;
  Shape shape;
  Subgroup ranks;
  Rank me;  ///< in `ranks`
  BlockNames blocks = {};
  BufferName input = {Buffer::input};
  BufferName output = {Buffer::output};
  BufferName scratch = {Buffer::scratch};
};

/// An algorithm in phases, in each of which a rank takes part in any number of others. They must not touch the same
/// blocks. Phases follow one another in rounds; in time a rank goes on as soon as it has what it needs.
class Composition : public Algorithm {
 public:
  std::string_view name() const noexcept final { return name_; }
  /// Where members that speak for their hosts come from.
  std::string_view source() const noexcept override;
  bool needs_hosts() const noexcept final { return true; }
  std::uint32_t rounds(const Shape& shape) const final;
  void steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const final;
  std::uint32_t scratch_blocks(const Shape& shape, Rank me) const final;

 protected:
  static constexpr std::uint32_t phases = 3;

  explicit Composition(std::string_view name) noexcept : name_(name) {}

  /// The most rounds that any rank's part of a phase takes; 0 where nobody has one.
  virtual std::uint32_t rounds_of(const Shape& shape, std::uint32_t phase) const = 0;
  virtual std::vector<Part> parts_of(const Shape& shape, std::uint32_t phase, Rank me) const = 0;

 private:
  std::string_view name_;
};

// Words for those who compose. `whole` is the shape of the whole, and outlives what they return.

/// The shape of a part: of another operation and size, with the operator of the whole.
Shape part_shape(const Shape& whole, Operation operation, Rank size, Rank root = 0, std::uint32_t blocks = 1);

/// Of an algorithm for the members of my host that moves all blocks of the whole as one, from or to the member `root`.
Part inside(const Shape& whole, const Algorithm& algorithm, Rank me, Rank root);
/// Its rounds, on the fullest host; 0 if all hosts have one rank each. REQUIRES: fewer ranks do not take more rounds.
std::uint32_t rounds_inside(const Shape& whole, const Algorithm& algorithm);

Rank slices_of(const Shape& whole, Slices slices);

/// The one who speaks for a rank's host where `root` does for its own.
Rank leader_of_host(const Shape& whole, Rank me, Rank root);

}  // namespace stretto::schedule
