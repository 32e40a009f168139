#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "stretto/collective/transfer.h"

namespace stretto {

/// Which of an operation's large messages that come over wires are asked for: a few bytes at a time, in the order of
/// the schedule, in which members that are at the same point all ask somebody else. Were all asked at once, each would
/// send first to who asked first, several to one (decision 50).
///
/// A receive waits for earlier ones only: so each is asked for in the end.
///
/// A state machine: receives that may start and pieces that have come in, receives to ask for out.
class Requests {
 public:
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  /// Where no more than this is still to come, the next one is asked for, so that it follows at once.
  static constexpr std::size_t least_to_come = piece_bytes;

  /// Whether to ask for what that receive takes now. If not, it waits.
  bool may_ask(std::uint32_t receive, std::size_t bytes) {
    const bool may = is_due(receive);
    insert(may ? asked_ : waiting_, {receive, bytes});
    return may;
  }

  /// So much has come for a receive that was asked for.
  void came(std::uint32_t receive, std::size_t bytes) noexcept {
    const auto found =
        std::find_if(asked_.begin(), asked_.end(), [receive](const Request& each) { return each.receive == receive; });
    if (found == asked_.end()) return;
    found->bytes -= std::min(bytes, found->bytes);
    if (found->bytes == 0) asked_.erase(found);
  }

  /// Takes a receive that may be asked for now; `none` if none does.
  std::uint32_t next() {
    if (waiting_.empty() || !is_due(waiting_.front().receive)) return none;
    const Request first = waiting_.front();
    waiting_.erase(waiting_.begin());
    insert(asked_, first);
    return first.receive;
  }

  void clear() noexcept {
    asked_.clear();
    waiting_.clear();
  }

 private:
  struct Request {
    std::uint32_t receive;
    std::size_t bytes;  // to come
  };
  using Requested = std::vector<Request>;  // in the order of the schedule

  static void insert(Requested& requests, const Request& request) {
    const auto is_earlier = [](const Request& a, const Request& b) { return a.receive < b.receive; };
    requests.insert(std::upper_bound(requests.begin(), requests.end(), request, is_earlier), request);
  }

  bool is_due(std::uint32_t receive) const noexcept {
    std::size_t to_come = 0;
    for (const Request& each : asked_) to_come += each.receive < receive ? each.bytes : 0;
    return to_come <= least_to_come;
  }

  Requested asked_;
  Requested waiting_;
};

}  // namespace stretto
