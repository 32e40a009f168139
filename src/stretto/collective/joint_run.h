#pragma once

#include <vector>

#include "stretto/collective/collective_call.h"
#include "stretto/collective/layout.h"
#include "stretto/schedule/algorithm.h"
#include "stretto/schedule/shape.h"

namespace stretto {

/// A call of all members of a group, done by one of them: the steps of all ranks' schedules, in an order in which each
/// send comes right before its receive, so that data go straight from where they are to where they are wanted. The
/// result has the same bits as if each had done its own.
///
/// For calls that are alike, one after the other.
class JointRun {
 public:
  /// `layout` is of the algorithm's shape, and the same at all members. The algorithm is one of the registry.
  JointRun(const schedule::Algorithm& algorithm, const schedule::Shape& shape, const Layout& layout);

  /// The call of a member, which stays until the run is over.
  void set_member(schedule::Rank rank, const CollectiveCall& call) noexcept {
    Member& member = members_[rank];
    member.call = &call;
    member.buffers.set_input(call.input);
    member.buffers.set_output(call.output);
  }
  /// REQUIRES: all are set. Throws what their operator throws.
  void run() const;
  /// How many bytes it writes.
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  struct Member {
    const CollectiveCall* call = nullptr;
    Buffers buffers;
  };
  struct MemberPlace {
    schedule::Rank rank = 0;
    Place place;

    friend bool operator==(const MemberPlace&, const MemberPlace&) = default;
  };
  /// Writes `out` with `left`, or with `left` and `right` combined, in this order, by the operator of out's member.
  struct Action {
    bool combines = false;
    MemberPlace out;
    MemberPlace left;
    MemberPlace right;

    bool reads(const MemberPlace& place) const noexcept;
  };

  static bool may_overlap(const MemberPlace& a, const MemberPlace& b) noexcept;
  void forward_copies();
  bool forward(std::size_t copy);
  bool is_read_later(const MemberPlace& place, std::size_t after) const noexcept;
  void give_scratch();
  std::byte* address_of(const MemberPlace& what) const noexcept {
    return members_[what.rank].buffers.bytes_of(what.place).data();
  }

  std::vector<Action> actions_;
  std::vector<Member> members_;
  std::vector<std::byte> scratch_;  // of all members
  std::size_t bytes_ = 0;
};

}  // namespace stretto
