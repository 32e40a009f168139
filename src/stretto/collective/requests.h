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
/// A receive waits for those listed before it only: so each is asked for in the end (schedule::verify).
///
/// A state machine: receives that may start and pieces that have come in, receives to ask for out.
class Requests {
 public:
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  /// Where no more than this is still to come, the next one is asked for, so that it follows at once.
  static constexpr std::size_t least_to_come = piece_bytes;

  /// That receive will be asked for after those before. REQUIRES: none has been asked for.
  void list(std::uint32_t receive, std::size_t bytes) { to_come_.push_back({receive, bytes}); }

  /// A receive has started: whether to ask for it now. If not, it waits. What is not listed waits for nothing.
  bool may_ask(std::uint32_t receive) noexcept {
    std::size_t before = 0;
    for (Request& each : to_come_) {
      if (each.receive != receive) {
        before += each.bytes;
        continue;
      }
      const bool is_due = before <= least_to_come;
      each.state = is_due ? State::asked : State::waiting;
      return is_due;
    }
    return true;
  }

  /// So much has come for a receive that was asked for.
  void came(std::uint32_t receive, std::size_t bytes) noexcept {
    const auto found = std::find_if(to_come_.begin(), to_come_.end(),
                                    [receive](const Request& each) { return each.receive == receive; });
    if (found == to_come_.end()) return;
    found->bytes -= std::min(bytes, found->bytes);
    if (found->bytes == 0) to_come_.erase(found);
  }

  /// Takes a receive that may be asked for now; `none` if none does.
  std::uint32_t next() noexcept {
    std::size_t before = 0;
    for (Request& each : to_come_) {
      if (before > least_to_come) return none;
      if (each.state == State::waiting) {
        each.state = State::asked;
        return each.receive;
      }
      before += each.bytes;
    }
    return none;
  }

  void clear() noexcept { to_come_.clear(); }

 private:
  enum class State : std::uint8_t { listed, waiting, asked };
  struct Request {
    std::uint32_t receive;
    std::size_t bytes;
    State state = State::listed;
  };

  std::vector<Request> to_come_;  // in the order of the schedule
};

}  // namespace stretto
